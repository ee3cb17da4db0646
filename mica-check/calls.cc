// Calls: of procedures by name, of procedure values, and their arguments.
#include "checker.h"
#include "whole.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;

Operand Checker::check_call(const Node &node, const Type *expected) {
  const Node &callee = *node.first;
  Operand target;
  if (callee.is(NodeKind::name)) {
    Symbol *symbol = lookup(callee.text, callee.place);
    if (!symbol) return check_arguments_only(node);
    switch (symbol->kind) {
    case SymbolKind::builtin: {
      Operand answer = check_builtin(symbol->builtin, node, expected);
      answer.at = callee.place;
      if (!answer.symbol && answer.kind == Operand::Kind::nothing) answer.symbol = symbol;
      return answer;
    }
    case SymbolKind::procedure: return call_procedure(*symbol, node, expected);
    case SymbolKind::type:
      return error(callee.place, "`" + std::string(symbol->name) + "` is a type, not a function",
                   "write `x as " + std::string(symbol->name) + "` to convert");
    default: target = name_operand(*symbol, callee.place);
    }
  } else {
    target = check(callee);
  }
  if (target.is_poison()) return check_arguments_only(node);
  if (!target.type || !target.type->is(Kind::procedure)) {
    if (!target.type) return not_a_value(target);
    return error(callee.place, types.name(target.type) + " can't be called");
  }
  // A procedure value: the callee first, then its arguments.
  spectra::Value *value = load(target);
  build.set_place(node.place);
  if (checked_tier()) value = build.make(OpCode::check_nil, {value});
  const Type *type = target.type;
  std::string name = callee.is(NodeKind::name) ? std::string(callee.text) : "the procedure value";
  std::vector<spectra::Value *> operands{value};
  if (!check_arguments(node, name, type->parameters, operands)) return Operand{};
  return emit_call(OpCode::call_value, {}, operands, type->element, name, node.place);
}

/// After an error about the callee: the arguments may have errors of their own.
Operand Checker::check_arguments_only(const Node &call) {
  for (const Node *argument = call.first->next; argument; argument = argument->next) check(*argument);
  return Operand{};
}

bool Checker::count_arguments(const Node &call, std::string_view name, size_t least, size_t most) {
  size_t given = call.count - 1;
  if (given >= least && given <= most) return true;
  std::string wanted = least == most      ? std::to_string(least)
                       : most == SIZE_MAX ? "at least " + std::to_string(least)
                                          : std::to_string(least) + " to " + std::to_string(most);
  error(call.place, "`" + std::string(name) + "` takes " + wanted +
                        (least == most && least == 1 ? " argument" : " arguments") + ", not " +
                        std::to_string(given));
  return false;
}

bool Checker::check_argument(const Node &node, const std::string &purpose, const Parameter &parameter,
                             std::vector<spectra::Value *> &operands, Symbol *receiver) {
  Operand operand = check(node, parameter.type);
  if (operand.is_poison() || parameter.type->is_poison()) return false;
  return pass_argument(std::move(operand), purpose, parameter, operands, receiver);
}

bool Checker::pass_argument(Operand operand, const std::string &purpose, const Parameter &parameter,
                            std::vector<spectra::Value *> &operands, Symbol *receiver) {
  if (parameter.by_reference) {
    if (!operand.is_place() || !operand.assignable) {
      error(operand.at, purpose + " needs a variable, since the parameter is `var`");
      return false;
    }
    if (operand.type != parameter.type) {
      std::string got = types.name(operand.type), wanted = types.name(parameter.type);
      error(operand.at, purpose + " needs a variable of type " + wanted + ", not " +
                            (got == wanted ? "another type of that name" : got));
      return false;
    }
    mark_changed(operand);
    operands.push_back(address_of(operand));
    return operands.back() != nullptr;
  }
  if (receiver && parameter.type->is(Kind::procedure)) note_passing(operand, receiver);
  operand = convert(std::move(operand), parameter.type, purpose);
  spectra::Value *value = load(operand);
  if (!value) return false;
  operands.push_back(value);
  return true;
}

bool Checker::check_arguments(const Node &call, const std::string &name,
                              const std::vector<Parameter> &parameters,
                              std::vector<spectra::Value *> &operands, const Proc *callee) {
  if (!count_arguments(call, name, parameters.size(), parameters.size())) {
    check_arguments_only(call);
    return false;
  }
  bool right = true;
  size_t i = 0;
  for (const Node *argument = call.first->next; argument; argument = argument->next, ++i) {
    std::string purpose = "argument " + std::to_string(i + 1) + " of `" + name + "`";
    if (!check_argument(*argument, purpose, parameters[i], operands,
                        callee ? callee->parameters[i] : nullptr))
      right = false;
  }
  return right;
}

Operand Checker::call_procedure(Symbol &symbol, const Node &call, const Type *) {
  resolve(symbol);
  Proc *target = symbol.proc;
  if (target->open_template)
    target = target->open_template; // an instance that calls itself, perhaps in another shape
  std::string name(symbol.name);
  if (constants_only)
    return error(call.place, "a constant is wanted here, and `" + name + "` is called when the program runs");
  if (target->type && target->type->is_poison()) return check_arguments_only(call);
  std::vector<spectra::Value *> operands;
  if (target->has_open) {
    if (!count_arguments(call, name, target->parameters.size(), target->parameters.size()))
      return check_arguments_only(call);
    std::vector<Operand> arguments;
    bool right = true;
    for (const Node *argument = call.first->next; argument; argument = argument->next) {
      Operand operand = check(*argument);
      if (operand.is_place() && !operand.type->is_aggregate() &&
          !target->parameter_types[arguments.size()].by_reference)
        operand = value_operand(load(operand), operand.type, operand.at);
      right = right && !operand.is_poison();
      arguments.push_back(std::move(operand));
    }
    if (!right) return Operand{};
    target = instantiate(*this, *target, arguments, call.place);
    if (!target) return Operand{};
    ensure_func(*target);
    if (spectra::Value *passed = frame_for(*target)) operands.push_back(passed);
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::string purpose = "argument " + std::to_string(i + 1) + " of `" + name + "`";
      right = pass_argument(std::move(arguments[i]), purpose, target->parameter_types[i], operands,
                            target->parameters[i]) &&
              right;
    }
    if (!right) return Operand{};
  } else {
    build.set_place(call.place);
    if (spectra::Value *passed = frame_for(*target)) operands.push_back(passed);
    if (!check_arguments(call, name, target->parameter_types, operands, target)) return Operand{};
    ensure_func(*target);
  }
  Operand answer = emit_call(OpCode::call, target->func->name, operands, target->answer, name, call.place);
  answer.symbol = &symbol;
  return answer;
}

Operand Checker::emit_call(OpCode code, std::string_view callee, std::vector<spectra::Value *> &operands,
                           const Type *answer, std::string_view name, spectra::Place at) {
  Operand result;
  if (answer && answer->is_aggregate()) {
    // A record or an array is answered into memory of the caller's.
    result = temporary(answer, "answer", at);
    result.assignable = false;
    result.why_not = "is a function's answer";
    operands.push_back(address_of(result));
  }
  build.set_place(at);
  spectra::Op *op = build.append(code);
  op->symbol = callee;
  op->operands.assign(operands.begin(), operands.end());
  if (result.is_place()) return result;
  if (!answer) {
    result.kind = Operand::Kind::nothing;
    result.at = at;
    return result;
  }
  std::string_view value_name = code == OpCode::call ? module.keep(name) : std::string_view();
  return value_operand(build.add_result(op, types.lower_value(answer), value_name), answer, at);
}

} // namespace mica::check
