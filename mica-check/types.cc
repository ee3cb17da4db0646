// The interning table of types, and what types look like in Spectra.
#include "types.h"

namespace mica::check {

bool Type::is_ordinal() const {
  switch (kind) {
  case Kind::scalar: return !gpu && !mica::check::is_float(scalar);
  case Kind::enumeration:
  case Kind::subrange: return true;
  default: return false;
  }
}

int RecordType::field_index(std::string_view field) const {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return static_cast<int>(i);
  return -1;
}

namespace {

void mix(size_t &hash, size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ull + (hash >> 29); }

size_t hash_of(const Type &t) {
  size_t hash = static_cast<size_t>(t.kind);
  mix(hash, static_cast<size_t>(t.scalar) | (t.gpu ? 256u : 0u) | (t.tracked ? 512u : 0u));
  mix(hash, static_cast<size_t>(t.rank));
  for (int64_t size : t.sizes) mix(hash, static_cast<size_t>(size));
  mix(hash, static_cast<size_t>(t.low));
  mix(hash, static_cast<size_t>(t.high));
  for (const void *p : {static_cast<const void *>(t.index), static_cast<const void *>(t.element),
                        static_cast<const void *>(t.record), static_cast<const void *>(t.enumeration)})
    mix(hash, reinterpret_cast<size_t>(p));
  for (const Parameter &p : t.parameters) mix(hash, reinterpret_cast<size_t>(p.type) + p.by_reference);
  return hash;
}

bool equal(const Type &a, const Type &b) {
  return a.kind == b.kind && a.scalar == b.scalar && a.gpu == b.gpu && a.tracked == b.tracked &&
         a.rank == b.rank && a.sizes == b.sizes && a.low == b.low && a.high == b.high && a.index == b.index &&
         a.element == b.element && a.record == b.record && a.enumeration == b.enumeration &&
         a.parameters == b.parameters;
}

Type simple(Kind kind) {
  Type t;
  t.kind = kind;
  return t;
}

} // namespace

Types::Types(spectra::TypeTable &table) : table_(table) {
  poison_ = intern(simple(Kind::poison));
  none_ = intern(simple(Kind::none));
  nil_ = intern(simple(Kind::nil));
  string_ = intern(simple(Kind::string));
  random_ = intern(simple(Kind::random));
}

const Type *Types::intern(Type &&type) {
  size_t hash = hash_of(type);
  std::pair range = interned_.equal_range(hash);
  for (auto it = range.first; it != range.second; ++it)
    if (equal(*it->second, type)) return it->second;
  storage_.push_back(std::move(type));
  interned_.emplace(hash, &storage_.back());
  return &storage_.back();
}

const Type *Types::scalar(spectra::Scalar s, bool gpu, bool tracked) {
  // The plain scalars are asked for all the time.
  const Type *&plain = plain_[static_cast<size_t>(s)];
  if (!gpu && !tracked && plain) return plain;
  Type t = simple(Kind::scalar);
  t.scalar = s;
  t.gpu = gpu;
  t.tracked = tracked;
  const Type *interned = intern(std::move(t));
  if (!gpu && !tracked) plain = interned;
  return interned;
}

const Type *Types::whole(spectra::Scalar cell, std::vector<int64_t> sizes, bool gpu, bool tracked) {
  Type t = simple(Kind::whole);
  t.scalar = cell;
  t.rank = static_cast<int>(sizes.size());
  t.sizes = std::move(sizes);
  t.gpu = gpu;
  t.tracked = tracked;
  return intern(std::move(t));
}

const Type *Types::open(spectra::Scalar cell, int rank, bool gpu, bool tracked) {
  Type t = simple(Kind::open);
  t.scalar = cell;
  t.rank = rank;
  t.gpu = gpu;
  t.tracked = tracked;
  return intern(std::move(t));
}

const Type *Types::subrange(const Type *base, int64_t low, int64_t high) {
  Type t = simple(Kind::subrange);
  t.scalar = base->scalar;
  t.element = base;
  t.enumeration = base->enumeration;
  t.low = low;
  t.high = high;
  return intern(std::move(t));
}

const Type *Types::array(const Type *index, int64_t low, int64_t high, const Type *element) {
  Type t = simple(Kind::array);
  t.index = index;
  t.low = low;
  t.high = high;
  t.element = element;
  return intern(std::move(t));
}

const Type *Types::slice(const Type *element) {
  Type t = simple(Kind::slice);
  t.element = element;
  return intern(std::move(t));
}

const Type *Types::pointer(const Type *element) {
  Type t = simple(Kind::pointer);
  t.element = element;
  return intern(std::move(t));
}

const Type *Types::procedure(std::vector<Parameter> parameters, const Type *answer) {
  Type t = simple(Kind::procedure);
  t.parameters = std::move(parameters);
  t.element = answer;
  return intern(std::move(t));
}

EnumType *Types::new_enum(std::string name) {
  enums_.push_back({std::move(name), {}, nullptr});
  EnumType *declaration = &enums_.back();
  Type t = simple(Kind::enumeration);
  t.enumeration = declaration;
  declaration->type = intern(std::move(t));
  return declaration;
}

RecordType *Types::new_record(std::string name, std::string link_name) {
  records_.emplace_back();
  RecordType *declaration = &records_.back();
  declaration->name = std::move(name);
  declaration->link_name = std::move(link_name);
  Type t = simple(Kind::record);
  t.record = declaration;
  declaration->type = intern(std::move(t));
  return declaration;
}

const Type *Types::with_tracked(const Type *t, bool tracked) {
  if (!t->has_cells() || t->tracked == tracked) return t;
  Type copy = *t;
  copy.tracked = tracked;
  return intern(std::move(copy));
}

const Type *Types::with_gpu(const Type *t, bool gpu) {
  if (!t->has_cells() || t->gpu == gpu) return t;
  Type copy = *t;
  copy.gpu = gpu;
  return intern(std::move(copy));
}

const Type *Types::with_cell(const Type *t, spectra::Scalar cell) {
  if (!t->has_cells() || t->scalar == cell) return t;
  Type copy = *t;
  copy.scalar = cell;
  return intern(std::move(copy));
}

const Type *Types::with_sizes(const Type *t, std::vector<int64_t> sizes) {
  if (sizes.empty()) return scalar(t->scalar, t->gpu, t->tracked);
  return whole(t->scalar, std::move(sizes), t->gpu, t->tracked);
}

const Type *Types::like(const Type *t, bool tracked, const spectra::Scalar *cell) {
  switch (t->kind) {
  case Kind::scalar:
  case Kind::whole:
  case Kind::open: {
    if (tracked && !check::is_float(cell ? *cell : t->scalar)) return nullptr;
    return with_tracked(cell ? with_cell(t, *cell) : t, tracked);
  }
  case Kind::array: {
    const Type *element = like(t->element, tracked, cell);
    return element ? array(t->index, t->low, t->high, element) : nullptr;
  }
  case Kind::record: {
    // Derived from the first record, so that `like (like x)` and `like x` agree.
    const RecordType *origin = t->record->derived_from ? t->record->derived_from->record : t->record;
    std::string suffix = tracked ? ".tracked" : ".like";
    if (cell) suffix += std::string(".") + spectra::scalar_name(*cell);
    std::string key = origin->link_name + suffix;
    std::pair found = likes_.try_emplace(key, nullptr);
    if (!found.second) return found.first->second;
    std::string words = std::string(tracked ? "tracked " : "") + "like " + origin->name;
    if (cell) words += std::string(" of ") + source_name(*cell);
    RecordType *derived = new_record(words, key);
    derived->derived_from = origin->type;
    bool same = true;
    for (const Field &field : t->record->fields) {
      const Type *type = like(field.type, tracked, cell);
      if (!type) return nullptr;
      same = same && type == field.type;
      derived->fields.push_back({field.name, type, field.place});
    }
    derived->complete = true;
    const Type *answer = same ? t : derived->type;
    likes_[key] = answer;
    return answer;
  }
  default: return tracked || cell ? nullptr : t;
  }
}

const spectra::Type *Types::lower(const Type *t) {
  std::pair found = lowered_.try_emplace(t, nullptr);
  if (!found.second && found.first->second) return found.first->second;
  const spectra::Type *lowered = nullptr;
  switch (t->kind) {
  case Kind::poison:
  case Kind::none:
  case Kind::open:
  case Kind::enumeration: lowered = table_.scalar(spectra::Scalar::i32); break;
  case Kind::nil: lowered = table_.pointer(table_.scalar(spectra::Scalar::i8)); break;
  case Kind::scalar: lowered = table_.scalar(t->scalar, t->gpu, t->tracked); break;
  case Kind::subrange: lowered = lower(t->element); break;
  case Kind::string: lowered = table_.string(); break;
  case Kind::random: lowered = table_.random(); break;
  case Kind::whole: lowered = table_.whole(t->scalar, t->sizes, t->gpu, t->tracked); break;
  case Kind::array: lowered = table_.array(t->low, t->high, lower(t->element)); break;
  case Kind::slice: lowered = table_.slice(lower(t->element)); break;
  case Kind::pointer: lowered = table_.pointer(lower(t->element)); break;
  case Kind::record: lowered = table_.record(t->record->link_name); break;
  case Kind::procedure: {
    std::vector<const spectra::Type *> parameters;
    for (const Parameter &p : t->parameters) parameters.push_back(lower_parameter(p));
    lowered = table_.function(std::move(parameters), t->element ? lower_value(t->element) : nullptr);
    break;
  }
  }
  lowered_[t] = lowered;
  return lowered;
}

const spectra::Type *Types::lower_value(const Type *t) { return table_.untracked(lower(t)); }

const spectra::Type *Types::lower_parameter(const Parameter &p) {
  if (p.by_reference || p.type->is_aggregate()) return table_.pointer(lower(p.type));
  return lower_value(p.type);
}

void Types::define_records() {
  for (const RecordType &record : records_) {
    spectra::Record *target = table_.define(record.link_name);
    if (!target->fields.empty()) continue;
    for (const Field &field : record.fields)
      target->fields.push_back({std::string(field.name), lower(field.type)});
    target->defined = true;
  }
}

const Type *Types::raise(const spectra::Type *t) {
  switch (t->kind) {
  case spectra::TypeKind::scalar: return scalar(t->scalar, t->gpu, t->tracked);
  case spectra::TypeKind::whole: return whole(t->scalar, t->sizes, t->gpu, t->tracked);
  case spectra::TypeKind::string: return string_;
  case spectra::TypeKind::random: return random_;
  case spectra::TypeKind::pointer: return pointer(raise(t->element));
  case spectra::TypeKind::slice: return slice(raise(t->element));
  default: return poison_;
  }
}

} // namespace mica::check
