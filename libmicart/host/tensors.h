// Saved values: what the two file formats share.
#ifndef MICA_HOST_TENSORS_H
#define MICA_HOST_TENSORS_H

#include "runtime.h"

namespace mica::rt {

struct Place {
  const char *file;
  int line;
};

i64 tensor_cells(const mica_tensor &t);
i64 tensor_bytes(const mica_tensor &t);
void put_shape(Text &out, const mica_tensor &t, const char *open, const char *close); // "[2, 3]"

// The bytes of a value on the host: itself, or a copy of what lies on the card (then owned).
struct HostBytes {
  const void *data = nullptr;
  void *owned = nullptr;
  HostBytes(Place place, const mica_tensor &t);
  ~HostBytes();
};
void store_tensor(Place place, const mica_tensor &t, const void *from); // to the host's or the card's memory

// The checked tier stops where a not-a-number enters the program: its operations report only those they make.
void check_not_a_number(Place place, const char *path, const mica_tensor &t, const void *from);

void save_safetensors(Place place, mica_string path, i64 count, const mica_tensor *t);
void load_safetensors(Place place, mica_string path, i64 count, const mica_tensor *t);
void save_npy(Place place, mica_string path, const mica_tensor &t);
void load_npy(Place place, mica_string path, const mica_tensor &t);

// ---- json.cc: the little of JSON that a safetensors header needs.
struct Json {
  const char *at;
  const char *end;
  bool failed = false;
  void skip_blank();
  bool take(char c);   // whether c came next
  bool expect(char c); // fails where it does not
  bool read_string(Text &out);
  i64 read_integer();
  void skip_value(int depth = 0);
};
void put_json_string(Text &out, const char *text);

} // namespace mica::rt
#endif
