#include "inplace.h"

#include <set>

namespace mica::fuse {
namespace {

using spectra::Attr;
using spectra::Builder;
using spectra::Scalar;

/// The operation's groups of `members` from operand `first` on, gathered by cell type: each type is a launch.
struct Groups {
  Scalar cell;
  std::vector<Value *> pointers;
};

std::vector<Groups> groups_of(InplaceHost &host, const Op &op, int first, int members) {
  std::vector<Groups> groups;
  for (int i = first; i + members <= op.arg_count(); i += members) {
    const Type *type = op.arg(i)->type->element;
    Groups *group = nullptr;
    for (Groups &g : groups)
      if (g.cell == type->scalar) group = &g;
    if (!group) group = &groups.emplace_back(Groups{type->scalar, {}});
    for (int m = 0; m < members; ++m) group->pointers.push_back(host.pointer_to(op.arg(i + m)));
  }
  return groups;
}

Value *convert(InplaceHost &host, Value *v, Scalar to) {
  if (v->type->scalar == to) return v;
  return host.build().make_typed(OpCode::cast, {v}, host.module().types.scalar(to));
}

using Body = std::function<std::vector<Value *>(Builder &, const std::vector<Value *> &)>;

void launch_groups(InplaceHost &host, const Op &op, const Groups &groups, const std::vector<Value *> &scalars,
                   int members, std::vector<int64_t> writes, const Body &body) {
  const Type *cell = host.module().types.scalar(groups.cell);
  std::vector<Value *> operands;
  std::vector<const Type *> types;
  for (Value *s : scalars) {
    // A scalar of the processor is converted there; one of the card is read and converted by the kernel.
    operands.push_back(s->type->gpu ? host.pointer_to(s) : convert(host, s, groups.cell));
    types.push_back(s->type->gpu ? s->type : cell);
  }
  bool gpu = groups.pointers.at(0)->type->element->gpu;
  const spectra::Kernel *kernel =
      host.outliner().multi(op, cell, gpu, types, members, std::move(writes), body);
  operands.insert(operands.end(), groups.pointers.begin(), groups.pointers.end());
  host.launch(kernel, operands);
}

/// x := x * factor
void scale(InplaceHost &host, const Op &op, const Groups &groups, Value *factor) {
  launch_groups(host, op, groups, {factor}, 1, {0}, [](Builder &b, const std::vector<Value *> &v) {
    return std::vector<Value *>{b.make(OpCode::mul, {v[1], v[0]})};
  });
}

/// w := w - rate * g
void sgd(InplaceHost &host, const Op &op) {
  for (const Groups &groups : groups_of(host, op, 1, 2))
    launch_groups(host, op, groups, {op.arg(0)}, 2, {0}, [](Builder &b, const std::vector<Value *> &v) {
      return std::vector<Value *>{b.make(OpCode::sub, {v[1], b.make(OpCode::mul, {v[0], v[2]})})};
    });
}

/// a := a + f * b
void add(InplaceHost &host, const Op &op) {
  for (const Groups &groups : groups_of(host, op, 1, 2))
    launch_groups(host, op, groups, {op.arg(0)}, 2, {0}, [](Builder &b, const std::vector<Value *> &v) {
      return std::vector<Value *>{b.make(OpCode::add, {v[1], b.make(OpCode::mul, {v[0], v[2]})})};
    });
}

/// c1, c2, d, a, s of numerics.md 10, computed in float64 and rounded once by libmicart; on the card where
/// the step or the rate is known there alone.
std::vector<Value *> coefficients(InplaceHost &host, const Op &op, const Type *cell) {
  spectra::TypeTable &types = host.module().types;
  bool gpu = op.arg(0)->type->gpu || op.arg(1)->type->gpu;
  Value *place =
      host.scratch(gpu ? types.whole(cell->scalar, {5}, true) : types.array(0, 4, cell), "coefficients");
  std::vector<Value *> operands;
  for (int i : {0, 1, 2, 3, 5}) {
    Value *v = op.arg(i);
    operands.push_back(v->type->gpu ? host.pointer_to(v) : i ? convert(host, v, Scalar::f64) : v);
  }
  operands.push_back(place);
  host.run_routine("adamw_scalars", operands);
  std::vector<Value *> scalars;
  for (int64_t i = 0; i < 5; ++i) {
    Op *take = host.build().append(gpu ? OpCode::address : OpCode::read);
    take->path = host.module().new_path();
    take->path->base = spectra::Path::Base::pointer;
    take->path->operands = 1;
    take->path->steps.push_back({spectra::Path::Step::Kind::constant, i});
    take->operands.push_back(place);
    if (!gpu) {
      scalars.push_back(host.build().add_result(take, cell));
      continue;
    }
    const Type *there = types.scalar(cell->scalar, true);
    scalars.push_back(host.module().new_value(there, "c"));
    host.lies_at(scalars.back(), host.build().add_result(take, types.pointer(there)));
  }
  return scalars;
}

/// numerics.md 10.
void adamw(InplaceHost &host, const Op &op) {
  spectra::TypeTable &types = host.module().types;
  for (const Groups &groups : groups_of(host, op, 6, 4)) {
    const Type *cell = types.scalar(groups.cell);
    std::vector<Value *> scalars = coefficients(host, op, cell);
    for (int i : {2, 3, 4}) scalars.push_back(op.arg(i)); // beta1, beta2, epsilon
    launch_groups(host, op, groups, scalars, 4, {0, 2, 3}, [](Builder &b, const std::vector<Value *> &v) {
      Value *c1 = v[0], *c2 = v[1], *d = v[2], *a = v[3], *s = v[4], *beta1 = v[5], *beta2 = v[6],
            *epsilon = v[7];
      Value *w = v[8], *g = v[9], *m = v[10], *second = v[11];
      auto mul = [&](Value *x, Value *y) { return b.make(OpCode::mul, {x, y}); };
      m = b.make(OpCode::add, {mul(beta1, m), mul(c1, g)}, "m");
      second = b.make(OpCode::add, {mul(beta2, second), mul(c2, mul(g, g))}, "v");
      Value *root = b.make(OpCode::add, {b.make(OpCode::div, {b.make(OpCode::sqrt, {second}), s}), epsilon});
      w = b.make(OpCode::sub, {mul(w, d), b.make(OpCode::div, {mul(a, m), root})}, "w");
      return std::vector<Value *>{w, m, second};
    });
  }
}

/// numerics.md 11: the joint norm; where it is finite and larger than the bound, every cell times bound /
/// norm.
void clip_on_card(InplaceHost &host, Op &op) {
  const Type *type = op.result()->type;
  Value *place = host.pointer_to(op.result());
  std::vector<Value *> operands;
  for (int i = 1; i < op.arg_count(); ++i) operands.push_back(host.pointer_to(op.arg(i)));
  operands.push_back(place);
  host.run_routine("joint_norm", operands);
  // The host does not know whether the norm is too large: a factor of one leaves the bits alone.
  Value *bound = op.arg(0);
  Value *factor = host.module().new_value(type, "factor");
  Value *factor_place = host.scratch(type, "factor");
  const Type *cell = host.module().types.scalar(type->scalar);
  auto body = [cell](Builder &b, const std::vector<Value *> &v) {
    Value *most = v[0]->type == cell ? v[0] : b.make_typed(OpCode::cast, {v[0]}, cell);
    Value *clips = b.make(OpCode::and_, {b.make(OpCode::gt, {v[1], most}), b.make(OpCode::finite, {v[1]})});
    return b.make(OpCode::select,
                  {clips, b.make(OpCode::div, {most, v[1]}), b.constant_float(cell, 1, "one")});
  };
  host.launch(host.outliner().scalar(op, {bound->type, type}, type, body),
              {host.pointer_to(bound), place, factor_place});
  host.lies_at(factor, factor_place);
  for (const Groups &groups : groups_of(host, op, 1, 1)) scale(host, op, groups, factor);
}

void check_bound(InplaceHost &host, const Op &op) {
  Builder &b = host.build();
  Value *bound = op.arg(0);
  if (bound->type->gpu) return; // only the card knows it
  Value *zero = b.constant_float(bound->type, 0, "zero");
  Value *allowed = b.make(OpCode::ge, {bound, zero});
  Op *why = b.append(OpCode::const_);
  why->set(Attr::value, std::string("the bound of a clip is negative"));
  Value *text = b.add_result(why, host.module().types.string());
  b.make(OpCode::assert, {allowed, text});
}

void clip(InplaceHost &host, Op &op) {
  check_bound(host, op);
  if (op.result()->type->gpu) return clip_on_card(host, op);
  Builder &b = host.build();
  const Type *type = op.result()->type;
  Value *bound = convert(host, op.arg(0), type->scalar);
  Value *place = host.scratch(type, "norm");
  std::vector<Value *> operands;
  for (int i = 1; i < op.arg_count(); ++i) operands.push_back(host.pointer_to(op.arg(i)));
  operands.push_back(place);
  host.run_routine("joint_norm", operands);
  Value *norm = host.read_scalar(place, op.result());
  Value *over = b.make(OpCode::gt, {norm, bound});
  Value *finite = b.make(OpCode::finite, {norm});
  Value *clips = b.make(OpCode::and_, {over, finite});
  Op *branch = b.append(OpCode::if_);
  branch->operands.push_back(clips);
  spectra::Region *outer = b.region();
  b.set_region(host.module().new_region(branch));
  Value *factor = b.make(OpCode::div, {bound, norm}, "factor");
  for (const Groups &groups : groups_of(host, op, 1, 1)) scale(host, op, groups, factor);
  b.append(OpCode::yield);
  b.set_region(host.module().new_region(branch));
  b.append(OpCode::yield);
  b.set_region(outer);
}

} // namespace

bool lower_inplace(InplaceHost &host, Op &op) {
  switch (op.code) {
  case OpCode::sgd_steps: sgd(host, op); return true;
  case OpCode::adamw_steps: adamw(host, op); return true;
  case OpCode::add_tensors: add(host, op); return true;
  case OpCode::clip_grad_norms: clip(host, op); return true;
  case OpCode::scale_tensors:
    for (const Groups &groups : groups_of(host, op, 1, 1)) scale(host, op, groups, op.arg(0));
    return true;
  default: return false;
  }
}

} // namespace mica::fuse
