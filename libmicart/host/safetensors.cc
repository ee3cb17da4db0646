// .safetensors (https://github.com/huggingface/safetensors#format): eight bytes of the header's length, a
// JSON header of names with dtype, shape and offsets, then the bytes. `random` is saved as two U64; int128 as
// two U64 or I64 words.
#include "safetensors_header.h"

#include <stdarg.h>
#include <string.h>

namespace mica::rt {
namespace {
struct Dtype {
  int type;
  const char *name;
};
constexpr Dtype kDtypes[] = {
    {MICA_BOOL, "BOOL"}, {MICA_I8, "I8"},    {MICA_I16, "I16"}, {MICA_I32, "I32"},    {MICA_I64, "I64"},
    {MICA_U8, "U8"},     {MICA_U16, "U16"},  {MICA_U32, "U32"}, {MICA_U64, "U64"},    {MICA_F16, "F16"},
    {MICA_BF16, "BF16"}, {MICA_F32, "F32"},  {MICA_F64, "F64"}, {MICA_RANDOM, "U64"}, {MICA_UNICODE, "U32"},
    {MICA_I128, "I64"},  {MICA_U128, "U64"},
};
const char *dtype_name(int type) {
  for (const Dtype &d : kDtypes) {
    if (d.type == type) return d.name;
  }
  return nullptr;
}
bool two_words(int type) { return type == MICA_RANDOM || type == MICA_I128 || type == MICA_U128; }

void put_file_shape(Text &out, const mica_tensor &t) {
  put_shape(out, t, "[", "");
  if (two_words(t.type)) out.put(t.rank ? ", 2" : "2");
  out.put_char(']');
}

struct Loader {
  Place place;
  const char *path;
  [[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    fail_file(place, path, format, arguments);
  }
  const SavedEntry *matching(const SafetensorsHeader &header, const mica_tensor &t);
  [[noreturn]] void fail_missing(const SafetensorsHeader &header, const char *name);
};

// Names the first of what the file holds, so that another program's file is known for what it is.
void Loader::fail_missing(const SafetensorsHeader &header, const char *name) {
  Text held;
  for (i64 i = 0; i < header.count && i < 3; i++) held.putf("%s%s", i ? ", " : "", header.entries[i].name);
  if (header.count > 3) held.putf(" and %lld others", static_cast<long long>(header.count - 3));
  fail("holds nothing named %s; it holds %s", name, header.count ? held.zero_ended() : "nothing at all");
}

// The entry of t's name, which must have its type and shape.
const SavedEntry *Loader::matching(const SafetensorsHeader &header, const mica_tensor &t) {
  const SavedEntry *entry = header.find(t.name);
  if (!entry) fail_missing(header, t.name);
  const char *dtype = dtype_name(t.type);
  if (!dtype)
    mica_fail(place.file, place.line, "LoadTensors: %s is a %s, which cannot be loaded", t.name,
              type_name(t.type));
  if (strcmp(entry->dtype, dtype) != 0)
    fail("%s is %s there, not %s (%s)", t.name, entry->dtype, dtype, type_name(t.type));
  Text wanted, there;
  put_file_shape(wanted, t);
  put_saved_shape(there, *entry);
  if (strcmp(wanted.zero_ended(), there.zero_ended()) != 0)
    fail("%s is %s there, not %s", t.name, there.zero_ended(), wanted.zero_ended());
  return entry;
}
} // namespace

void save_safetensors(Place place, mica_string path, i64 count, const mica_tensor *t) {
  Text header;
  header.put("{\"__metadata__\": {\"format\": \"mica\"}");
  i64 offset = 0;
  for (i64 i = 0; i < count; i++) {
    const char *dtype = dtype_name(t[i].type);
    if (!dtype)
      mica_fail(place.file, place.line, "SaveTensors: %s is a %s, which cannot be saved", t[i].name,
                type_name(t[i].type));
    for (i64 j = 0; j < i; j++) {
      if (strcmp(t[i].name, t[j].name) == 0)
        mica_fail(place.file, place.line, "SaveTensors: the name %s stands twice", t[i].name);
    }
    i64 bytes = tensor_bytes(t[i]);
    header.put(",\n ");
    put_json_string(header, t[i].name);
    header.putf(": {\"dtype\": \"%s\", \"shape\": ", dtype);
    put_file_shape(header, t[i]);
    header.putf(", \"data_offsets\": [%lld, %lld]}", static_cast<long long>(offset),
                static_cast<long long>(offset + bytes));
    offset += bytes;
  }
  header.put_char('}');
  header.put_repeated(' ', (8 - (header.length & 7)) & 7); // the bytes start at a multiple of eight
  Output out(place.file, place.line, path);
  u64 length = static_cast<u64>(header.length);
  out.write(&length, 8);
  out.write(header.data, header.length);
  for (i64 i = 0; i < count; i++) {
    HostBytes bytes(place, t[i]);
    out.write(bytes.data, tensor_bytes(t[i]));
  }
  out.finish(true);
}

void load_safetensors(Place place, mica_string path, i64 count, const mica_tensor *t) {
  Text name;
  name.put_string(path);
  Mapping file = map_file(place.file, place.line, name.zero_ended());
  {
    SafetensorsHeader header(place, name.zero_ended(), file);
    Loader loader = {place, name.zero_ended()};
    // Everything is checked before anything is written, so that a failure leaves no half-loaded model.
    for (i64 i = 0; i < count; i++) {
      const SavedEntry *entry = loader.matching(header, t[i]);
      check_not_a_number(place, name.zero_ended(), t[i], header.data + entry->begin);
    }
    for (i64 i = 0; i < count; i++) store_tensor(place, t[i], header.data + header.find(t[i].name)->begin);
  }
  unmap(file);
}

} // namespace mica::rt
