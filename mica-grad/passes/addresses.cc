// Pointers to one known place become the place, so that `Gradient(m.W)` of a var parameter is that of the
// variable which every caller passes:
//
//   func @train(%m : ptr<record<Model>>) {         func @train(%m : ptr<record<Model>>) {
//     %w = read %m^.W : f32[2,2]              ->     %m.1 = address @model : ptr<record<Model>>
//                                                    %w = read @model.W : f32[2,2]
//
// A parameter that gets different addresses stays as it is.
#include "passes/addresses.h"
#include "location.h"
#include "spectra/ops.h"

#include <algorithm>
#include <map>

namespace mica::grad {
namespace {
using namespace spectra;

/// The static place of a unit variable that a pointer holds, if it does.
bool known_target(const Value *pointer, Location &target) {
  if (!pointer->def || pointer->def->code != OpCode::address) return false;
  target = location_of(*pointer->def);
  return target.base == Path::Base::global && target.is_static();
}

class Folder {
public:
  explicit Folder(Module &module) : module_(module) {}

  void run() {
    // A parameter that becomes known may make another's argument known: once more until nothing changes.
    do {
      changed_ = false;
      for (Func *func : module_.funcs) paths(*func->body);
      find_calls();
      for (Func *func : module_.funcs) parameters(*func);
    } while (changed_);
  }

private:
  /// Puts `address` paths in front of the paths behind their pointers.
  void paths(Region &region) {
    for (Op *op : region.ops) {
      for (Region *inner : op->regions) paths(*inner);
      if (!op->path || op->path->base != Path::Base::pointer) continue;
      const Op *def = op->operands[0]->def;
      if (!def || def->code != OpCode::address) continue;
      Location at = location_of(*def), rest = location_of(*op);
      at.steps.insert(at.steps.end(), rest.steps.begin(), rest.steps.end());
      std::vector<Value *> arguments;
      for (int i = 0; i < op->arg_count(); ++i) arguments.push_back(op->arg(i));
      op->operands.clear();
      attach(module_, *op, at);
      op->operands.insert(op->operands.end(), arguments.begin(), arguments.end());
    }
  }

  void find_calls() {
    calls_.clear();
    for (Func *func : module_.funcs)
      each_op(*func->body, [&](Op &op) {
        if (op.code == OpCode::call) calls_[op.symbol].push_back(&op);
        if (op.code == OpCode::closure)
          calls_[op.symbol].push_back(nullptr); // it may be called with anything
      });
  }
  void parameters(Func &func) {
    if (func.external || func.exported || func.body->ops.empty()) return;
    const std::vector<const Op *> &calls = calls_[func.name];
    if (calls.empty() || std::find(calls.begin(), calls.end(), nullptr) != calls.end()) return;
    for (size_t i = 0; i < func.body->args.size(); ++i) {
      Value *parameter = func.body->args[i];
      if (parameter->type->kind != TypeKind::pointer || !used(func, parameter)) continue;
      Location common, target;
      bool same = true;
      for (const Op *call : calls) {
        if (call->operands[i] == parameter) continue; // a recursion that passes it on
        same = same && known_target(call->operands[i], target) &&
               (common.base == Path::Base::none || common.key() == target.key());
        common = target;
      }
      if (same && common.base != Path::Base::none) replace(func, parameter, common);
    }
  }
  static bool used(Func &func, const Value *parameter) {
    bool found = false;
    each_op(*func.body, [&](Op &op) {
      found |= std::find(op.operands.begin(), op.operands.end(), parameter) != op.operands.end();
    });
    return found;
  }
  void replace(Func &func, Value *parameter, const Location &target) {
    Op *address = module_.new_op(OpCode::address, func.place);
    attach(module_, *address, target);
    Builder b(module_, func.body);
    Value *pointer = b.add_result(address, parameter->type, parameter->name);
    each_op(*func.body,
            [&](Op &op) { std::replace(op.operands.begin(), op.operands.end(), parameter, pointer); });
    func.body->ops.insert(func.body->ops.begin(), address);
    changed_ = true;
  }

  Module &module_;
  std::map<std::string_view, std::vector<const Op *>> calls_;
  bool changed_ = false;
};

} // namespace

void fold_addresses(Module &module) { Folder(module).run(); }

} // namespace mica::grad
