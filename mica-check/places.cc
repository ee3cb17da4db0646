// Reading and writing memory: operands become values and paths, with the checks that the tier wants.
#include "checker.h"
#include "whole.h"

namespace mica::check {

using spectra::OpCode;
using spectra::Path;
using spectra::Value;

Operand Checker::value_operand(Value *value, const Type *type, spectra::Place at) {
  Operand o;
  if (!value) return o;
  o.kind = Operand::Kind::value;
  o.type = type;
  o.value = value;
  o.at = at;
  return o;
}

Operand Checker::constant_operand(Constant constant, spectra::Place at) {
  Operand o;
  o.kind = Operand::Kind::constant;
  o.type = constant.type;
  o.constant = std::move(constant);
  o.at = at;
  return o;
}

Value *Checker::emit_constant(const Constant &constant) {
  const Type *t = Types::base(constant.type);
  const spectra::Type *lowered = types.lower_value(t);
  if (t->is(Kind::nil)) return build.make_typed(OpCode::nil, {}, lowered);
  if (t->is(Kind::string)) {
    spectra::Op *op = build.append(OpCode::const_);
    op->set(spectra::Attr::value, constant.text);
    return build.add_result(op, lowered);
  }
  if (t->is_scalar() && bits_of(t->scalar) == 128) return emit_wide(constant.integer, lowered);
  if (t->is_float()) return build.constant_float(lowered, constant.real);
  return build.constant(lowered, static_cast<int64_t>(constant.integer));
}

/// Spectra's constants have up to 64 bits: a wider one is its two halves put together.
Value *Checker::emit_wide(__int128 value, const spectra::Type *type) {
  const spectra::Type *half = types.lower(types.i64());
  const int64_t high = static_cast<int64_t>(value >> 64);
  const int64_t low = static_cast<int64_t>(value);
  const bool fits = value == low && (type->is_signed() || low >= 0);
  if (fits) return build.make_typed(OpCode::cast, {build.constant(half, low)}, type);
  const spectra::Type *word = module.types.scalar(spectra::Scalar::u64); // so that neither half has a sign
  Value *upper = build.make_typed(OpCode::cast, {build.constant(word, high)}, type);
  upper = build.make(OpCode::shl, {upper, build.constant(module.types.scalar(spectra::Scalar::i32), 64)});
  Value *lower = build.make_typed(OpCode::cast, {build.constant(word, low)}, type);
  return build.make(OpCode::or_, {upper, lower});
}

Value *Checker::load(const Operand &operand) {
  build.set_place(operand.at);
  switch (operand.kind) {
  case Operand::Kind::poison:
  case Operand::Kind::nothing:
  case Operand::Kind::builtin:
  case Operand::Kind::type: return nullptr;
  case Operand::Kind::constant: return emit_constant(operand.constant);
  case Operand::Kind::value: return operand.value;
  case Operand::Kind::procedure: {
    Proc &target = *operand.symbol->proc;
    spectra::Value *passed = frame_for(target);
    spectra::Op *op = build.append(OpCode::closure);
    ensure_func(target);
    op->symbol = target.func->name;
    if (passed) op->operands.push_back(passed);
    return build.add_result(op, types.lower(target.type), target.symbol->name);
  }
  case Operand::Kind::place: break;
  }
  // Records and arrays travel as pointers.
  if (operand.type->is_aggregate()) return address_of(operand);
  spectra::Op *op = path_op(OpCode::read, operand.path, {});
  return build.add_result(op, types.lower_value(operand.type),
                          operand.symbol ? operand.symbol->name : std::string_view());
}

void Checker::set_path(spectra::Op *op, const PathRef &path) {
  Path *target = module.new_path();
  target->base = path.base;
  target->symbol = path.symbol;
  if (path.base == Path::Base::pointer) op->operands.push_back(path.pointer);
  for (const PathRef::Step &step : path.steps) {
    Path::Step out{step.kind, step.index};
    if (step.kind == Path::Step::Kind::dynamic) {
      out.index = static_cast<int64_t>(op->operands.size());
      op->operands.push_back(step.value);
    }
    target->steps.push_back(out);
  }
  target->operands = static_cast<int>(op->operands.size());
  op->path = target;
}

spectra::Op *Checker::path_op(OpCode code, const PathRef &path, std::initializer_list<Value *> args) {
  spectra::Op *op = build.append(code);
  set_path(op, path);
  for (Value *v : args) op->operands.push_back(v);
  return op;
}

Value *Checker::address_of(const Operand &place) {
  if (!place.is_place()) return nullptr;
  // The address of what a pointer points to is the pointer.
  if (place.path.base == Path::Base::pointer && place.path.steps.empty()) return place.path.pointer;
  build.set_place(place.at);
  spectra::Op *op = path_op(OpCode::address, place.path, {});
  return build.add_result(op, types.table().pointer(types.lower(place.type)),
                          place.symbol ? place.symbol->name : std::string_view());
}

void Checker::store(const Operand &place, Value *value) {
  if (!place.is_place() || !value) return;
  path_op(OpCode::write, place.path, {value});
}

Operand Checker::through_pointer(Value *pointer, const Type *element, spectra::Place at) {
  Operand o;
  o.kind = Operand::Kind::place;
  o.type = element;
  o.path.base = Path::Base::pointer;
  o.path.pointer = pointer;
  o.at = at;
  return o;
}

Operand Checker::dereference(Operand pointer, spectra::Place at) {
  if (pointer.is_poison()) return pointer;
  const Type *element = pointer.type->element;
  Value *value = load(pointer);
  build.set_place(at);
  if (checked_tier()) value = build.make(OpCode::check_nil, {value});
  return through_pointer(value, element, at);
}

Operand Checker::field_of(Operand base, int field, spectra::Place at) {
  if (base.is_poison()) return base;
  const Type *record = base.type;
  if (!base.is_place()) { // a record as a value is a pointer to it
    base = through_pointer(load(base), record, at);
    base.assignable = false;
    base.why_not = "is no variable";
  }
  base.path.steps.push_back({Path::Step::Kind::field, field, nullptr});
  base.type = record->record->fields[static_cast<size_t>(field)].type;
  base.at = at;
  return base;
}

Value *Checker::index_value(const Operand &index) {
  if (index.is_constant() && !Types::base(index.type)->is_integer()) {
    build.set_place(index.at);
    return build.constant(module.types.scalar(spectra::Scalar::i32),
                          static_cast<int64_t>(index.constant.integer));
  }
  Value *value = load(index);
  // Paths and checks count with integers.
  if (value && !value->type->is_integer())
    value = build.make_typed(OpCode::cast, {value}, module.types.scalar(spectra::Scalar::i32));
  return value;
}

Operand Checker::element_of(Operand base, Operand index, spectra::Place at) {
  if (base.is_poison() || index.is_poison()) return Operand{};
  const Type *t = base.type;
  if (t->is(Kind::slice)) {
    Value *slice = load(base);
    Value *at_index = index_value(index);
    build.set_place(at);
    if (checked_tier()) at_index = build.make(OpCode::check_slice, {slice, at_index});
    Operand cell = through_pointer(slice, t->element, at);
    cell.path.steps.push_back({Path::Step::Kind::dynamic, 0, at_index});
    return cell;
  }
  if (!base.is_place()) {
    base = through_pointer(load(base), t, at);
    base.assignable = false;
    base.why_not = "is no variable";
  }
  if (index.is_constant()) {
    int64_t number = static_cast<int64_t>(index.constant.integer);
    base.path.steps.push_back({Path::Step::Kind::constant, number, nullptr});
  } else {
    Value *number = index_value(index);
    build.set_place(at);
    if (checked_tier()) {
      spectra::Op *op = build.append(OpCode::check_index);
      op->operands.push_back(number);
      op->set(spectra::Attr::low, t->low);
      op->set(spectra::Attr::high, t->high);
      number = build.add_result(op, number->type);
    }
    base.path.steps.push_back({Path::Step::Kind::dynamic, 0, number});
  }
  base.type = t->element;
  base.at = at;
  return base;
}

Operand Checker::temporary(const Type *type, std::string_view name, spectra::Place at) {
  std::string unique = std::string(name) + "'" + std::to_string(++temporaries);
  spectra::Variable v;
  v.name = module.keep(unique);
  v.type = types.lower(type);
  v.place = at;
  func->locals.push_back(v);
  Operand o;
  o.kind = Operand::Kind::place;
  o.type = type;
  o.path.base = Path::Base::local;
  o.path.symbol = v.name;
  o.at = at;
  return o;
}

void Checker::copy_aggregate(const Operand &to, const Operand &from) {
  if (copy_leaves(*this, to, from)) return;
  Value *target = address_of(to);
  Value *source = load(from);
  if (target && source) build.make_typed(OpCode::copy_value, {target, source}, nullptr);
}

} // namespace mica::check
