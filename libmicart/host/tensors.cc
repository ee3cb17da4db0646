// SaveTensors and LoadTensors: the format by the file's name, and moving bytes between a file and where a
// value lives.
#include "tensors.h"

#include <stdlib.h>
#include <string.h>

namespace mica::rt {

i64 tensor_cells(const mica_tensor &t) {
  i64 cells = 1;
  for (int i = 0; i < t.rank; i++) cells *= t.sizes[i];
  return cells;
}

i64 tensor_bytes(const mica_tensor &t) { return tensor_cells(t) * type_size(t.type); }

void put_shape(Text &out, const mica_tensor &t, const char *open, const char *close) {
  out.put(open);
  for (int i = 0; i < t.rank; i++) out.putf("%s%lld", i ? ", " : "", static_cast<long long>(t.sizes[i]));
  out.put(close);
}

HostBytes::HostBytes(Place place, const mica_tensor &t) : data(t.data) {
  if (!t.on_card) return;
  i64 bytes = tensor_bytes(t);
  owned = malloc(static_cast<size_t>(bytes > 0 ? bytes : 1));
  if (!owned) mica_fail_memory(place.file, place.line, bytes);
  mica_card_copy_down(place.file, place.line, owned, t.data, bytes);
  data = owned;
}

HostBytes::~HostBytes() { free(owned); }

void store_tensor(Place place, const mica_tensor &t, const void *from) {
  i64 bytes = tensor_bytes(t);
  if (t.on_card) {
    mica_card_copy_up(place.file, place.line, t.data, from, bytes);
  } else if (bytes > 0) {
    memcpy(t.data, from, static_cast<size_t>(bytes));
  }
}

void check_not_a_number(Place place, const char *path, const mica_tensor &t, const void *from) {
  if (strcmp(mica_program.tier, "checked") != 0) return;
  if (t.type != MICA_F16 && t.type != MICA_BF16 && t.type != MICA_F32 && t.type != MICA_F64) return;
  i64 width = type_size(t.type), cells = tensor_cells(t);
  const char *at = static_cast<const char *>(from);
  for (i64 i = 0; i < cells; i++, at += width) {
    u64 bits = 0;
    memcpy(&bits, at, static_cast<size_t>(width));
    double value = float_from_bits(t.type, bits);
    if (value != value) {
      mica_fail(place.file, place.line, "LoadTensors: %s: cell %lld of %s is a not-a-number", path,
                static_cast<long long>(i), t.name);
    }
  }
}

namespace {
bool ends_with(mica_string path, const char *suffix) {
  i64 length = static_cast<i64>(strlen(suffix));
  if (path.length < length) return false;
  for (i64 i = 0; i < length; i++) {
    if (path.data[path.length - length + i] != static_cast<u8>(suffix[i])) return false;
  }
  return true;
}

[[noreturn]] void fail_name(Place place, mica_string path) {
  Text name;
  name.put_string(path);
  mica_fail(place.file, place.line, "%s: the name must end in .safetensors or .npy", name.zero_ended());
}

// A .npy file holds one value without a name.
void require_one(Place place, mica_string path, i64 count) {
  if (count == 1) return;
  Text name;
  name.put_string(path);
  mica_fail(place.file, place.line, "%s: a .npy file holds one value, not %lld; .safetensors holds many",
            name.zero_ended(), static_cast<long long>(count));
}
} // namespace
} // namespace mica::rt

using namespace mica::rt;

void mica_save_tensors(const char *file, int32_t line, mica_string path, int64_t count,
                       const mica_tensor *t) {
  Place place = {file, line};
  double begin = tracing() ? seconds() : 0;
  if (ends_with(path, ".safetensors")) {
    save_safetensors(place, path, count, t);
  } else if (ends_with(path, ".npy")) {
    require_one(place, path, count);
    save_npy(place, path, *t);
  } else {
    fail_name(place, path);
  }
  if (tracing()) trace_span("SaveTensors", "files", begin, seconds(), 0);
}

void mica_load_tensors(const char *file, int32_t line, mica_string path, int64_t count,
                       const mica_tensor *t) {
  Place place = {file, line};
  double begin = tracing() ? seconds() : 0;
  if (ends_with(path, ".safetensors")) {
    load_safetensors(place, path, count, t);
  } else if (ends_with(path, ".npy")) {
    require_one(place, path, count);
    load_npy(place, path, *t);
  } else {
    fail_name(place, path);
  }
  if (tracing()) trace_span("LoadTensors", "files", begin, seconds(), 0);
}
