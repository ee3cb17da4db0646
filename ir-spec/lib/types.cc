#include "spectra/types.h"

#include <algorithm>

namespace spectra {
namespace {

constexpr const char *kScalarNames[kScalarCount] = {"i8",  "i16", "i32",  "i64",    "i128", "u8",
                                                    "u16", "u32", "u64",  "u128",   "f16",  "bf16",
                                                    "f32", "f64", "bool", "unicode"};
constexpr const char *kSourceNames[kScalarCount] = {
    "int8",   "int16",   "int32",   "int64",    "int128",  "uint8",   "uint16", "uint32",
    "uint64", "uint128", "float16", "bfloat16", "float32", "float64", "bool",   "unicode"};
constexpr int kScalarBytes[kScalarCount] = {1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 2, 2, 4, 8, 1, 4};
constexpr int64_t kWholeAlign = 64;

std::string sizes_text(const std::vector<int64_t> &sizes, const char *separator) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i) text += separator;
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// More than any memory has: what a product of sizes stops at, so that none overflows.
constexpr int64_t kHuge = int64_t{1} << 60;

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kHuge : std::min(product, kHuge);
}

/// A record's layout is asked for often, and records hold records: computed again only where fields were
/// added.
const Record::Layout &layout_of(const Record *record) {
  Record::Layout &layout = record->layout;
  if (layout.offsets.size() == record->fields.size()) return layout;
  Record::Layout fresh;
  for (const Record::Field &field : record->fields) {
    const int64_t align = align_of(field.type);
    fresh.align = std::max(fresh.align, align);
    fresh.offsets.push_back(round_up(fresh.size, align));
    fresh.size = std::min(fresh.offsets.back() + size_of(field.type), kHuge);
  }
  fresh.size = round_up(fresh.size, fresh.align);
  layout = std::move(fresh);
  return layout;
}

} // namespace

int Record::field_index(std::string_view field) const {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return static_cast<int>(i);
  return -1;
}

int64_t Type::cells() const {
  int64_t n = 1;
  for (int64_t size : sizes) {
    if (size == 0) return 0; // whatever the others are
    n = times(n, size);
  }
  return n;
}

int64_t Type::rows() const {
  int64_t n = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0; // whatever the others are
    n = times(n, sizes[i]);
  }
  return n;
}

int scalar_bytes(Scalar s) { return kScalarBytes[static_cast<int>(s)]; }
const char *scalar_name(Scalar s) { return kScalarNames[static_cast<int>(s)]; }

const Type *TypeTable::intern(Type &&type, std::string key) {
  auto [it, fresh] = interned_.try_emplace(std::move(key), nullptr);
  if (fresh) {
    types_.push_back(std::move(type));
    it->second = &types_.back();
  }
  return it->second;
}

// A type's own text is its key, so interning needs no comparison of its own.
#define INTERN(t)                                                                                            \
  do {                                                                                                       \
    std::string key = to_text(&(t));                                                                         \
    return intern(std::move(t), std::move(key));                                                             \
  } while (false)

const Type *TypeTable::scalar(Scalar s, bool gpu, bool tracked) {
  Type t;
  t.kind = TypeKind::scalar;
  t.scalar = s;
  t.gpu = gpu;
  t.tracked = tracked;
  INTERN(t);
}

const Type *TypeTable::whole(Scalar cell, std::vector<int64_t> sizes, bool gpu, bool tracked) {
  Type t;
  t.kind = TypeKind::whole;
  t.scalar = cell;
  t.sizes = std::move(sizes);
  t.gpu = gpu;
  t.tracked = tracked;
  INTERN(t);
}

const Type *TypeTable::pointer(const Type *element) {
  Type t;
  t.kind = TypeKind::pointer;
  t.element = element;
  INTERN(t);
}

const Type *TypeTable::array(int64_t low, int64_t high, const Type *element) {
  Type t;
  t.kind = TypeKind::array;
  t.low = low;
  t.high = high;
  t.element = element;
  INTERN(t);
}

const Type *TypeTable::slice(const Type *element) {
  Type t;
  t.kind = TypeKind::slice;
  t.element = element;
  INTERN(t);
}

const Type *TypeTable::function(std::vector<const Type *> parameters, const Type *result) {
  Type t;
  t.kind = TypeKind::function;
  t.parameters = std::move(parameters);
  t.element = result;
  INTERN(t);
}

const Type *TypeTable::record(std::string_view name) {
  Type t;
  t.kind = TypeKind::record;
  auto it = records_.find(name);
  if (it == records_.end()) {
    record_storage_.push_back({});
    record_storage_.back().name = std::string(name);
    it = records_.emplace(std::string(name), &record_storage_.back()).first;
  }
  t.record = it->second;
  INTERN(t);
}

Record *TypeTable::define(std::string_view name) {
  const Type *type = record(name);
  Record *it = records_.find(type->record->name)->second;
  if (!it->defined) {
    it->defined = true;
    record_order_.push_back(it);
  }
  return it;
}

#define SIMPLE(method, which)                                                                                \
  const Type *TypeTable::method() {                                                                          \
    Type t;                                                                                                  \
    t.kind = TypeKind::which;                                                                                \
    INTERN(t);                                                                                               \
  }
SIMPLE(string, string)
SIMPLE(random, random)
SIMPLE(draw, draw)
SIMPLE(frame, frame)

const Type *TypeTable::untracked(const Type *t) {
  if (!t || !t->tracked) return t;
  Type copy = *t;
  copy.tracked = false;
  INTERN(copy);
}

const Type *TypeTable::with_scalar(const Type *t, Scalar cell) {
  return t->is_whole() ? whole(cell, t->sizes, t->gpu) : scalar(cell, t->gpu);
}

const Type *TypeTable::with_sizes(const Type *t, std::vector<int64_t> sizes) {
  return sizes.empty() ? scalar(t->scalar, t->gpu) : whole(t->scalar, std::move(sizes), t->gpu);
}

std::string to_text(const Type *type) {
  if (!type) return "none";
  std::string text;
  switch (type->kind) {
  case TypeKind::scalar: text = scalar_name(type->scalar); break;
  case TypeKind::whole: text = scalar_name(type->scalar) + sizes_text(type->sizes, ","); break;
  case TypeKind::pointer: return "ptr<" + to_text(type->element) + ">";
  case TypeKind::slice: return "slice<" + to_text(type->element) + ">";
  case TypeKind::array:
    return "array<" + std::to_string(type->low) + ".." + std::to_string(type->high) + ", " +
           to_text(type->element) + ">";
  case TypeKind::record: return "record<" + type->record->name + ">";
  case TypeKind::function:
    text = "fn(";
    for (size_t i = 0; i < type->parameters.size(); ++i)
      text += (i ? ", " : "") + to_text(type->parameters[i]);
    return text + (type->element ? ") -> " + to_text(type->element) : ")");
  case TypeKind::string: return "string";
  case TypeKind::random: return "random";
  case TypeKind::draw: return "draw";
  case TypeKind::frame: return "frame";
  }
  if (type->gpu) text += " gpu";
  if (type->tracked) text += " tracked";
  return text;
}

std::string to_source(const Type *type) {
  if (!type) return "nothing";
  std::string text = type->tracked ? "tracked " : "";
  switch (type->kind) {
  case TypeKind::scalar: text += kSourceNames[static_cast<int>(type->scalar)]; break;
  case TypeKind::whole:
    text += type->rank() == 1 ? "vector" : type->rank() == 2 ? "matrix" : "tensor";
    text += sizes_text(type->sizes, ", ");
    text += std::string(" of ") + kSourceNames[static_cast<int>(type->scalar)];
    break;
  case TypeKind::pointer: return "pointer " + to_source(type->element);
  case TypeKind::slice: return "pointer array of " + to_source(type->element);
  case TypeKind::array:
    return "array[" + std::to_string(type->low) + ".." + std::to_string(type->high) + "] of " +
           to_source(type->element);
  case TypeKind::record: return type->record->name;
  case TypeKind::function:
    text = type->element ? "function(" : "procedure(";
    for (size_t i = 0; i < type->parameters.size(); ++i)
      text += (i ? ", " : "") + to_source(type->parameters[i]);
    return text + (type->element ? ") : " + to_source(type->element) : ")");
  case TypeKind::string: return "string";
  case TypeKind::random: return "random";
  case TypeKind::draw: return "draw";
  case TypeKind::frame: return "frame";
  }
  if (type->gpu) text += " on gpu";
  return text;
}

std::string shape_text(const Type *type) {
  return type->is_whole() ? sizes_text(type->sizes, ", ") : "one value";
}

bool broadcast_sizes(const std::vector<int64_t> &a, const std::vector<int64_t> &b,
                     std::vector<int64_t> &result) {
  const std::vector<int64_t> &longer = a.size() >= b.size() ? a : b;
  const std::vector<int64_t> &shorter = a.size() >= b.size() ? b : a;
  std::vector<int64_t> sizes = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t &size = sizes[offset + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) return false;
    size = shorter[i];
  }
  result = std::move(sizes);
  return true;
}

int64_t size_of(const Type *type) {
  switch (type->kind) {
  case TypeKind::scalar: return type->gpu ? 8 : scalar_bytes(type->scalar);
  case TypeKind::whole:
    return type->gpu ? 8 : round_up(times(type->cells(), scalar_bytes(type->scalar)), kWholeAlign);
  case TypeKind::pointer:
  case TypeKind::frame: return 8;
  case TypeKind::slice:
  case TypeKind::function:
  case TypeKind::string:
  case TypeKind::random:
  case TypeKind::draw: return 16;
  case TypeKind::array: {
    int64_t count = 0; // from the least to the largest int64 there are more than an int64 counts
    if (__builtin_sub_overflow(type->high, type->low, &count)) count = kHuge;
    return times(std::max<int64_t>(0, count + 1), size_of(type->element));
  }
  case TypeKind::record: return layout_of(type->record).size;
  }
  return 0;
}

int64_t align_of(const Type *type) {
  switch (type->kind) {
  case TypeKind::scalar: return type->gpu ? 8 : scalar_bytes(type->scalar);
  case TypeKind::whole: return type->gpu ? 8 : kWholeAlign;
  case TypeKind::array: return align_of(type->element);
  case TypeKind::record: return layout_of(type->record).align;
  default: return 8;
  }
}

int64_t field_offset(const Record *record, int field) {
  return layout_of(record).offsets[static_cast<size_t>(field)];
}

} // namespace spectra
