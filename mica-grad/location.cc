#include "location.h"

#include <algorithm>

namespace mica::grad {
using namespace spectra;

bool Location::is_static() const {
  return is_variable() &&
         std::none_of(steps.begin(), steps.end(), [](const Step &s) { return s.kind == Kind::dynamic; });
}

std::string Location::variable_key() const {
  if (base == Base::pointer) return "%" + std::to_string(pointer->number);
  return (base == Base::global ? "@" : "$") + std::string(symbol);
}

std::string Location::key() const {
  std::string text = variable_key();
  for (const Step &step : steps) {
    if (step.kind == Kind::field)
      text += "." + std::to_string(step.index);
    else if (step.kind == Kind::constant)
      text += "[" + std::to_string(step.index) + "]";
    else
      text += "[%" + std::to_string(step.value->number) + "]";
  }
  return text;
}

Location variable_location(Location::Base base, std::string_view symbol) {
  Location location;
  location.base = base;
  location.symbol = symbol;
  return location;
}

Location location_of(const Op &op) {
  Location location;
  location.base = op.path->base;
  location.symbol = op.path->symbol;
  if (location.base == Path::Base::pointer) location.pointer = op.operands[0];
  for (const Path::Step &step : op.path->steps) {
    if (step.kind == Path::Step::Kind::dynamic)
      location.steps.push_back({step.kind, 0, op.operands[static_cast<size_t>(step.index)]});
    else
      location.steps.push_back({step.kind, step.index, nullptr});
  }
  return location;
}

void attach(Module &module, Op &op, const Location &location) {
  Path *path = module.new_path();
  path->base = location.base;
  path->symbol = location.symbol;
  if (location.base == Path::Base::pointer) op.operands.push_back(location.pointer);
  for (const Location::Step &step : location.steps) {
    if (step.kind == Path::Step::Kind::dynamic) {
      path->steps.push_back({step.kind, static_cast<int64_t>(op.operands.size())});
      op.operands.push_back(step.value);
    } else {
      path->steps.push_back({step.kind, step.index});
    }
  }
  path->operands = static_cast<int>(op.operands.size());
  op.path = path;
}

const Type *type_at(Module &module, const Func *func, const Location &location) {
  Op probe(OpCode::read, module.memory.get());
  attach(module, probe, location);
  return path_type(module, func, probe);
}

std::string source_text(const Module &module, const Func *func, const Location &location) {
  std::string text(location.symbol);
  const Type *type = nullptr;
  if (location.base == Path::Base::global) {
    const Variable *v = module.find_variable(location.symbol);
    type = v ? v->type : nullptr;
  } else if (location.base == Path::Base::local && func) {
    for (const Variable &v : func->locals)
      if (v.name == location.symbol) type = v.type;
  } else if (location.pointer) {
    text = location.pointer->name;
    type = location.pointer->type->element;
  }
  for (const Location::Step &step : location.steps) {
    if (step.kind == Location::Kind::field) {
      if (!type || type->kind != TypeKind::record) return text;
      const Record::Field &field = type->record->fields[static_cast<size_t>(step.index)];
      text += "." + field.name;
      type = field.type;
    } else {
      text += "[" +
              (step.kind == Location::Kind::constant ? std::to_string(step.index)
                                                     : std::string(step.value->name)) +
              "]";
      type = type ? type->element : nullptr;
    }
  }
  return text;
}

Location shadow_of(Module &module, const Func *func, Location location) {
  std::string name = "grad'";
  if (location.base == Path::Base::local) {
    name += std::string(func->name) + "'";
    std::replace(name.begin(), name.end(), '.', '\'');
  }
  location.symbol = module.keep(name + std::string(location.symbol));
  location.base = Path::Base::global;
  return location;
}

Overlap overlap(const Location &a, const Location &b) {
  if (a.base != b.base || a.symbol != b.symbol || a.pointer != b.pointer) {
    // Two variables never share memory; a pointer may reach any of them.
    return a.is_variable() && b.is_variable() ? Overlap::none : Overlap::may;
  }
  bool same = a.steps.size() == b.steps.size();
  for (size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    if (a.steps[i] == b.steps[i]) continue;
    bool dynamic = a.steps[i].kind == Location::Kind::dynamic || b.steps[i].kind == Location::Kind::dynamic;
    if (!dynamic) return Overlap::none;
    same = false;
  }
  return same ? Overlap::same : Overlap::may;
}

Value *emit_read(Builder &builder, const Location &location, const Type *type, std::string_view name) {
  Op *op = builder.append(OpCode::read);
  attach(builder.module(), *op, location);
  return builder.add_result(op, builder.module().types.untracked(type), name);
}

void emit_write(Builder &builder, const Location &location, Value *value) {
  Op *op = builder.append(OpCode::write);
  attach(builder.module(), *op, location);
  op->operands.push_back(value);
}

Value *zero_value(Builder &builder, const Type *type) {
  type = builder.module().types.untracked(type);
  switch (type->kind) {
  case TypeKind::scalar:
    return type->is_float() ? builder.constant_float(type, 0) : builder.constant(type, 0);
  case TypeKind::whole: return builder.make_typed(OpCode::zeros, {}, type);
  case TypeKind::pointer:
  case TypeKind::slice:
  case TypeKind::function: return builder.make_typed(OpCode::nil, {}, type);
  case TypeKind::string: {
    Op *op = builder.append(OpCode::const_);
    op->set(Attr::value, std::string());
    return builder.add_result(op, type);
  }
  case TypeKind::array:
  case TypeKind::record:
  case TypeKind::random:
  case TypeKind::draw:
  case TypeKind::frame: return nullptr;
  }
  return nullptr;
}

void emit_zeros(Builder &builder, const Location &location, const Type *type) {
  if (type->kind == TypeKind::record) {
    for (size_t i = 0; i < type->record->fields.size(); ++i) {
      Location field = location;
      field.steps.push_back({Location::Kind::field, static_cast<int64_t>(i), nullptr});
      emit_zeros(builder, field, type->record->fields[i].type);
    }
    return;
  }
  if (type->kind == TypeKind::array) {
    if (type->high < type->low) return;
    const Type *i64 = builder.module().types.scalar(Scalar::i64);
    Value *low = builder.constant(i64, type->low);
    Value *high = builder.constant(i64, type->high);
    Op *loop = builder.append(OpCode::for_);
    loop->operands.push_back(low);
    loop->operands.push_back(high);
    loop->set(Attr::by, int64_t{1});
    Region *body = builder.module().new_region(loop);
    Value *counter = builder.module().new_value(i64, "i");
    counter->region = body;
    body->args.push_back(counter);
    Region *outer = builder.region();
    builder.set_region(body);
    Location element = location;
    element.steps.push_back({Location::Kind::dynamic, 0, counter});
    emit_zeros(builder, element, type->element);
    builder.append(OpCode::yield);
    builder.set_region(outer);
    return;
  }
  if (Value *zero = zero_value(builder, type)) emit_write(builder, location, zero);
}

int64_t leaf_count(const Type *type) {
  int64_t count = 0;
  if (type->kind == TypeKind::record) {
    for (const Record::Field &field : type->record->fields) count += leaf_count(field.type);
    return count;
  }
  if (type->kind == TypeKind::array)
    return type->high < type->low ? 0 : (type->high - type->low + 1) * leaf_count(type->element);
  return 1;
}

} // namespace mica::grad
