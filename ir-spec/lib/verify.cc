// The promises of a level, checked: form of every operation, types, dominance, regions, kernels (SPECTRA.md 3
// to 5).
#include "spectra/ops.h"
#include "spectra/text.h"

#include <algorithm>
#include <ostream>
#include <unordered_set>

namespace spectra {
namespace {

bool is_terminator(OpCode code) {
  return code == OpCode::yield || code == OpCode::break_ || code == OpCode::continue_ ||
         code == OpCode::return_;
}

bool kind_fits(const AttrValue &value, std::string_view kind) {
  if (kind == "flag") return std::holds_alternative<bool>(value);
  if (kind == "int") return std::holds_alternative<int64_t>(value);
  if (kind == "float") return std::holds_alternative<FloatBits>(value);
  if (kind == "string") return std::holds_alternative<std::string>(value);
  if (kind == "type") return std::holds_alternative<const Type *>(value);
  if (kind == "ints") return std::holds_alternative<std::vector<int64_t>>(value);
  if (kind == "texts") // an empty list has no kind of its own
    return std::holds_alternative<std::vector<std::string>>(value) ||
           (std::holds_alternative<std::vector<int64_t>>(value) &&
            std::get<std::vector<int64_t>>(value).empty());
  return true; // any
}

class Verifier {
public:
  Verifier(Module &module, const std::string &text_name, std::ostream &out)
      : module_(module), text_name_(text_name), out_(out) {}

  bool run() {
    defined_.assign(module_.value_count, false);
    for (const Record *record : module_.types.records())
      for (const Record::Field &field : record->fields) check_type(field.type, 0, true);
    check_record_cycles();
    for (const Variable &v : module_.variables) check_type(v.type, 0, true);
    for (const Kernel *kernel : module_.kernels) check_kernel(*kernel);
    for (const Func *func : module_.funcs) check_func(*func);
    if (module_.level == Level::target && (!module_.funcs.empty() || !module_.kernels.empty()))
      report(0, 0, "level target holds sections, no functions and no kernels");
    if (module_.level != Level::target && !module_.sections.empty())
      report(0, 0, "sections belong to level target");
    if (!module_.kernels.empty() && module_.level != Level::fused)
      report(0, 0, "kernels belong to level fused");
    return errors_ == 0;
  }

private:
  static constexpr int kShown = 20;

  void report(uint32_t line, uint32_t column, const std::string &message) {
    if (++errors_ > kShown) return;
    out_ << text_name_;
    if (line) out_ << ':' << line << ':' << std::max<uint32_t>(column, 1);
    out_ << ": error: ";
    if (func_)
      out_ << "in @" << func_->name << ": ";
    else if (kernel_)
      out_ << "in kernel @" << kernel_->name << ": ";
    out_ << message << '\n';
  }
  void wrong(const Op &op, const std::string &message) {
    std::string what = info(op.code).name;
    if (!op.symbol.empty()) what += " @" + std::string(op.symbol);
    // An operation that a pass made has no line in a text; its place in the source says where to look.
    std::string from;
    if (!op.text_line && op.place())
      from = " (from " + std::to_string(op.place().line) + ":" + std::to_string(op.place().column) + ")";
    report(op.text_line, op.text_column, "`" + what + "`" + from + ": " + message);
  }

  // ---- types ----
  void check_type(const Type *type, uint32_t line, bool may_track) {
    switch (type->kind) {
    case TypeKind::scalar:
    case TypeKind::whole:
      if (type->tracked && !may_track) report(line, 1, "a value's type is never tracked: " + to_text(type));
      if (type->tracked && !type->is_float()) report(line, 1, "tracked needs a float type: " + to_text(type));
      if (type->gpu && module_.options.device == "cpu")
        report(line, 1, "device=cpu has no value on the card: " + to_text(type));
      break;
    case TypeKind::pointer:
      if (type->element->kind != TypeKind::record) check_type(type->element, line, true);
      break;
    case TypeKind::slice:
    case TypeKind::array: check_type(type->element, line, true); break;
    case TypeKind::record:
      if (!type->record->defined) report(line, 1, "record " + type->record->name + " is not declared");
      break;
    default: break;
    }
  }
  /// A record that holds itself by value would have no size.
  void check_record_cycles() {
    std::unordered_set<const Record *> done, open;
    auto visit = [&](auto &&self, const Record *record) -> bool {
      if (done.count(record)) return true;
      if (!open.insert(record).second) return false;
      for (const Record::Field &field : record->fields) {
        const Type *t = field.type;
        while (t->kind == TypeKind::array) t = t->element;
        if (t->kind == TypeKind::record && !self(self, t->record)) return false;
      }
      open.erase(record);
      done.insert(record);
      return true;
    };
    for (const Record *record : module_.types.records())
      if (!visit(visit, record)) {
        report(0, 0, "record " + record->name + " holds itself");
        return;
      }
  }

  // ---- functions and kernels ----
  void check_func(const Func &func) {
    func_ = &func;
    std::unordered_set<std::string_view> names;
    for (const Variable &v : func.locals) {
      check_type(v.type, func.text_line, true);
      if (!names.insert(v.name).second)
        report(func.text_line, 1, "local $" + std::string(v.name) + " is there twice");
    }
    for (Value *v : func.body->args) {
      check_type(v->type, func.text_line, false);
      define(v);
    }
    if (func.result) check_type(func.result, func.text_line, false);
    if (!func.external) {
      check_region(*func.body, nullptr);
      if (func.body->ops.empty() || func.body->ops.back()->code != OpCode::return_)
        report(func.text_line, 1, "a function ends with `return`");
    }
    for (Value *v : func.body->args) undefine(v);
    func_ = nullptr;
  }

  void check_kernel(const Kernel &kernel) {
    kernel_ = &kernel;
    uint32_t line = kernel.text_line;
    for (size_t i = 0; i < kernel.body->args.size(); ++i) {
      const Type *item = kernel.body->args[i]->type;
      check_type(item, line, false);
      if (i < kernel.params.size()) {
        check_type(kernel.params[i], line, false);
        if (kernel.form != KernelForm::multi && !item_fits(kernel, kernel.params[i], item, false))
          report(line, 1,
                 "parameter " + std::to_string(i + 1) + ": an item " + to_text(item) + " of " +
                     to_text(kernel.params[i]) + " doesn't fit the space");
      }
      define(kernel.body->args[i]);
    }
    if (kernel.params.size() + (kernel.form == KernelForm::product) != kernel.body->args.size())
      report(line, 1,
             kernel.form == KernelForm::product ? "a product kernel has one `acc` argument"
                                                : "`acc` belongs to product kernels");
    check_region(*kernel.body, nullptr);
    const Op *last = kernel.body->ops.empty() ? nullptr : kernel.body->ops.back();
    if (!last || last->code != OpCode::yield)
      report(line, 1, "a kernel ends with `yield`");
    else if (kernel.form != KernelForm::multi) {
      if (last->operands.size() != kernel.results.size())
        report(line, 1,
               "yields " + std::to_string(last->operands.size()) + " values for " +
                   std::to_string(kernel.results.size()) + " results");
      else if (kernel.form != KernelForm::reduce)
        for (size_t i = 0; i < kernel.results.size(); ++i)
          if (!item_fits(kernel, kernel.results[i], last->operands[i]->type, true))
            report(line, 1,
                   "result " + std::to_string(i + 1) + ": an item " + to_text(last->operands[i]->type) +
                       " of " + to_text(kernel.results[i]) + " doesn't fit the space");
    }
    for (Value *v : kernel.body->args) undefine(v);
    kernel_ = nullptr;
  }
  /// Whether `full` is leading sizes that broadcast to (for a result: equal) the space, followed by the
  /// item's sizes.
  bool item_fits(const Kernel &kernel, const Type *full, const Type *item, bool exact) {
    if (full == item) return true; // shared by all items, or an operand of a product
    if ((!full->is_scalar() && !full->is_whole()) || full->scalar != item->scalar) return false;
    if (full->sizes.size() < item->sizes.size()) return false;
    size_t leading = full->sizes.size() - item->sizes.size();
    if (!std::equal(item->sizes.begin(), item->sizes.end(), full->sizes.begin() + static_cast<long>(leading)))
      return false;
    std::vector<int64_t> lead(full->sizes.begin(), full->sizes.begin() + static_cast<long>(leading));
    if (exact) return lead == kernel.space;
    std::vector<int64_t> together;
    return broadcast_sizes(lead, kernel.space, together) && together == kernel.space;
  }

  // ---- regions ----
  void define(Value *v) {
    if (defined_.size() <= v->number) defined_.resize(v->number + 1, false);
    defined_[v->number] = true;
  }
  void undefine(Value *v) { defined_[v->number] = false; }

  void check_region(const Region &region, const Op *parent) {
    for (size_t i = 0; i < region.ops.size(); ++i) {
      const Op &op = *region.ops[i];
      if (is_terminator(op.code) && i + 1 < region.ops.size())
        wrong(op, "operations follow it in its region");
      check_op(op, parent);
    }
    // A tape runs exactly once where it stands, so its values stay visible; all else goes out of sight.
    if (parent && parent->code == OpCode::tape) return;
    hide(region);
  }
  void hide(const Region &region) {
    for (const Op *op : region.ops) {
      for (Value *v : op->results) undefine(v);
      if (op->code == OpCode::tape)
        for (const Region *inner : op->regions) hide(*inner);
    }
  }

  void check_op(const Op &op, const Op *parent) {
    const OpInfo &row = info(op.code);
    int args = op.arg_count();
    int results = static_cast<int>(op.results.size());
    int regions = static_cast<int>(op.regions.size());
    auto count_fits = [](int n, int low, int high) { return n >= low && (high < 0 || n <= high); };
    for (Value *v : op.operands)
      if (v->number >= defined_.size() || !defined_[v->number]) {
        wrong(op, "%" + std::string(v->name) + " is not visible here");
        return;
      }
    bool form = true;
    auto need = [&](bool condition, const std::string &message) {
      if (condition) return;
      form = false;
      wrong(op, message);
    };
    need(row.levels >> static_cast<int>(module_.level) & 1,
         std::string("is not legal at level ") + level_name(module_.level));
    need(count_fits(args, row.min_args, row.max_args),
         "takes " + range(row.min_args, row.max_args) + " operands, not " + std::to_string(args));
    need(count_fits(results, row.min_results, row.max_results),
         "has " + range(row.min_results, row.max_results) + " results, not " + std::to_string(results));
    need(count_fits(regions, row.min_regions, row.max_regions),
         "has " + range(row.min_regions, row.max_regions) + " regions, not " + std::to_string(regions));
    need(row.has_path == (op.path != nullptr), row.has_path ? "needs a path" : "takes no path");
    check_attributes(op, row, form);
    if (!form) return;
    check_types(op);
    switch (op.code) {
    case OpCode::if_: check_if(op); break;
    case OpCode::switch_: check_switch(op); break;
    case OpCode::for_: check_for(op); break;
    case OpCode::while_: check_while(op); break;
    case OpCode::tape: check_tape(op); break;
    case OpCode::yield:
      if (!parent && !kernel_) wrong(op, "stands outside a region");
      break;
    case OpCode::return_: check_return(op); break;
    case OpCode::break_:
    case OpCode::continue_: check_jump(op); break;
    default: break;
    }
    for (Value *v : op.results) {
      check_type(v->type, op.text_line, false);
      define(v);
    }
    if (module_.level == Level::fused) check_fused(op);
  }

  static std::string range(int low, int high) {
    if (high < 0) return std::to_string(low) + " or more";
    return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
  }

  void check_attributes(const Op &op, const OpInfo &row, bool &form) {
    size_t known = 0;
    for (std::string_view rest = row.attributes; !rest.empty();) { // "low:int high:int what?:string"
      std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      size_t colon = word.find(':');
      bool optional = word[colon - 1] == '?';
      std::optional<Attr> key = find_attr(word.substr(0, colon - (optional ? 1 : 0)));
      const AttrValue *value = op.find(*key);
      if (!value && optional) continue;
      if (!value) {
        form = false;
        wrong(op, "needs the attribute " + std::string(word.substr(0, colon)));
        continue;
      }
      ++known;
      if (!kind_fits(*value, word.substr(colon + 1))) {
        form = false;
        wrong(op, "attribute " + std::string(attr_name(*key)) + " is of kind " +
                      std::string(word.substr(colon + 1)));
      }
    }
    if (known != op.attributes.size()) {
      form = false;
      wrong(op, "has an attribute that it does not know");
    }
  }

  void check_types(const Op &op) {
    std::vector<const Type *> types;
    for (const Value *v : op.results) types.push_back(v->type);
    std::string why;
    if (!operands_fit(module_, func_, op, why)) {
      wrong(op, why);
      return;
    }
    if (!infer_types(module_, func_, op, types, why)) {
      wrong(op, why);
      return;
    }
    bool same = types.size() == op.results.size();
    for (size_t i = 0; same && i < types.size(); ++i) same = types[i] == op.results[i]->type;
    if (same) return;
    std::string expected;
    for (const Type *t : types) expected += (expected.empty() ? "" : ", ") + to_text(t);
    std::string got;
    for (const Value *v : op.results) got += (got.empty() ? "" : ", ") + to_text(v->type);
    wrong(op,
          "gives " + (expected.empty() ? "nothing" : expected) + ", not " + (got.empty() ? "nothing" : got));
  }

  // ---- control ----
  /// The region's last operation must be there; for a yield, its values must have the wanted types.
  void check_end(const Op &op, const Region &region, const std::vector<const Type *> &wanted) {
    if (region.ops.empty() || !is_terminator(region.ops.back()->code)) {
      wrong(op, "a region ends with yield, break, continue or return");
      return;
    }
    const Op &last = *region.ops.back();
    if (last.code != OpCode::yield) return;
    bool same = last.operands.size() == wanted.size();
    for (size_t i = 0; same && i < wanted.size(); ++i) same = last.operands[i]->type == wanted[i];
    if (same) return;
    std::string expected;
    for (const Type *t : wanted) expected += (expected.empty() ? "" : ", ") + to_text(t);
    wrong(last, "must yield (" + expected + ")");
  }
  std::vector<const Type *> result_types(const Op &op) {
    std::vector<const Type *> types;
    for (const Value *v : op.results) types.push_back(v->type);
    return types;
  }
  bool is_condition(const Value *v) { return v->type->is_scalar() && v->type->is_bool(); }

  void check_if(const Op &op) {
    if (!is_condition(op.arg(0))) wrong(op, "needs a bool, not " + to_text(op.arg(0)->type));
    for (const Region *region : op.regions) {
      if (!region->args.empty()) wrong(op, "its regions take no arguments");
      check_region(*region, &op);
      check_end(op, *region, result_types(op));
    }
  }
  void check_switch(const Op &op) {
    const std::vector<int64_t> *labels = op.integers(Attr::labels);
    if (!op.arg(0)->type->is_scalar()) wrong(op, "needs an ordinal, not " + to_text(op.arg(0)->type));
    if (labels->size() % 3) wrong(op, "labels are (region, low, high) triples");
    for (size_t i = 0; i + 2 < labels->size(); i += 3)
      if ((*labels)[i] < 0 || (*labels)[i] >= static_cast<int64_t>(op.regions.size()))
        wrong(op, "a label names no region");
    for (const Region *region : op.regions) {
      check_region(*region, &op);
      check_end(op, *region, {});
    }
  }
  void check_for(const Op &op) {
    const Type *counter = op.arg(0)->type;
    if (!counter->is_scalar() || counter->is_float() || counter != op.arg(1)->type)
      wrong(op,
            "counts from and to one ordinal type: " + to_text(counter) + " and " + to_text(op.arg(1)->type));
    if (op.integer(Attr::by) < 1) wrong(op, "`by` is a positive constant");
    const Region &body = *op.regions[0];
    std::vector<const Type *> carried;
    for (int i = 2; i < op.arg_count(); ++i) carried.push_back(op.arg(i)->type);
    bool fits = body.args.size() == carried.size() + 1 && body.args[0]->type == counter &&
                result_types(op) == carried;
    for (size_t i = 0; fits && i < carried.size(); ++i) fits = body.args[i + 1]->type == carried[i];
    if (!fits)
      wrong(op, "its region takes the counter and what is carried, and its results are what is carried");
    enter_loop(op, body, carried);
  }
  void check_while(const Op &op) {
    std::vector<const Type *> first, second = result_types(op);
    for (int i = 0; i < op.arg_count(); ++i) first.push_back(op.arg(i)->type);
    auto takes = [](const Region &region, const std::vector<const Type *> &types) {
      bool fits = region.args.size() == types.size();
      for (size_t i = 0; fits && i < types.size(); ++i) fits = region.args[i]->type == types[i];
      return fits;
    };
    if (!takes(*op.regions[0], first) || !takes(*op.regions[1], second))
      wrong(op, "its regions take what is carried");
    std::vector<const Type *> condition = second;
    condition.insert(condition.begin(), module_.types.scalar(Scalar::boolean));
    enter_loop(op, *op.regions[0], condition);
    enter_loop(op, *op.regions[1], first);
  }
  void enter_loop(const Op &op, const Region &body, const std::vector<const Type *> &yields) {
    for (Value *v : body.args) {
      check_type(v->type, op.text_line, false);
      define(v);
    }
    loops_.push_back(&op);
    check_region(body, &op);
    loops_.pop_back();
    check_end(op, body, yields);
    for (Value *v : body.args) undefine(v);
  }
  void check_tape(const Op &op) {
    if (in_tape_) wrong(op, "windows don't nest");
    in_tape_ = true;
    check_region(*op.regions[0], &op);
    in_tape_ = false;
    check_end(op, *op.regions[0], {});
  }
  void check_return(const Op &op) {
    const Type *want = func_ ? func_->result : nullptr;
    if (!func_)
      wrong(op, "stands outside a function");
    else if (op.arg_count() != (want ? 1 : 0))
      wrong(op, want ? "needs the answer" : "takes no answer in a procedure");
    else if (want && op.arg(0)->type != want)
      wrong(op, "the answer is " + to_text(want) + ", not " + to_text(op.arg(0)->type));
    for (const Op *loop : loops_)
      if (!loop->results.empty()) wrong(op, "leaves a loop that carries values");
  }
  void check_jump(const Op &op) {
    if (loops_.empty())
      wrong(op, "stands outside a loop");
    else if (!loops_.back()->results.empty())
      wrong(op, "leaves a turn of a loop that carries values");
  }

  // ---- level fused ----
  void check_fused(const Op &op) {
    if (kernel_) {
      Role role = info(op.code).role;
      if (role != Role::map && role != Role::rows && role != Role::reduce && role != Role::layout &&
          op.code != OpCode::yield)
        wrong(op, "does not belong into a kernel");
      return;
    }
    for (const Value *v : op.results)
      if (v->type->is_device_or_whole())
        wrong(op, "at level fused whole values and the card's are memory: " + to_text(v->type));
    Role role = info(op.code).role;
    if (role == Role::rows || role == Role::reduce || role == Role::product || role == Role::maker ||
        role == Role::composite || role == Role::layout)
      wrong(op, "stands outside a kernel");
    if (role == Role::barrier && op.code != OpCode::check_targets) wrong(op, "is gone after mica-fuse");
    if (op.code == OpCode::check_targets) wrong(op, "is a `run` after mica-fuse");
  }

  Module &module_;
  const std::string &text_name_;
  std::ostream &out_;
  const Func *func_ = nullptr;
  const Kernel *kernel_ = nullptr;
  std::vector<const Op *> loops_;
  std::vector<bool> defined_;
  bool in_tape_ = false;
  int errors_ = 0;
};

} // namespace

bool verify_module(Module &module, const std::string &text_name, std::ostream &diag_out) {
  return Verifier(module, text_name, diag_out).run();
}

} // namespace spectra
