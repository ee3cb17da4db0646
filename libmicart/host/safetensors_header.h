// The header of a .safetensors file, read whole and held against the format's rules before anything is
// believed.
#ifndef MICA_HOST_SAFETENSORS_HEADER_H
#define MICA_HOST_SAFETENSORS_HEADER_H

#include "tensors.h"

#include <stdarg.h>

namespace mica::rt {

constexpr int kMaxRank = 16;

// What the header says of one name. Offsets count from the first byte behind the header.
struct SavedEntry {
  char *name;
  char dtype[16];
  int rank;
  i64 sizes[kMaxRank];
  i64 begin, end;
};

struct SafetensorsHeader {
  SavedEntry *entries = nullptr; // by name once it is checked
  i64 count = 0;
  const char *data = nullptr; // the first byte behind the header
  i64 data_bytes = 0;

  // Ends the program with the reason where `file` keeps not to the format.
  SafetensorsHeader(Place place, const char *path, const Mapping &file);
  SafetensorsHeader(const SafetensorsHeader &) = delete;
  SafetensorsHeader &operator=(const SafetensorsHeader &) = delete;
  ~SafetensorsHeader();
  const SavedEntry *find(const char *name) const; // null where nothing is named so

private:
  i64 capacity_ = 0;
  Place place_;
  const char *path_;
  [[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
  void read(Json &json);
  bool read_entry(Json &json, SavedEntry &entry);
  void check_names();
  void check_places();
};

// Ends the program with "FILE:LINE: PATH: ...".
[[noreturn]] void fail_file(Place place, const char *path, const char *format, va_list arguments);

// The format's own types of one word; 0 for one that is not known here.
int dtype_bytes(const char *dtype);
void put_saved_shape(Text &out, const SavedEntry &entry); // "[2, 3]"

} // namespace mica::rt
#endif
