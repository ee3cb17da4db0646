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
  const spectra::Kernel *kernel =
      host.outliner().multi(op, cell, static_cast<int>(scalars.size()), members, std::move(writes), body);
  std::vector<Value *> operands = scalars;
  operands.insert(operands.end(), groups.pointers.begin(), groups.pointers.end());
  host.launch(kernel, operands);
}

/// x := x * factor
void scale(InplaceHost &host, const Op &op, const Groups &groups, Value *factor) {
  launch_groups(host, op, groups, {convert(host, factor, groups.cell)}, 1, {0},
                [](Builder &b, const std::vector<Value *> &v) {
                  return std::vector<Value *>{b.make(OpCode::mul, {v[1], v[0]})};
                });
}

/// w := w - rate * g
void sgd(InplaceHost &host, const Op &op) {
  for (const Groups &groups : groups_of(host, op, 1, 2))
    launch_groups(
        host, op, groups, {convert(host, op.arg(0), groups.cell)}, 2, {0},
        [](Builder &b, const std::vector<Value *> &v) {
          return std::vector<Value *>{b.make(OpCode::sub, {v[1], b.make(OpCode::mul, {v[0], v[2]})})};
        });
}

/// a := a + f * b
void add(InplaceHost &host, const Op &op) {
  for (const Groups &groups : groups_of(host, op, 1, 2))
    launch_groups(
        host, op, groups, {convert(host, op.arg(0), groups.cell)}, 2, {0},
        [](Builder &b, const std::vector<Value *> &v) {
          return std::vector<Value *>{b.make(OpCode::add, {v[1], b.make(OpCode::mul, {v[0], v[2]})})};
        });
}

/// numerics.md 10. The coefficients c1, c2, d, a, s come from libmicart, computed in float64 and rounded
/// once.
void adamw(InplaceHost &host, const Op &op) {
  spectra::TypeTable &types = host.module().types;
  for (const Groups &groups : groups_of(host, op, 6, 4)) {
    const Type *cell = types.scalar(groups.cell);
    Value *place = host.scratch(types.array(0, 4, cell), "coefficients");
    host.run_routine("adamw_scalars",
                     {op.arg(0), convert(host, op.arg(1), Scalar::f64), convert(host, op.arg(2), Scalar::f64),
                      convert(host, op.arg(3), Scalar::f64), convert(host, op.arg(5), Scalar::f64), place});
    std::vector<Value *> scalars;
    for (int64_t i = 0; i < 5; ++i) {
      Op *read = host.build().append(OpCode::read);
      read->path = host.module().new_path();
      read->path->base = spectra::Path::Base::pointer;
      read->path->operands = 1;
      read->path->steps.push_back({spectra::Path::Step::Kind::constant, i});
      read->operands.push_back(place);
      scalars.push_back(host.build().add_result(read, cell));
    }
    for (int i : {2, 3, 4}) scalars.push_back(convert(host, op.arg(i), groups.cell)); // beta1, beta2, epsilon
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
void clip(InplaceHost &host, Op &op) {
  spectra::TypeTable &types = host.module().types;
  Builder &b = host.build();
  const Type *type = op.result()->type;
  Value *bound = convert(host, op.arg(0), type->scalar);
  Value *zero = b.constant_float(type, 0, "zero");
  Value *allowed = b.make(OpCode::ge, {bound, zero});
  Op *why = b.append(OpCode::const_);
  why->set(Attr::value, std::string("the bound of a clip is negative"));
  Value *text = b.add_result(why, types.string());
  b.make(OpCode::assert, {allowed, text});
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
