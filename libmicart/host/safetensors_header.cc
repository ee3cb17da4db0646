// Reading a .safetensors header (https://github.com/huggingface/safetensors#format). The format's rules are
// all checked, so that a file which is damaged, cut short or lies about itself is refused and not half
// believed: names stand once, sizes are what type and shape say, and the values lie side by side, without a
// hole, up to the end.
#include "safetensors_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace mica::rt {
namespace {
constexpr u64 kLongestHeader = 100000000; // as the format's own library has it

int by_name(const void *a, const void *b) {
  return strcmp(static_cast<const SavedEntry *>(a)->name, static_cast<const SavedEntry *>(b)->name);
}
// Empty values come before the one that starts at their place.
int by_place(const void *a, const void *b) {
  const SavedEntry *x = *static_cast<const SavedEntry *const *>(a);
  const SavedEntry *y = *static_cast<const SavedEntry *const *>(b);
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

// The bytes that type and shape ask for; -1 where there are too many to count.
i64 bytes_of(const SavedEntry &entry) {
  i64 bytes = dtype_bytes(entry.dtype);
  for (int i = 0; i < entry.rank; i++) {
    if (__builtin_mul_overflow(bytes, entry.sizes[i], &bytes)) return -1;
  }
  return bytes;
}

char *copied(const Text &text) {
  char *copy = static_cast<char *>(allocate(text.length + 1));
  if (text.length) memcpy(copy, text.data, static_cast<size_t>(text.length));
  copy[text.length] = 0;
  return copy;
}
} // namespace

int dtype_bytes(const char *dtype) {
  struct Width {
    const char *name;
    int bytes;
  };
  static constexpr Width kWidths[] = {{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"I16", 2}, {"U16", 2},
                                      {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},
                                      {"I64", 8},  {"U64", 8},  {"F64", 8}};
  for (const Width &w : kWidths) {
    if (strcmp(w.name, dtype) == 0) return w.bytes;
  }
  return 0;
}

void put_saved_shape(Text &out, const SavedEntry &entry) {
  out.put_char('[');
  for (int i = 0; i < entry.rank; i++)
    out.putf("%s%lld", i ? ", " : "", static_cast<long long>(entry.sizes[i]));
  out.put_char(']');
}

void fail_file(Place place, const char *path, const char *format, va_list arguments) {
  char message[2048];
  vsnprintf(message, sizeof message, format, arguments);
  mica_fail(place.file, place.line, "%s: %s", path, message);
}

void SafetensorsHeader::fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_file(place_, path_, format, arguments);
}

SafetensorsHeader::SafetensorsHeader(Place place, const char *path, const Mapping &file)
    : place_(place), path_(path) {
  u64 length = 0;
  if (file.length < 8) {
    fail("is cut short: it has %lld bytes and no .safetensors header", static_cast<long long>(file.length));
  }
  const char *base = static_cast<const char *>(file.base);
  memcpy(&length, base, 8);
  // Text read as a length is a huge number: then this never was such a file.
  if (length > kLongestHeader) {
    fail("is no .safetensors file: its first eight bytes say that the header has %llu bytes",
         static_cast<unsigned long long>(length));
  }
  if (length > static_cast<u64>(file.length) - 8) {
    fail("is cut short or no .safetensors file: its header has %llu bytes, the file %lld",
         static_cast<unsigned long long>(length), static_cast<long long>(file.length));
  }
  data = base + 8 + length;
  data_bytes = file.length - 8 - static_cast<i64>(length);
  Json json = {base + 8, data};
  read(json);
  if (json.failed) {
    fail("its header is damaged, or no JSON, at byte %lld", static_cast<long long>(json.at - base));
  }
  check_names();
  check_places();
}

SafetensorsHeader::~SafetensorsHeader() {
  for (i64 i = 0; i < count; i++) release(entries[i].name);
  release(entries);
}

void SafetensorsHeader::read(Json &json) {
  if (!json.expect('{')) return;
  if (!json.take('}')) {
    Text key;
    do {
      json.read_string(key);
      json.expect(':');
      if (json.failed) return;
      if (strcmp(key.zero_ended(), "__metadata__") == 0) {
        json.skip_value();
        continue;
      }
      if (count == capacity_) {
        capacity_ = capacity_ ? capacity_ * 2 : 64;
        entries =
            static_cast<SavedEntry *>(reallocate(entries, capacity_ * static_cast<i64>(sizeof(SavedEntry))));
      }
      SavedEntry &entry = entries[count++];
      entry = {copied(key), "", -1, {}, -1, -1};
      if (!read_entry(json, entry) && !json.failed) {
        fail("its header is damaged at %s: type, shape and two offsets are wanted", entry.name);
      }
    } while (!json.failed && json.take(','));
    json.expect('}');
  }
  json.skip_blank();
  if (json.at != json.end) json.failed = true;
}

// Reads an entry's object; keys that are not known are skipped. False where something is missing.
bool SafetensorsHeader::read_entry(Json &json, SavedEntry &entry) {
  Text word;
  if (!json.expect('{') || json.take('}')) return false;
  do {
    json.read_string(word);
    json.expect(':');
    if (strcmp(word.zero_ended(), "dtype") == 0) {
      json.read_string(word);
      snprintf(entry.dtype, sizeof entry.dtype, "%s", word.zero_ended());
    } else if (strcmp(word.zero_ended(), "shape") == 0) {
      entry.rank = 0;
      json.expect('[');
      if (!json.take(']')) {
        do {
          if (entry.rank == kMaxRank) fail("%s has more than %d sizes there", entry.name, kMaxRank);
          entry.sizes[entry.rank++] = json.read_integer();
        } while (!json.failed && json.take(','));
        json.expect(']');
      }
    } else if (strcmp(word.zero_ended(), "data_offsets") == 0) {
      json.expect('[');
      entry.begin = json.read_integer();
      json.expect(',');
      entry.end = json.read_integer();
      json.expect(']');
    } else {
      json.skip_value();
    }
  } while (!json.failed && json.take(','));
  return json.expect('}') && entry.dtype[0] && entry.rank >= 0 && entry.end >= 0;
}

void SafetensorsHeader::check_names() {
  if (count) qsort(entries, static_cast<size_t>(count), sizeof(SavedEntry), by_name);
  for (i64 i = 1; i < count; i++) {
    if (strcmp(entries[i - 1].name, entries[i].name) == 0)
      fail("its header is damaged: %s stands in it twice", entries[i].name);
  }
}

void SafetensorsHeader::check_places() {
  if (!count) return;
  SavedEntry **order = static_cast<SavedEntry **>(allocate(count * static_cast<i64>(sizeof(SavedEntry *))));
  for (i64 i = 0; i < count; i++) {
    SavedEntry &e = entries[i];
    order[i] = &e;
    if (e.end < e.begin || (dtype_bytes(e.dtype) && e.end - e.begin != bytes_of(e))) {
      Text shape;
      put_saved_shape(shape, e);
      fail("its header is damaged at %s: bytes %lld to %lld are not what %s of shape %s takes", e.name,
           static_cast<long long>(e.begin), static_cast<long long>(e.end), e.dtype, shape.zero_ended());
    }
    if (e.end > data_bytes) {
      fail("is cut short: %s ends at byte %lld of the values, and %lld are there", e.name,
           static_cast<long long>(e.end), static_cast<long long>(data_bytes));
    }
  }
  qsort(order, static_cast<size_t>(count), sizeof(SavedEntry *), by_place);
  i64 at = 0;
  for (i64 i = 0; i < count; i++) {
    const SavedEntry &e = *order[i];
    if (e.begin < at)
      fail("its header is damaged: %s and %s lie on the same bytes", order[i - 1]->name, e.name);
    if (e.begin > at) {
      fail("its header is damaged: bytes %lld to %lld before %s belong to nothing",
           static_cast<long long>(at), static_cast<long long>(e.begin), e.name);
    }
    at = e.end;
  }
  release(order);
  if (at != data_bytes) {
    fail("is damaged: its values have %lld bytes, and %lld are there", static_cast<long long>(at),
         static_cast<long long>(data_bytes));
  }
}

const SavedEntry *SafetensorsHeader::find(const char *name) const {
  SavedEntry key = {const_cast<char *>(name), "", 0, {}, 0, 0};
  if (!count) return nullptr;
  return static_cast<const SavedEntry *>(
      bsearch(&key, entries, static_cast<size_t>(count), sizeof(SavedEntry), by_name));
}

} // namespace mica::rt
