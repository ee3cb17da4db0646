// .safetensors (https://github.com/huggingface/safetensors#format): eight bytes of the header's length, a
// JSON header of names with dtype, shape and offsets, then the bytes. `random` is saved as two U64; int128 as
// two U64 or I64 words.
#include "tensors.h"

#include <stdarg.h>
#include <stdio.h>
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

struct Reader {
  Place place;
  const char *path;
  Mapping file;
  [[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
};

void Reader::fail(const char *format, ...) {
  char message[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  mica_fail(place.file, place.line, "%s: %s", path, message);
}

// The header's entry of one name.
struct Entry {
  Text dtype;
  Text shape; // as "[2, 3]"
  i64 begin = -1, end = -1;
};

// Reads an entry's object; unknown keys are skipped.
void read_entry(Json &json, Entry &entry) {
  json.expect('{');
  if (json.take('}')) return;
  Text key;
  do {
    json.read_string(key);
    json.expect(':');
    if (strcmp(key.zero_ended(), "dtype") == 0) {
      json.read_string(entry.dtype);
    } else if (strcmp(key.zero_ended(), "shape") == 0) {
      entry.shape.length = 0;
      entry.shape.put_char('[');
      json.expect('[');
      if (!json.take(']')) {
        do {
          if (entry.shape.length > 1) entry.shape.put(", ");
          entry.shape.putf("%lld", static_cast<long long>(json.read_integer()));
        } while (!json.failed && json.take(','));
        json.expect(']');
      }
      entry.shape.put_char(']');
    } else if (strcmp(key.zero_ended(), "data_offsets") == 0) {
      json.expect('[');
      entry.begin = json.read_integer();
      json.expect(',');
      entry.end = json.read_integer();
      json.expect(']');
    } else {
      json.skip_value();
    }
  } while (!json.failed && json.take(','));
  json.expect('}');
}

// Finds `name` in the header; false where it is not there.
bool find_entry(Json json, const char *name, Entry &entry, bool &failed) {
  bool found = false;
  Text key;
  json.expect('{');
  if (json.take('}')) return false;
  do {
    json.read_string(key);
    json.expect(':');
    if (!json.failed && strcmp(key.zero_ended(), name) == 0) {
      read_entry(json, entry);
      found = true;
    } else {
      json.skip_value();
    }
  } while (!json.failed && !found && json.take(','));
  if (!found) json.expect('}');
  failed = json.failed;
  return found && !json.failed;
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
  Reader reader = {place, name.zero_ended(), map_file(place.file, place.line, name.zero_ended())};
  const char *base = static_cast<const char *>(reader.file.base);
  u64 length = 0;
  if (reader.file.length < 8)
    reader.fail("is cut short: it has %lld bytes, no header", static_cast<long long>(reader.file.length));
  memcpy(&length, base, 8);
  if (length > static_cast<u64>(reader.file.length) - 8 || length > 100000000) {
    reader.fail("is cut short or no .safetensors file: its header has %llu bytes, the file %lld",
                static_cast<unsigned long long>(length), static_cast<long long>(reader.file.length));
  }
  Json json = {base + 8, base + 8 + length};
  const char *data = base + 8 + length;
  i64 data_bytes = reader.file.length - 8 - static_cast<i64>(length);
  // Everything is checked before anything is written, so that a failure leaves no half-loaded model.
  i64 *begins = static_cast<i64 *>(allocate(count * 8));
  for (i64 i = 0; i < count; i++) {
    Entry entry;
    bool failed = false;
    if (!find_entry(json, t[i].name, entry, failed)) {
      if (failed) reader.fail("its header is damaged");
      reader.fail("holds nothing named %s", t[i].name);
    }
    const char *dtype = dtype_name(t[i].type);
    if (!dtype)
      mica_fail(place.file, place.line, "LoadTensors: %s is a %s, which cannot be loaded", t[i].name,
                type_name(t[i].type));
    if (strcmp(entry.dtype.zero_ended(), dtype) != 0) {
      reader.fail("%s is %s there, not %s (%s)", t[i].name, entry.dtype.zero_ended(), dtype,
                  type_name(t[i].type));
    }
    Text shape;
    put_file_shape(shape, t[i]);
    if (strcmp(entry.shape.zero_ended(), shape.zero_ended()) != 0) {
      reader.fail("%s is %s there, not %s", t[i].name, entry.shape.zero_ended(), shape.zero_ended());
    }
    i64 bytes = tensor_bytes(t[i]);
    if (entry.begin < 0 || entry.end < entry.begin || entry.end - entry.begin != bytes)
      reader.fail("its header is damaged at %s", t[i].name);
    if (entry.end > data_bytes) reader.fail("is cut short: %s ends beyond the file", t[i].name);
    begins[i] = entry.begin;
  }
  for (i64 i = 0; i < count; i++) store_tensor(place, t[i], data + begins[i]);
  release(begins);
  unmap(reader.file);
}

} // namespace mica::rt
