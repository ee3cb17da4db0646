// Control, memory and calls of the reference evaluator.
#include "eval.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mica::eval {
using namespace spectra;

Datum zero_of(const Type *type) {
  Datum d;
  if (type->is_scalar() || type->is_whole()) {
    if (type->is_float())
      d.f.assign(static_cast<size_t>(type->cells()), 0);
    else
      d.i.assign(static_cast<size_t>(type->cells()), 0);
  }
  return d;
}

Memory new_place(const Type *type) {
  Memory m = std::make_shared<Place>();
  m->type = type;
  if (type->kind == TypeKind::record)
    for (const Record::Field &f : type->record->fields) m->parts.push_back(new_place(f.type));
  else if (type->kind == TypeKind::array)
    for (int64_t i = type->low; i <= type->high; ++i) m->parts.push_back(new_place(type->element));
  else
    m->value = zero_of(type);
  return m;
}

void copy_place(Place &to, const Place &from) {
  Datum value = from.value;
  to.value = value;
  for (size_t i = 0; i < to.parts.size(); ++i) copy_place(*to.parts[i], *from.parts[i]);
}

namespace {

/// A deep copy, so that a copy from a part of the target reads what was there before.
Memory copy_of(const Place &from) {
  Memory m = std::make_shared<Place>();
  m->type = from.type;
  m->value = from.value;
  for (const Memory &part : from.parts) m->parts.push_back(copy_of(*part));
  return m;
}

Datum constant(const AttrValue &value, const Type *type) {
  Datum d;
  if (const FloatBits *f = std::get_if<FloatBits>(&value)) {
    double v;
    std::memcpy(&v, &f->bits, sizeof v);
    d.f.push_back(round_to(type->scalar, v));
  } else if (const int64_t *i = std::get_if<int64_t>(&value)) {
    if (type->is_float())
      d.f.push_back(static_cast<double>(*i));
    else
      d.i.push_back(*i);
  } else if (const std::string *s = std::get_if<std::string>(&value)) {
    d.text = *s;
  }
  return d;
}

} // namespace

Program::Program(Module &module) : module_(module) {
  for (const Variable &v : module.variables) {
    Memory m = new_place(v.type);
    if (v.first) m->value = constant(*v.first, v.type);
    variables_[std::string(v.name)] = m;
  }
}

Memory Program::by_path(const std::string &path) {
  size_t end = path.find_first_of(".[");
  auto it = variables_.find(path.substr(0, end));
  if (it == variables_.end()) throw Failure("no variable " + path);
  Memory m = it->second;
  while (end != std::string::npos && end < path.size()) {
    size_t next = path.find_first_of(".[", end + 1);
    std::string step = path.substr(end + 1, next == std::string::npos ? next : next - end - 1);
    if (path[end] == '.')
      m = m->parts.at(static_cast<size_t>(m->type->record->field_index(step)));
    else
      m = m->parts.at(static_cast<size_t>(std::stoll(step) - m->type->low));
    end = next;
  }
  return m;
}

void Program::set(const std::string &path, const std::vector<double> &cells) {
  Memory m = by_path(path);
  m->value = Datum{};
  for (double v : cells)
    if (m->type->is_float())
      m->value.f.push_back(round_to(m->type->scalar, v));
    else
      m->value.i.push_back(static_cast<int64_t>(v));
}

std::vector<double> Program::get(const std::string &path) {
  const Datum &d = by_path(path)->value;
  if (!d.i.empty()) return {d.i.begin(), d.i.end()};
  return d.f;
}

void Program::fail(const Op &op, const std::string &why) {
  std::string at = op.place() ? std::to_string(op.place().line) + ": " : std::string();
  throw Failure(at + why);
}

void Program::run(std::string_view func) {
  steps_ = 0;
  const Func *f = module_.find_func(func);
  if (!f) throw Failure("no function " + std::string(func));
  call(*f, {});
}

const Datum &Program::value(Frame &frame, const Value *v) { return frame.values.at(v); }

Datum Program::call(const Func &func, const std::vector<Datum> &arguments) {
  if (func.external) throw Failure("external function " + std::string(func.name));
  Frame frame{&func, {}, {}, {}, {}};
  for (const Variable &v : func.locals) frame.locals[v.name] = new_place(v.type);
  for (size_t i = 0; i < arguments.size(); ++i) frame.values[func.body->args[i]] = arguments[i];
  region(frame, *func.body);
  return frame.answer;
}

Program::Exit Program::region(Frame &frame, const Region &r) {
  for (const Op *op : r.ops) {
    Exit exit = operation(frame, *op);
    if (exit != Exit::none) return exit;
  }
  return Exit::yield;
}

Program::Reached Program::reach(Frame &frame, const Op &op) {
  const Path &path = *op.path;
  Reached r;
  if (path.base == Path::Base::global)
    r.place = variables_.at(std::string(path.symbol));
  else if (path.base == Path::Base::local)
    r.place = frame.locals.at(path.symbol);
  else
    r.place = value(frame, op.operands[0]).memory;
  if (!r.place) fail(op, "nil");
  r.type = r.place->type;
  for (const Path::Step &step : path.steps) {
    int64_t index = step.index;
    if (step.kind == Path::Step::Kind::dynamic)
      index = value(frame, op.operands[static_cast<size_t>(step.index)]).i.at(0);
    if (r.type->is_whole()) { // a row or a cell
      if (!r.part) r.count = static_cast<size_t>(r.type->cells());
      r.part = true;
      if (index < 0 || index >= r.type->sizes[0]) fail(op, "index outside");
      r.count /= static_cast<size_t>(r.type->sizes[0]);
      r.first += static_cast<size_t>(index) * r.count;
      std::vector<int64_t> rest(r.type->sizes.begin() + 1, r.type->sizes.end());
      r.type = module_.types.with_sizes(r.type, rest);
      continue;
    }
    if (r.type->kind == TypeKind::array) index -= r.type->low;
    if (index < 0 || index >= static_cast<int64_t>(r.place->parts.size())) fail(op, "index outside");
    r.place = r.place->parts[static_cast<size_t>(index)];
    r.type = r.place->type;
  }
  return r;
}

void Program::memory_operation(Frame &frame, const Op &op) {
  auto result = [&]() -> Datum & { return frame.values[op.result()]; };
  auto argument = [&](int i) -> const Datum & { return value(frame, op.arg(i)); };
  switch (op.code) {
  case OpCode::read: {
    Reached r = reach(frame, op);
    if (!r.part) {
      result() = r.place->value;
      return;
    }
    Datum d;
    auto cut = [&](const auto &from, auto &to) {
      to.assign(from.begin() + static_cast<long>(r.first),
                from.begin() + static_cast<long>(r.first + r.count));
    };
    if (r.type->is_float())
      cut(r.place->value.f, d.f);
    else
      cut(r.place->value.i, d.i);
    result() = d;
    return;
  }
  case OpCode::write: {
    Reached r = reach(frame, op);
    const Datum &v = argument(0);
    if (!r.part) {
      r.place->value = v;
      return;
    }
    std::copy(v.f.begin(), v.f.end(),
              r.place->value.f.begin() + static_cast<long>(v.f.empty() ? 0 : r.first));
    std::copy(v.i.begin(), v.i.end(),
              r.place->value.i.begin() + static_cast<long>(v.i.empty() ? 0 : r.first));
    return;
  }
  case OpCode::address: result().memory = reach(frame, op).place; return;
  case OpCode::frame_of:
  case OpCode::frame_as:
  case OpCode::check_nil: {
    Datum d = value(frame, op.operands[0]);
    if (op.code == OpCode::check_nil && !d.memory) fail(op, "nil");
    result() = d;
    return;
  }
  case OpCode::new_: result().memory = new_place(op.result()->type->element); return;
  case OpCode::new_slice: {
    int64_t n = argument(0).i.at(0);
    if (n < 0) fail(op, "a negative length");
    Memory m = std::make_shared<Place>();
    m->type = op.result()->type;
    for (int64_t i = 0; i < n; ++i) m->parts.push_back(new_place(m->type->element));
    result().memory = m;
    return;
  }
  case OpCode::dispose: return;
  case OpCode::slice_length:
    result().i = {argument(0).memory ? static_cast<int64_t>(argument(0).memory->parts.size()) : 0};
    return;
  case OpCode::nil: result() = Datum{}; return;
  case OpCode::is_nil: result().i = {argument(0).memory == nullptr}; return;
  case OpCode::pointer_equal: result().i = {argument(0).memory == argument(1).memory}; return;
  case OpCode::copy_value:
    copy_place(*value(frame, op.operands[0]).memory, *copy_of(*value(frame, op.operands[1]).memory));
    return;
  default: return;
  }
}

void Program::check(Frame &frame, const Op &op) {
  const Datum d = value(frame, op.operands[0]);
  switch (op.code) {
  case OpCode::assert:
    if (!d.i.at(0)) fail(op, value(frame, op.operands[1]).text);
    return;
  case OpCode::panic: fail(op, d.text);
  case OpCode::check_index:
  case OpCode::check_range:
    if (d.i.at(0) < op.integer(Attr::low) || d.i.at(0) > op.integer(Attr::high)) fail(op, "index outside");
    break;
  case OpCode::check_targets:
    for (size_t row = 0; row < d.i.size(); ++row)
      if (d.i[row] < -1 || d.i[row] >= op.integer(Attr::classes))
        fail(op, "class " + std::to_string(d.i[row]) + " in row " + std::to_string(row) + " is outside 0.." +
                     std::to_string(op.integer(Attr::classes) - 1));
    break;
  case OpCode::check_slice: {
    const Datum at = value(frame, op.operands[1]);
    if (!d.memory || at.i.at(0) < 0 || at.i.at(0) >= static_cast<int64_t>(d.memory->parts.size()))
      fail(op, "index outside");
    frame.values[op.result()] = at;
    return;
  }
  default: break;
  }
  frame.values[op.result()] = d;
}

/// The in-place verbs, by numerics.md 10 and 11.
void Program::in_place(Frame &frame, const Op &op) {
  auto scalar = [&](size_t i) { return value(frame, op.operands[i]).f.at(0); };
  auto cells = [&](size_t i) -> std::vector<double> & {
    return value(frame, op.operands[i]).memory->value.f;
  };
  size_t n = op.operands.size();
  auto cell_type = [&](size_t i) { return op.operands[i]->type->element->scalar; };
  if (op.code == OpCode::sgd_steps) {
    for (size_t i = 1; i + 1 < n; i += 2)
      for (size_t k = 0; k < cells(i).size(); ++k) {
        Scalar t = cell_type(i);
        cells(i)[k] =
            round_to(t, cells(i)[k] - round_to(t, scalar(0) * value(frame, op.operands[i + 1]).f[k]));
      }
  } else if (op.code == OpCode::scale_tensors) {
    for (size_t i = 1; i < n; ++i)
      for (double &v : cells(i)) v = round_to(cell_type(i), v * scalar(0));
  } else if (op.code == OpCode::add_tensors) {
    for (size_t i = 1; i + 1 < n; i += 2)
      for (size_t k = 0; k < cells(i).size(); ++k)
        cells(i)[k] =
            round_to(cell_type(i),
                     cells(i)[k] + round_to(cell_type(i), scalar(0) * value(frame, op.operands[i + 1]).f[k]));
  } else if (op.code == OpCode::clip_grad_norms) {
    double sum = 0;
    for (size_t i = 1; i < n; ++i)
      for (double v : cells(i)) sum += v * v;
    double norm = round_to(op.result()->type->scalar, std::sqrt(sum));
    if (norm > scalar(0) && std::isfinite(norm))
      for (size_t i = 1; i < n; ++i)
        for (double &v : cells(i)) v = round_to(cell_type(i), v * round_to(cell_type(i), scalar(0) / norm));
    frame.values[op.result()].f = {norm};
  } else {
    const Datum &t = value(frame, op.operands[0]);
    double step = t.f.empty() ? static_cast<double>(t.i.at(0)) : t.f.at(0);
    for (size_t i = 6; i + 3 < n; i += 4) {
      Scalar K = cell_type(i);
      auto r = [&](double v) { return round_to(K, v); };
      double b1 = scalar(2), b2 = scalar(3), eps = r(scalar(4));
      double c1 = r(1 - b1), c2 = r(1 - b2), d = r(1 - scalar(1) * scalar(5)),
             a = r(scalar(1) / (1 - std::pow(b1, step))), s = r(std::sqrt(1 - std::pow(b2, step)));
      const std::vector<double> g = value(frame, op.operands[i + 1]).f;
      for (size_t k = 0; k < g.size(); ++k) {
        double &m = cells(i + 2)[k], &v = cells(i + 3)[k], &w = cells(i)[k];
        m = r(r(r(b1) * m) + r(c1 * g[k]));
        v = r(r(r(b2) * v) + r(c2 * r(g[k] * g[k])));
        w = r(r(w * d) - r(r(a * m) / r(r(r(std::sqrt(v)) / s) + eps)));
      }
    }
  }
}

Program::Exit Program::for_loop(Frame &frame, const Op &op) {
  int64_t low = value(frame, op.operands[0]).i.at(0), high = value(frame, op.operands[1]).i.at(0),
          by = op.integer(Attr::by);
  bool down = op.flag(Attr::down);
  std::vector<Datum> carried;
  for (size_t i = 2; i < op.operands.size(); ++i) carried.push_back(value(frame, op.operands[i]));
  const Region &body = *op.regions[0];
  for (int64_t i = low; down ? i >= high : i <= high;) {
    frame.values[body.args[0]].i = {i};
    for (size_t c = 0; c < carried.size(); ++c) frame.values[body.args[c + 1]] = carried[c];
    Exit exit = region(frame, body);
    if (exit == Exit::return_) return exit;
    if (exit == Exit::break_) break;
    if (exit == Exit::none || exit == Exit::yield) carried = frame.yielded;
    if (__builtin_add_overflow(i, down ? -by : by, &i)) break;
  }
  for (size_t c = 0; c < op.results.size(); ++c) frame.values[op.results[c]] = carried[c];
  return Exit::none;
}

Program::Exit Program::while_loop(Frame &frame, const Op &op) {
  std::vector<Datum> carried;
  for (const Value *v : op.operands) carried.push_back(value(frame, v));
  for (;;) {
    for (size_t side = 0; side < 2; ++side) {
      const Region &body = *op.regions[side];
      for (size_t c = 0; c < carried.size(); ++c) frame.values[body.args[c]] = carried[c];
      Exit exit = region(frame, body);
      if (exit == Exit::return_) return exit;
      if (exit == Exit::break_) return Exit::none;
      if (exit == Exit::continue_) break;
      carried = frame.yielded;
      if (side == 1) break;
      bool go = carried.at(0).i.at(0);
      carried.erase(carried.begin());
      if (go) continue;
      for (size_t c = 0; c < op.results.size(); ++c) frame.values[op.results[c]] = carried[c];
      return Exit::none;
    }
  }
}

Program::Exit Program::operation(Frame &frame, const Op &op) {
  if (++steps_ > budget) fail(op, "the program does not end");
  switch (op.code) {
  case OpCode::const_:
    frame.values[op.result()] = constant(*op.find(Attr::value), op.result()->type);
    return Exit::none;
  case OpCode::read:
  case OpCode::write:
  case OpCode::address:
  case OpCode::frame_of:
  case OpCode::frame_as:
  case OpCode::check_nil:
  case OpCode::new_:
  case OpCode::new_slice:
  case OpCode::dispose:
  case OpCode::slice_length:
  case OpCode::nil:
  case OpCode::is_nil:
  case OpCode::pointer_equal:
  case OpCode::copy_value: memory_operation(frame, op); return Exit::none;
  case OpCode::assert:
  case OpCode::panic:
  case OpCode::check_index:
  case OpCode::check_range:
  case OpCode::check_slice:
  case OpCode::check_targets: check(frame, op); return Exit::none;
  case OpCode::sgd_steps:
  case OpCode::adamw_steps:
  case OpCode::clip_grad_norms:
  case OpCode::scale_tensors:
  case OpCode::add_tensors: in_place(frame, op); return Exit::none;
  case OpCode::yield:
    frame.yielded.clear();
    for (const Value *v : op.operands) frame.yielded.push_back(value(frame, v));
    return Exit::yield;
  case OpCode::break_: return Exit::break_;
  case OpCode::continue_: return Exit::continue_;
  case OpCode::return_:
    if (!op.operands.empty()) frame.answer = value(frame, op.operands[0]);
    return Exit::return_;
  case OpCode::if_: {
    bool taken = value(frame, op.operands[0]).i.at(0);
    Exit exit = region(frame, *op.regions[taken ? 0 : 1]);
    if (exit != Exit::yield) return exit;
    for (size_t i = 0; i < op.results.size(); ++i) frame.values[op.results[i]] = frame.yielded[i];
    return Exit::none;
  }
  case OpCode::switch_: {
    int64_t x = value(frame, op.operands[0]).i.at(0);
    const std::vector<int64_t> &labels = *op.integers(Attr::labels);
    size_t taken = op.regions.size() - 1;
    for (size_t i = labels.size(); i >= 3; i -= 3)
      if (x >= labels[i - 2] && x <= labels[i - 1]) taken = static_cast<size_t>(labels[i - 3]);
    Exit exit = region(frame, *op.regions[taken]);
    return exit == Exit::yield ? Exit::none : exit;
  }
  case OpCode::for_: return for_loop(frame, op);
  case OpCode::while_: return while_loop(frame, op);
  case OpCode::tape: {
    Exit exit = region(frame, *op.regions[0]);
    return exit == Exit::yield ? Exit::none : exit;
  }
  case OpCode::backward: return Exit::none; // level checked: the program without its gradients
  case OpCode::gradient: frame.values[op.result()] = zero_of(op.result()->type); return Exit::none;
  case OpCode::call:
  case OpCode::call_value: {
    std::vector<Datum> arguments;
    for (const Value *v : op.operands) arguments.push_back(value(frame, v));
    std::string_view callee = op.symbol;
    Datum function;
    if (op.code == OpCode::call_value) {
      function = arguments[0];
      arguments.erase(arguments.begin());
      callee = function.text;
      if (function.memory) {
        Datum hidden;
        hidden.memory = function.memory;
        arguments.insert(arguments.begin(), hidden);
      }
    }
    const Func *f = module_.find_func(callee);
    if (!f) fail(op, "no function " + std::string(callee));
    Datum answer = call(*f, arguments);
    if (!op.results.empty()) frame.values[op.result()] = answer;
    return Exit::none;
  }
  case OpCode::closure: {
    Datum d;
    d.text = std::string(op.symbol);
    if (!op.operands.empty()) d.memory = value(frame, op.operands[0]).memory;
    frame.values[op.result()] = d;
    return Exit::none;
  }
  case OpCode::print:
    for (const Value *v : op.operands) {
      const Datum &d = value(frame, v);
      for (double x : d.f) output_ += std::to_string(x) + " ";
      for (int64_t x : d.i) output_ += std::to_string(x) + " ";
      output_ += d.text;
    }
    output_ += '\n';
    return Exit::none;
  default: break;
  }
  std::vector<const Datum *> operands;
  for (const Value *v : op.operands) operands.push_back(&value(frame, v));
  std::vector<Datum> results;
  if (attention_operation(op, operands, results)) {
    for (size_t i = 0; i < results.size(); ++i) frame.values[op.results[i]] = results[i];
    return Exit::none;
  }
  Datum result;
  std::string failure;
  if (whole_operation(op, operands, result, failure)) {
    if (!failure.empty()) fail(op, failure);
  } else {
    result = Datum{};
    if (!cells_operation(op, operands, result))
      fail(op, std::string("the evaluator has no ") + info(op.code).name);
  }
  frame.values[op.result()] = result;
  return Exit::none;
}

} // namespace mica::eval
