#include "spectra/module.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace spectra {

const char *level_name(Level level) {
  switch (level) {
  case Level::parsed: return "parsed";
  case Level::checked: return "checked";
  case Level::grad: return "grad";
  case Level::fused: return "fused";
  case Level::target: return "target";
  }
  return "?";
}

const char *form_name(KernelForm form) {
  switch (form) {
  case KernelForm::map: return "map";
  case KernelForm::rows: return "rows";
  case KernelForm::reduce: return "reduce";
  case KernelForm::product: return "product";
  case KernelForm::multi: return "multi";
  }
  return "?";
}

const AttrValue *Op::find(Attr key) const {
  for (const Attribute &a : attributes)
    if (a.key == key) return &a.value;
  return nullptr;
}
bool Op::flag(Attr key) const { return find(key) != nullptr; }
int64_t Op::integer(Attr key, int64_t otherwise) const {
  const AttrValue *v = find(key);
  const int64_t *i = v ? std::get_if<int64_t>(v) : nullptr;
  return i ? *i : otherwise;
}
std::string Op::text(Attr key) const {
  const AttrValue *v = find(key);
  const std::string *s = v ? std::get_if<std::string>(v) : nullptr;
  return s ? *s : std::string();
}
double Op::real(Attr key, double otherwise) const {
  const AttrValue *v = find(key);
  const FloatBits *f = v ? std::get_if<FloatBits>(v) : nullptr;
  if (!f) return otherwise;
  double d;
  std::memcpy(&d, &f->bits, sizeof d);
  return d;
}
const std::vector<int64_t> *Op::integers(Attr key) const {
  const AttrValue *v = find(key);
  return v ? std::get_if<std::vector<int64_t>>(v) : nullptr;
}
const std::vector<std::string> *Op::texts(Attr key) const {
  const AttrValue *v = find(key);
  return v ? std::get_if<std::vector<std::string>>(v) : nullptr;
}
void Op::set(Attr key, AttrValue value) {
  for (Attribute &a : attributes)
    if (a.key == key) {
      a.value = std::move(value);
      return;
    }
  attributes.push_back({key, std::move(value)});
}
void Op::remove(Attr key) {
  std::erase_if(attributes, [key](const Attribute &a) { return a.key == key; });
}

std::string_view Module::keep(std::string_view text) {
  if (text.empty()) return {};
  char *copy = static_cast<char *>(memory->allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

// The arena's objects are never destroyed one by one: their lists take memory from the arena itself.
// Attribute values that own heap memory are the exception and live as long as the process, which is a stage's
// one run.
Value *Module::new_value(const Type *type, std::string_view name) {
  Value *v = new (memory->allocate(sizeof(Value), alignof(Value))) Value;
  v->type = type;
  v->name = name;
  v->number = value_count++;
  return v;
}
Op *Module::new_op(OpCode code, Place place) {
  Op *op = new (memory->allocate(sizeof(Op), alignof(Op))) Op(code, memory.get());
  if (place) op->places.push_back(place);
  return op;
}
Region *Module::new_region(Op *parent) {
  Region *r = new (memory->allocate(sizeof(Region), alignof(Region))) Region(memory.get());
  r->parent = parent;
  if (parent) parent->regions.push_back(r);
  return r;
}
Path *Module::new_path() { return new (memory->allocate(sizeof(Path), alignof(Path))) Path(memory.get()); }
Func *Module::new_func(std::string_view name) {
  Func *f = new (memory->allocate(sizeof(Func), alignof(Func))) Func(memory.get());
  f->name = name;
  f->body = new_region();
  funcs.push_back(f);
  return f;
}
Kernel *Module::new_kernel(std::string_view name) {
  Kernel *k = new (memory->allocate(sizeof(Kernel), alignof(Kernel))) Kernel(memory.get());
  k->name = name;
  k->body = new_region();
  kernels.push_back(k);
  return k;
}
namespace {

/// The position of `name` in `list` by the index, rebuilt where the list has changed under it.
template <class Sequence, class NameOf>
size_t find_indexed(const Sequence &list, std::unordered_map<std::string_view, size_t> &index,
                    size_t &indexed, std::string_view name, const NameOf &name_of) {
  auto hit = [&](size_t i) { return i < list.size() && name_of(list[i]) == name; };
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (; indexed < list.size(); ++indexed) index[name_of(list[indexed])] = indexed;
    auto it = index.find(name);
    if (it != index.end() && hit(it->second)) return it->second;
    // A name that was appended after a removal may be in no index yet: a miss, which is rare, looks at them
    // all.
    if (it == index.end()) {
      size_t i = 0;
      while (i < list.size() && !hit(i)) ++i;
      return i;
    }
    index.clear();
    indexed = 0;
  }
  return list.size();
}

} // namespace

Func *Module::find_func(std::string_view name) const {
  size_t i = find_indexed(funcs, func_index_, func_indexed_, name, [](const Func *f) { return f->name; });
  return i < funcs.size() ? funcs[i] : nullptr;
}
Kernel *Module::find_kernel(std::string_view name) const {
  size_t i =
      find_indexed(kernels, kernel_index_, kernel_indexed_, name, [](const Kernel *k) { return k->name; });
  return i < kernels.size() ? kernels[i] : nullptr;
}
const Variable *Module::find_variable(std::string_view name) const {
  size_t i = find_indexed(variables, variable_index_, variable_indexed_, name,
                          [](const Variable &v) { return v.name; });
  return i < variables.size() ? &variables[i] : nullptr;
}

const Type *path_type(const Module &module, const Func *func, const Op &op, std::string *why) {
  auto fail = [&](const std::string &text) -> const Type * {
    if (why) *why = text;
    return nullptr;
  };
  if (!op.path) return fail("a path is missing");
  const Path &path = *op.path;
  const Type *type = nullptr;
  TypeTable &types = const_cast<Module &>(module).types; // interning adds types, never changes one
  switch (path.base) {
  case Path::Base::none: return fail("a path is missing");
  case Path::Base::global: {
    const Variable *v = module.find_variable(path.symbol);
    if (!v) return fail("no unit variable @" + std::string(path.symbol));
    type = v->type;
    break;
  }
  case Path::Base::local: {
    if (!func) return fail("a local variable outside a function");
    for (const Variable &v : func->locals)
      if (v.name == path.symbol) type = v.type;
    if (!type) return fail("no local variable $" + std::string(path.symbol));
    break;
  }
  case Path::Base::pointer: {
    const Type *base = op.operands.empty() ? nullptr : op.operands[0]->type;
    if (!base || (base->kind != TypeKind::pointer && base->kind != TypeKind::slice))
      return fail("`^` needs a pointer or a slice, not " + to_text(base));
    type = base->kind == TypeKind::pointer ? base->element : base;
    break;
  }
  }
  for (const Path::Step &step : path.steps) {
    if (step.kind == Path::Step::Kind::field) {
      if (type->kind != TypeKind::record || step.index < 0 ||
          step.index >= static_cast<int64_t>(type->record->fields.size()))
        return fail("no such field in " + to_text(type));
      type = type->record->fields[static_cast<size_t>(step.index)].type;
      continue;
    }
    if (step.kind == Path::Step::Kind::dynamic) {
      const Type *index = op.operands[static_cast<size_t>(step.index)]->type;
      if (!index->is_scalar() ||
          (!index->is_integer() && index->scalar != Scalar::unicode && !index->is_bool()))
        return fail("an index must be an integer, not " + to_text(index));
    }
    if (type->kind == TypeKind::array || type->kind == TypeKind::slice) {
      if (type->kind == TypeKind::array && step.kind == Path::Step::Kind::constant &&
          (step.index < type->low || step.index > type->high))
        return fail("index " + std::to_string(step.index) + " is outside " + to_text(type));
      type = type->element;
    } else if (type->is_whole()) {
      if (step.kind == Path::Step::Kind::constant && (step.index < 0 || step.index >= type->sizes[0]))
        return fail("index " + std::to_string(step.index) + " is outside " + to_text(type));
      std::vector<int64_t> rest(type->sizes.begin() + 1, type->sizes.end());
      type = rest.empty() ? types.scalar(type->scalar, type->gpu, type->tracked)
                          : types.whole(type->scalar, rest, type->gpu, type->tracked);
    } else {
      return fail("no index into " + to_text(type));
    }
  }
  if (type->kind == TypeKind::slice && path.base == Path::Base::pointer && path.steps.empty())
    return fail("a slice needs an index");
  return type;
}

namespace {

/// `x.12` without its number: what new names of copies start from.
std::string_view base_name(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  return end > 1 && end < name.size() && name[end - 1] == '.' ? name.substr(0, end - 1) : name;
}

struct Namer {
  Module &module;
  std::unordered_set<std::string_view> used;
  std::unordered_map<std::string_view, uint32_t> next;
  uint32_t unnamed = 0;

  void name(Value *v) {
    if (v->name.empty()) {
      std::string_view fresh;
      do fresh = module.keep(std::to_string(unnamed++));
      while (!used.insert(fresh).second);
      v->name = fresh;
      return;
    }
    if (used.insert(v->name).second) return;
    std::string_view base = base_name(v->name);
    uint32_t &number = next[base];
    std::string_view fresh;
    do fresh = module.keep(std::string(base) + "." + std::to_string(++number));
    while (!used.insert(fresh).second);
    v->name = fresh;
  }
  void region(Region &r) {
    for (Value *v : r.args) name(v);
    for (Op *op : r.ops) {
      for (Value *v : op->results) name(v);
      for (Region *inner : op->regions) region(*inner);
    }
  }
};

} // namespace

void unique_names(Module &module, Region &body) {
  Namer namer{module, {}, {}, 0};
  namer.region(body);
}

} // namespace spectra
