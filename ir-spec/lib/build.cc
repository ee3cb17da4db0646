#include "spectra/build.h"

#include <cstring>
#include <stdexcept>

namespace spectra {

Op *Builder::append(OpCode code) {
  Op *op = module_.new_op(code);
  op->places.assign(places_.begin(), places_.end());
  region_->ops.push_back(op);
  return op;
}

Value *Builder::add_result(Op *op, const Type *type, std::string_view name) {
  Value *v = module_.new_value(type, name);
  v->def = op;
  op->results.push_back(v);
  return v;
}

Value *Builder::finish(Op *op, std::string_view name) {
  std::vector<const Type *> types;
  std::string why;
  if (!infer_types(module_, nullptr, *op, types, why))
    throw std::logic_error(std::string("built a wrong ") + info(op->code).name + ": " + why);
  for (const Type *type : types) add_result(op, type, name);
  return op->result();
}

Value *Builder::make(OpCode code, std::initializer_list<Value *> operands, std::string_view name) {
  Op *op = append(code);
  op->operands.assign(operands.begin(), operands.end());
  return finish(op, name);
}

Value *Builder::make_typed(OpCode code, std::initializer_list<Value *> operands, const Type *result,
                           std::string_view name) {
  Op *op = append(code);
  op->operands.assign(operands.begin(), operands.end());
  std::vector<const Type *> types;
  if (result) types.push_back(result);
  std::string why;
  if (!infer_types(module_, nullptr, *op, types, why))
    throw std::logic_error(std::string("built a wrong ") + info(code).name + ": " + why);
  return result ? add_result(op, result, name) : nullptr;
}

Value *Builder::constant(const Type *type, int64_t value, std::string_view name) {
  Op *op = append(OpCode::const_);
  op->set(Attr::value, value);
  return add_result(op, type, name);
}

Value *Builder::constant_float(const Type *type, double value, std::string_view name) {
  Op *op = append(OpCode::const_);
  if (type->scalar != Scalar::f64) value = static_cast<double>(static_cast<float>(value));
  FloatBits bits;
  std::memcpy(&bits.bits, &value, sizeof value);
  op->set(Attr::value, bits);
  return add_result(op, type, name);
}

Op *clone(Module &module, const Op &op, std::vector<Value *> &map) {
  auto mapped = [&](Value *v) { return v->number < map.size() && map[v->number] ? map[v->number] : v; };
  auto copy_value = [&](Value *v) {
    Value *copy = module.new_value(v->type, v->name);
    if (map.size() <= v->number) map.resize(module.value_count, nullptr);
    map[v->number] = copy;
    return copy;
  };
  Op *copy = module.new_op(op.code);
  copy->places.assign(op.places.begin(), op.places.end());
  copy->symbol = op.symbol;
  copy->text_line = op.text_line;
  copy->text_column = op.text_column;
  for (const Attribute &a : op.attributes) copy->attributes.push_back(a);
  for (Value *v : op.operands) copy->operands.push_back(mapped(v));
  if (op.path) {
    copy->path = module.new_path();
    copy->path->base = op.path->base;
    copy->path->symbol = op.path->symbol;
    copy->path->operands = op.path->operands;
    copy->path->steps.assign(op.path->steps.begin(), op.path->steps.end());
  }
  for (const Region *region : op.regions) {
    Region *inner = module.new_region(copy);
    for (Value *v : region->args) {
      Value *argument = copy_value(v);
      argument->region = inner;
      inner->args.push_back(argument);
    }
    for (const Op *o : region->ops) inner->ops.push_back(clone(module, *o, map));
  }
  for (Value *v : op.results) {
    Value *result = copy_value(v);
    result->def = copy;
    copy->results.push_back(result);
  }
  return copy;
}

} // namespace spectra
