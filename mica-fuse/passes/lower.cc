#include "lower.h"
#include "inplace.h"
#include "plan.h"

#include "spectra/build.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace mica::fuse {
namespace {

using spectra::Attr;
using spectra::Builder;
using spectra::TypeKind;

class Lowering : public InplaceHost {
public:
  Lowering(spectra::Module &module, spectra::Func &func, const Signatures &signatures, Outliner &outliner,
           const WriteSummary &writes, const Options &options, spectra::Diag &diag)
      : module_(module), func_(func), signatures_(signatures), outliner_(outliner), options_(options),
        diag_(diag), plan_(make_plan(module, func, writes, options)), entry_(module, module.new_region()),
        build_(module, func.body) {}

  int64_t run() {
    for (const auto &[value, pointer] : signatures_.homes) homes_[value] = pointer;
    choose_direct(*func_.body);
    lower_region(*func_.body);

    int64_t bytes = host_.pack_buffers() + card_.pack_buffers();
    spectra::Region *entry = entry_.region();
    func_.body->ops.insert(func_.body->ops.begin(), entry->ops.begin(), entry->ops.end());
    drop_unused_locals();
    return bytes;
  }

  // ---- what lowering in-place verbs asks for (inplace.h) ----
  Builder &build() override { return build_; }
  Outliner &outliner() override { return outliner_; }
  spectra::Module &module() override { return module_; }
  Value *pointer_to(Value *v) override { return home(v); }
  void lies_at(Value *v, Value *pointer) override { homes_[v] = pointer; }
  Value *scratch(const Type *type, std::string_view name) override {
    return new_buffer(type, time_, time_, name);
  }
  void launch(const spectra::Kernel *kernel, const std::vector<Value *> &operands) override {
    Op *op = build_.append(OpCode::launch);
    op->symbol = kernel->name;
    op->operands.assign(operands.begin(), operands.end());
    if (kernel->gpu && !module_.options.optimizes()) build_.append(OpCode::wait);
  }
  Op *run_routine(const char *name, const std::vector<Value *> &operands) override {
    Op *op = build_.append(OpCode::run);
    op->operands.assign(operands.begin(), operands.end());
    op->set(Attr::name, std::string(name));
    return op;
  }
  Value *read_scalar(Value *pointer, Value *result) override {
    Op *op = build_.append(OpCode::read);
    op->path = module_.new_path();
    op->path->base = spectra::Path::Base::pointer;
    op->path->operands = 1;
    op->operands.push_back(pointer);
    if (!result) return build_.add_result(op, module_.types.untracked(pointer->type->element));
    result->def = op;
    op->results.push_back(result);
    return result;
  }

private:
  /// The buffers of one function in one memory, the processor's or the card's.
  struct Arena {
    struct Buffer {
      Op *op;
      int from, to;
      int64_t bytes;
    };
    Op *op = nullptr; ///< made with the first buffer
    std::vector<Buffer> buffers;

    /// Gives the buffers their offsets and the arena its size.
    int64_t pack_buffers() {
      if (!op) return 0;
      std::vector<Interval> intervals;
      for (const Buffer &b : buffers) intervals.push_back({b.from, b.to, b.bytes, 0});
      int64_t bytes = pack(intervals);
      for (size_t i = 0; i < buffers.size(); ++i) buffers[i].op->set(Attr::offset, intervals[i].offset);
      op->set(Attr::bytes, std::max<int64_t>(bytes, 64));
      return bytes;
    }
  };

  Value *new_buffer(const Type *type, int from, int to, std::string_view name) {
    bool gpu = type->gpu;
    Arena &arena = gpu ? card_ : host_;
    if (!arena.op) {
      arena.op = entry_.append(OpCode::arena);
      if (gpu) arena.op->set(Attr::gpu, true);
      entry_.add_result(arena.op, module_.types.frame(), gpu ? "card" : "arena");
    }
    Op *op = entry_.append(OpCode::buffer);
    op->operands.push_back(arena.op->result());
    op->set(Attr::offset, int64_t{0});
    Value *pointer = entry_.add_result(op, module_.types.pointer(type), name);
    // The card's copies and vector accesses like 256 bytes, a cache line is enough here.
    const int64_t unit = gpu ? 256 : 64;
    int64_t bytes = std::max((bytes_of(type) + unit - 1) / unit * unit, unit);
    arena.buffers.push_back({op, from, to, bytes});
    return pointer;
  }
  /// The bytes of the value itself, wherever it lies.
  int64_t bytes_of(const Type *type) {
    if (!type->is_device_or_whole()) return spectra::size_of(type);
    return type->cells() * spectra::scalar_bytes(type->scalar);
  }

  /// Where a whole value lies. A value without a place yet gets a buffer for its whole life.
  Value *home(const Value *v) {
    if (!in_memory(v)) return const_cast<Value *>(v);
    auto it = homes_.find(v);
    if (it != homes_.end()) return it->second;
    const Value *root = plan_.root(v);
    if (is_constant(v)) return homes_[v] = place_constant(v);
    if (root == v) {
      int to = std::max(plan_.last_use[v], plan_.born[v]);
      // What is computed over several times of one node lives through it.
      return homes_[v] = new_buffer(v->type, std::min(plan_.born[v], time_), std::max(to, time_), v->name);
    }
    Value *base = home(plan_.alias.at(v));
    if (base->type->element == v->type || module_.types.untracked(base->type->element) == v->type)
      return homes_[v] = base;
    Op *view = build_.append(OpCode::view);
    view->operands.push_back(base);
    // Views are made where they are first needed; another branch makes its own.
    return build_.add_result(view, module_.types.pointer(v->type), v->name);
  }

  // ---- computing straight into a variable ----
  /// `write @x, %v` needs no copy where %v can be computed in @x itself: nothing may look at the old @x from
  /// the moment %v is made, and nothing may change @x while %v is still used.
  void choose_direct(Region &region) {
    std::map<const Value *, const Node *> made;
    for (const Node &node : plan_.regions[&region]) {
      for (const Op *op : node.ops)
        for (const Value *v : op->results) made[v] = &node;
      for (const Op *op : node.ops)
        for (Region *inner : op->regions) choose_direct(*inner);
    }
    if (!module_.options.optimizes()) return;
    for (const Node &node : plan_.regions[&region]) {
      const Op &op = *node.ops[0];
      if (op.code != OpCode::write || !in_memory(op.arg(0))) continue;
      const Value *v = op.arg(0);
      if (plan_.root(v) != v || direct_.count(v) || !v->def || !made.count(v)) continue;
      bool constant = op.path->operands == 0;
      OpCode code = v->def->code;
      bool computed = is_cell_work(*v->def) || is_row_work(*v->def) || code == OpCode::product ||
                      code == OpCode::gather || code == OpCode::scatter_rows || code == OpCode::normal ||
                      code == OpCode::uniform || code == OpCode::column_sum || code == OpCode::column_mean ||
                      code == OpCode::sum_to || code == OpCode::to_gpu || code == OpCode::to_host ||
                      code == OpCode::attention || code == OpCode::attention_gradient;
      if (!constant || !computed) continue;
      const Node &maker = *made[v];
      std::string location = location_of(module_, op);
      if (direct_is_safe(location, v, maker, node.begin)) direct_[v] = &op;
    }
  }

  bool direct_is_safe(const std::string &location, const Value *v, const Node &maker, int write_time) {
    for (const Plan::Event &e : plan_.events)
      if (e.time != write_time && e.time > maker.begin && e.time <= std::max(write_time, plan_.last_use[v]) &&
          overlap(e.location, location))
        return false;
    for (const std::vector<int> *times : {&plan_.calls, &plan_.leaves}) // may see the variable too early
      for (int time : *times)
        if (time >= maker.begin && time <= write_time) return false;
    for (const Reading &r : readings()) {
      if (!overlap(r.location, location)) continue;
      if (r.time >= maker.begin && r.time < write_time) return false; // reads the old value later
      bool lives = r.time < maker.begin && r.last_use >= maker.begin;
      bool same_cell = r.last_use == maker.begin && maker.kind == Node::Kind::map && r.whole &&
                       r.whole->type->sizes == maker.space && r.location == location;
      if (lives && !same_cell) return false;
    }
    return true;
  }

  struct Reading {
    std::string location;
    int time, last_use;
    const Value *whole; ///< null for a cell, a call's look, ...
  };
  const std::vector<Reading> &readings() {
    if (readings_made_) return readings_;
    readings_made_ = true;
    for (const auto &[region, nodes] : plan_.regions)
      for (const Node &node : nodes)
        for (const Op *op : node.ops) {
          if (op->code == OpCode::read || op->code == OpCode::address) {
            bool whole = op->code == OpCode::read && in_memory(op->result());
            int last = whole                      ? plan_.last_use[op->result()]
                       : op->code == OpCode::read ? node.begin
                                                  : node.end;
            if (op->code == OpCode::address) { // its users look at the place when they run
              last = last_use_of_pointer(op->result());
              readings_.push_back({location_of(module_, *op), last, last, nullptr});
            } else {
              readings_.push_back(
                  {location_of(module_, *op), node.begin, last, whole ? op->result() : nullptr});
            }
          }
        }
    return readings_;
  }
  int last_use_of_pointer(const Value *pointer) {
    int last = 0;
    for (const auto &[region, nodes] : plan_.regions)
      for (const Node &node : nodes)
        for (const Op *op : node.ops)
          if (std::find(op->operands.begin(), op->operands.end(), pointer) != op->operands.end())
            last = std::max(last, node.begin);
    return last;
  }

  // ---- regions and nodes ----
  void lower_region(Region &region) {
    Region *outer = build_.region();
    std::vector<Node> nodes = plan_.regions[&region];
    region.ops.clear();
    build_.set_region(&region);
    for (const Node &node : nodes) {
      time_ = node.begin;
      node_end_ = node.end;
      if (node.kind == Node::Kind::single)
        lower_single(*node.ops[0]);
      else
        lower_group(node);
    }
    build_.set_region(outer);
  }

  void lower_group(const Node &node) {
    if (outside_.empty()) index_uses();
    bool asked = std::any_of(node.ops.begin(), node.ops.end(),
                             [&](const Op *op) { return needed_outside(node, op->result()); });
    if (!asked) return;
    Outlined group = outliner_.outline(node, [&](const Value *v) { return needed_outside(node, v); });
    std::vector<Value *> operands;
    build_.set_places(node.ops.back()->places);
    for (Value *v : group.inputs) operands.push_back(home(v));
    for (Value *v : group.outputs) operands.push_back(target(v));
    launch(group.kernel, operands);
    if (node.ops.size() > 1 && options_.remarks) {
      std::string list;
      for (const Op *op : node.ops)
        list += (list.empty() ? "" : ", ") + std::string(spectra::info(op->code).name);
      std::string space;
      std::vector<int64_t> full = node.space;
      if (node.kind == Node::Kind::rows) full.push_back(node.length);
      for (int64_t s : full) space += (space.empty() ? "" : ", ") + std::to_string(s);
      options_.remarks->add({Remark::Kind::passed, "Fused", node.ops.back()->place(), std::string(func_.name),
                             "fused " + std::to_string(node.ops.size()) + " operations into one " +
                                 (node.kind == Node::Kind::rows ? "pass by rows" : "pass") + " over [" +
                                 space + "]: " + list});
    }
  }

  /// Uses by node, so that asking is quick.
  void index_uses() {
    for (const auto &[region, nodes] : plan_.regions)
      for (const Node &node : nodes)
        for (const Op *op : node.ops)
          for (const Value *v : op->operands)
            if (node.kind == Node::Kind::single || !is_uniform(v)) outside_[v].insert(node.begin);
    if (outside_.empty()) outside_[nullptr];
  }
  bool needed_outside(const Node &node, const Value *v) {
    auto it = outside_.find(v);
    if (it == outside_.end()) return false;
    return it->second.size() > 1 || !it->second.count(node.begin);
  }

  /// Where a value is computed: its variable, or its buffer.
  Value *target(Value *v) {
    auto it = direct_.find(v);
    if (it == direct_.end()) return home(v);
    const Op &write = *it->second;
    Op *address = build_.append(OpCode::address);
    address->path = write.path;
    const Type *type = spectra::path_type(module_, &func_, write);
    return homes_[v] = build_.add_result(address, module_.types.pointer(type), write.path->symbol);
  }

  void keep(Op &op) { build_.region()->ops.push_back(&op); }

  void lower_single(Op &op) {
    build_.set_places(op.places);
    if (lower_inplace(*this, op)) return;
    bool whole_result = op.results.size() == 1 && in_memory(op.result());
    switch (op.code) {
    case OpCode::read:
      if (!whole_result) break;
      return lower_read(op);
    case OpCode::write:
      if (!in_memory(op.arg(0))) break;
      return lower_write(op);
    case OpCode::if_: return lower_if(op);
    case OpCode::for_: return lower_for(op);
    case OpCode::while_: return lower_while(op);
    case OpCode::switch_:
      for (Region *region : op.regions) lower_region(*region);
      time_ = node_end_;
      return keep(op);
    case OpCode::call: return lower_call(op);
    case OpCode::return_: return lower_return(op);
    case OpCode::yield:
      return keep(op); // its whole operands were taken care of by the operation that holds the region
    case OpCode::product: {
      if (needed(op)) launch(outliner_.product(op), {home(op.arg(0)), home(op.arg(1)), target(op.result())});
      return;
    }
    case OpCode::detach:
    case OpCode::reshape:
      if (whole_result) return;
      return lower_reshape_of_scalar(op);
    case OpCode::check_targets: {
      Op *run = run_routine("check_targets", {home(op.arg(0))});
      run->set(Attr::classes, op.integer(Attr::classes));
      return;
    }
    case OpCode::to_host:
    case OpCode::to_gpu:
      if (whole_result && plan_.root(op.result()) != op.result()) return;
      if (op.operands[0]->type == op.result()->type) return replace_scalar(op, op.arg(0));
      return lower_across(op);
    case OpCode::const_:
      if (!whole_result) break;
      return; // kernels take it in; home() puts it into memory for others
    case OpCode::cell: return lower_cell(op);
    case OpCode::gather:
    case OpCode::scatter_rows:
    case OpCode::transpose:
    case OpCode::permute:
    case OpCode::concat:
    case OpCode::slice:
    case OpCode::slice_rows:
    case OpCode::row:
    case OpCode::put:
    case OpCode::normal:
    case OpCode::uniform: return lower_run(op);
    case OpCode::attention:
    case OpCode::attention_gradient: return lower_attention(op);
    case OpCode::norm: {
      Value *place = scalar_place(op, "norm");
      run_routine("norm", {home(op.arg(0)), place});
      if (!whole_result) read_scalar(place, op.result());
      return;
    }
    case OpCode::sum:
    case OpCode::mean:
    case OpCode::max:
    case OpCode::min:
    case OpCode::arg_max:
    case OpCode::row_arg_max:
    case OpCode::row_pick: return lower_reduction(op);
    case OpCode::count_from_zero: {
      Value *place = scalar_place(op, "count");
      launch(outliner_.count_from_zero(op), {home(op.arg(0)), place});
      if (!whole_result) read_scalar(place, op.result());
      return;
    }
    case OpCode::column_sum:
    case OpCode::column_mean:
    case OpCode::sum_to: return lower_reduction(op);
    default: break;
    }
    // Scalars and the library: the operation stays, with pointers for whole operands.
    for (size_t i = 0; i < op.operands.size(); ++i) op.operands[i] = home(op.operands[i]);
    if (whole_result) {
      diag_.error(op.place(), std::string("`") + spectra::info(op.code).name +
                                  "` can't be compiled for whole values yet");
      return;
    }
    keep(op);
  }

  bool needed(const Op &op) { return needed(op.result()); }
  bool needed(const Value *v) {
    if (outside_.empty()) index_uses();
    return outside_.count(v) > 0;
  }

  void replace_scalar(Op &op, Value *with) {
    // A copy of a scalar on the processor is the scalar: kept as a conversion to its own type, which costs
    // nothing.
    Op *same = build_.append(OpCode::cast);
    same->operands.push_back(with);
    op.result()->def = same;
    same->results.push_back(op.result());
  }

  void lower_reshape_of_scalar(Op &op) {
    if (!in_memory(op.arg(0))) return replace_scalar(op, op.arg(0));
    Op *view = build_.append(OpCode::view);
    view->operands.push_back(home(op.arg(0)));
    read_scalar(build_.add_result(view, module_.types.pointer(op.result()->type), "cell"), op.result());
  }

  void lower_read(Op &op) {
    Value *v = op.result();
    if (!needed(op)) return;
    std::string location = location_of(module_, op);
    Op *address = build_.append(OpCode::address);
    address->path = op.path;
    for (int i = 0; i < op.path->operands; ++i)
      address->operands.push_back(op.operands[static_cast<size_t>(i)]);
    const Type *type = spectra::path_type(module_, &func_, *address);
    Value *pointer = build_.add_result(address, module_.types.pointer(type), v->name);
    bool changes = plan_.changes(location, plan_.born[v], plan_.last_use[v]);
    // A write that takes the value itself as its last use reads before it stores.
    if (changes && only_direct_changes(location, v)) changes = false;
    if (!changes) {
      homes_[v] = pointer;
      return;
    }
    Value *copy_to = new_buffer(v->type, plan_.born[v], plan_.last_use[v], v->name);
    homes_[v] = copy_to;
    copy(copy_to, pointer);
    if (options_.remarks && op.place())
      options_.remarks->add({Remark::Kind::missed, "Copied", op.place(), std::string(func_.name),
                             "the value of `" + std::string(op.path->symbol) +
                                 "` is copied: it is used after the variable may have changed"});
  }

  /// Whether the only change while `v` lives is a value computed in place by v's own last user, cell over
  /// cell.
  bool only_direct_changes(const std::string &location, const Value *v) {
    for (const Plan::Event &e : plan_.events) {
      if (e.time <= plan_.born[v] || e.time > plan_.last_use[v] || !overlap(e.location, location)) continue;
      return false;
    }
    return true;
  }

  void copy(Value *to, Value *from) {
    if (to == from) return;
    Op *op = build_.append(OpCode::copy);
    op->operands.push_back(to);
    op->operands.push_back(from);
  }

  void lower_write(Op &op) {
    Value *v = op.arg(0);
    auto it = direct_.find(v);
    if (it != direct_.end() && it->second == &op) return; // it is there already
    Op *address = build_.append(OpCode::address);
    address->path = op.path;
    for (int i = 0; i < op.path->operands; ++i)
      address->operands.push_back(op.operands[static_cast<size_t>(i)]);
    const Type *type = spectra::path_type(module_, &func_, *address);
    copy(build_.add_result(address, module_.types.pointer(type),
                           op.path->base == spectra::Path::Base::pointer ? "place" : op.path->symbol),
         home(v));
  }

  // ---- control: whole results and carried values live in buffers of their own ----
  /// Splits `values` into whole ones and the others; those stay.
  static bool is_whole(const Value *v) { return in_memory(v); }

  /// Before the region's yield: copies its whole values to `targets`, and leaves only the scalars there.
  /// `end` is when the operation that holds the region is over.
  void finish_yield(Region &region, const std::vector<Value *> &targets, size_t skip, int end) {
    Op *yield = region.ops.empty() ? nullptr : region.ops.back();
    if (!yield || yield->code != OpCode::yield) return;
    const int yield_time = std::exchange(time_, end);
    region.ops.pop_back();
    Region *outer = build_.region();
    build_.set_region(&region);
    spectra::List<Value *> scalars(module_.memory.get());
    std::vector<std::pair<Value *, Value *>> moves;
    for (size_t i = 0; i < yield->operands.size(); ++i) {
      Value *v = yield->operands[i];
      if (i < skip || !is_whole(v))
        scalars.push_back(v);
      else
        moves.emplace_back(targets[i - skip], home(v));
    }
    // Carried values may change places with one another: then all are read before any is written.
    bool swaps = false;
    for (auto &[to, from] : moves)
      for (auto &[other, source] : moves) swaps |= memory_of(from) == other && to != other && source != other;
    if (swaps)
      for (auto &[to, from] : moves) {
        // It must not lie where another source still is: those live up to the yield.
        Value *temporary =
            new_buffer(module_.types.untracked(from->type->element), yield_time, time_, "swap");
        copy(temporary, from);
        from = temporary;
      }
    for (auto &[to, from] : moves) copy(to, from);
    yield->operands.assign(scalars.begin(), scalars.end());
    region.ops.push_back(yield);
    build_.set_region(outer);
  }

  /// The pointer itself, not a view of it.
  static Value *memory_of(Value *pointer) {
    while (pointer->def && pointer->def->code == OpCode::view) pointer = pointer->def->operands[0];
    return pointer;
  }

  void drop_whole_results(Op &op) {
    std::erase_if(op.results, [](const Value *v) { return is_whole(v); });
  }

  void lower_if(Op &op) {
    if (in_memory(op.arg(0))) {
      diag_.error(op.place(), "an `if` over a value on the card is not compiled for the card yet",
                  "use Select, or bring the condition to the processor: ToHost");
      return;
    }
    int from = time_;
    int to = node_end_;
    std::vector<Value *> targets;
    for (Value *v : op.results) {
      targets.push_back(is_whole(v)
                            ? homes_[v] = new_buffer(v->type, from, std::max(to, plan_.last_use[v]), v->name)
                            : nullptr);
    }
    for (Region *region : op.regions) {
      lower_region(*region);
      finish_yield(*region, targets, 0, to);
      time_ = to;
    }
    drop_whole_results(op);
    keep(op);
  }

  void lower_for(Op &op) {
    int from = time_;
    int to = node_end_;
    Region &body = *op.regions[0];
    std::vector<Value *> targets;
    for (size_t r = 0; r < op.results.size(); ++r) {
      Value *v = op.results[r];
      targets.push_back(nullptr);
      if (!is_whole(v)) continue;
      targets.back() = new_buffer(v->type, from, std::max(to, plan_.last_use[v]), v->name);
      homes_[v] = homes_[body.args[r + 1]] = targets.back();
      copy(targets.back(), home(op.arg(static_cast<int>(r) + 2)));
    }
    lower_region(body);
    finish_yield(body, targets, 0, to);
    time_ = to;
    std::erase_if(op.operands, [](const Value *v) { return is_whole(v); });
    std::erase_if(body.args, [](const Value *v) { return is_whole(v); });
    drop_whole_results(op);
    keep(op);
  }

  void lower_while(Op &op) {
    int from = time_;
    int to = node_end_;
    std::vector<Value *> first, second;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      first.push_back(nullptr);
      if (!is_whole(op.operands[i])) continue;
      first.back() = new_buffer(op.operands[i]->type, from, to, op.operands[i]->name);
      homes_[op.regions[0]->args[i]] = first.back();
      copy(first.back(), home(op.operands[i]));
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      Value *v = op.results[r];
      second.push_back(nullptr);
      if (!is_whole(v)) continue;
      second.back() = new_buffer(v->type, from, std::max(to, plan_.last_use[v]), v->name);
      homes_[v] = homes_[op.regions[1]->args[r]] = second.back();
    }
    lower_region(*op.regions[0]);
    finish_yield(*op.regions[0], second, 1, to);
    lower_region(*op.regions[1]);
    finish_yield(*op.regions[1], first, 0, to);
    time_ = to;
    std::erase_if(op.operands, [](const Value *v) { return is_whole(v); });
    for (Region *region : op.regions) std::erase_if(region->args, [](const Value *v) { return is_whole(v); });
    drop_whole_results(op);
    keep(op);
  }

  void lower_call(Op &op) {
    const spectra::Func *callee = op.code == OpCode::call ? module_.find_func(op.symbol) : nullptr;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      Value *v = op.operands[i];
      Value *there = home(v);
      // Seen as what the callee takes: a variable may be tracked, a buffer never is, a parameter may be.
      const Type *wanted = callee ? callee->body->args[i]->type : module_.types.pointer(v->type);
      if (is_whole(v) && there->type != wanted) {
        Op *view = build_.append(OpCode::view);
        view->operands.push_back(there);
        there = build_.add_result(view, wanted, v->name);
      }
      op.operands[i] = there;
    }
    if (op.results.size() == 1 && is_whole(op.result())) {
      op.operands.push_back(home(op.result()));
      op.results.clear();
    }
    keep(op);
  }

  void lower_return(Op &op) {
    if (op.arg_count() == 1 && is_whole(op.arg(0))) {
      copy(signatures_.result_home.at(func_.name), home(op.arg(0)));
      op.operands.clear();
    }
    keep(op);
  }

  void lower_cell(Op &op) {
    bool on_card = in_memory(op.result());
    Op *read = build_.append(on_card ? OpCode::address : OpCode::read);
    read->path = module_.new_path();
    read->path->base = spectra::Path::Base::pointer;
    read->operands.push_back(home(op.arg(0)));
    for (int i = 1; i < op.arg_count(); ++i) {
      read->path->steps.push_back(
          {spectra::Path::Step::Kind::dynamic, static_cast<int64_t>(read->operands.size())});
      read->operands.push_back(op.arg(i));
    }
    read->path->operands = static_cast<int>(read->operands.size());
    if (on_card)
      return copy(target(op.result()),
                  build_.add_result(read, module_.types.pointer(op.result()->type), "cell"));
    op.result()->def = read;
    read->results.push_back(op.result());
  }

  void lower_run(Op &op) {
    if (!needed(op) && op.code != OpCode::gather) return;
    std::vector<Value *> operands;
    for (Value *v : op.operands) operands.push_back(home(v));
    operands.push_back(target(op.result()));
    Op *run = run_routine(spectra::info(op.code).name, operands);
    for (Attr key : {Attr::rows, Attr::count, Attr::order})
      if (const spectra::AttrValue *value = op.find(key)) run->set(key, *value);
  }

  /// Operands, then pointers to the results; the rows' numbers are left out where no way back reads them.
  void lower_attention(Op &op) {
    bool forward = op.code == OpCode::attention;
    bool any = false;
    for (const Value *v : op.results) any |= needed(v);
    if (!any) return;
    std::vector<Value *> operands;
    for (Value *v : op.operands) operands.push_back(home(v));
    for (Value *v : op.results)
      if (!forward || v == op.results[0] || needed(v)) operands.push_back(target(v));
    Op *run = run_routine(spectra::info(op.code).name, operands);
    for (Attr key : {Attr::heads, Attr::causal})
      if (const spectra::AttrValue *value = op.find(key)) run->set(key, *value);
  }

  // ---- reductions ----
  void lower_reduction(Op &op) {
    const Type *from = op.arg(0)->type;
    const Type *to = op.result()->type;
    std::vector<int64_t> all(from->sizes.size());
    std::iota(all.begin(), all.end(), 0);
    const char *kind = op.code == OpCode::max                                         ? "max"
                       : op.code == OpCode::min                                       ? "min"
                       : op.code == OpCode::arg_max || op.code == OpCode::row_arg_max ? "arg_max"
                       : op.code == OpCode::mean || op.code == OpCode::column_mean    ? "mean"
                                                                                      : "sum";
    if (!to->is_whole() && op.code == OpCode::row_pick) { // of a vector: one cell
      diag_.error(op.place(), "RowPick of a vector is not compiled yet", "index the vector: x[i]");
      return;
    }
    if (!to->is_whole()) {
      Value *place = scalar_place(op, "sum");
      launch(outliner_.reduce(op, from, to, kind, all), {home(op.arg(0)), place});
      if (!in_memory(op.result())) read_scalar(place, op.result());
      return;
    }
    if (!needed(op)) return;
    // The dimensions to sum: those that broadcasting added, and those that it stretched.
    std::vector<int64_t> over;
    size_t missing = from->sizes.size() - to->sizes.size();
    for (size_t d = 0; d < from->sizes.size(); ++d)
      if (d < missing || (to->sizes[d - missing] == 1 && from->sizes[d] != 1))
        over.push_back(static_cast<int64_t>(d));
    if (op.code != OpCode::sum_to) { // columns
      over.resize(from->sizes.size() - 1);
      std::iota(over.begin(), over.end(), 0);
    }
    Value *source = home(op.arg(0));
    if (over.empty()) return copy(target(op.result()), source);
    bool leading = true;
    bool trailing = true;
    for (size_t i = 0; i < over.size(); ++i) {
      leading &= over[i] == static_cast<int64_t>(i);
      trailing &= over[i] == static_cast<int64_t>(from->sizes.size() - over.size() + i);
    }
    if (!leading && !trailing) { // the reduced dimensions go to the front, in order
      std::vector<int64_t> order = over;
      for (int64_t d : all)
        if (std::find(over.begin(), over.end(), d) == over.end()) order.push_back(d);
      std::vector<int64_t> sizes;
      for (int64_t d : order) sizes.push_back(from->sizes[static_cast<size_t>(d)]);
      const Type *moved = module_.types.with_sizes(from, sizes);
      Value *place = scratch(moved, "moved");
      run_routine("permute", {source, place})->set(Attr::order, order);
      for (size_t i = 0; i < over.size(); ++i) over[i] = static_cast<int64_t>(i);
      source = place;
      from = moved;
    }
    launch(outliner_.reduce(op, from, to, kind, over), {source, target(op.result())});
  }

  // ---- the card ----
  /// Where a routine leaves one scalar: on the card the result's own place, else a place it is read from.
  Value *scalar_place(Op &op, std::string_view name) {
    return in_memory(op.result()) ? target(op.result()) : scratch(op.result()->type, name);
  }

  /// A value goes to the other memory; a scalar goes by a place of its own on the processor.
  void lower_across(Op &op) {
    Value *from = op.arg(0);
    Value *to = op.result();
    if (in_memory(from) && in_memory(to)) return copy(target(to), home(from));
    if (in_memory(from)) {
      Value *place = scratch(to->type, "cell");
      copy(place, home(from));
      read_scalar(place, to);
      return;
    }
    Value *cell = target(to);
    launch(outliner_.scalar(op, {from->type}, to->type,
                            [](Builder &, const std::vector<Value *> &v) { return v[0]; }),
           {from, cell});
  }

  /// A constant of the card that something other than a kernel's body needs.
  Value *place_constant(const Value *v) {
    spectra::Region *here = build_.region();
    Value *place = new_buffer(v->type, 0, plan_.end, v->name);
    build_.set_region(entry_.region());
    launch(outliner_.scalar(*v->def, {}, v->type,
                            [this, v](Builder &b, const std::vector<Value *> &) {
                              std::vector<Value *> map;
                              Op *constant = spectra::clone(module_, *v->def, map);
                              constant->places.clear();
                              constant->result()->type = module_.types.scalar(v->type->scalar);
                              b.region()->ops.push_back(constant);
                              return constant->result();
                            }),
           {place});
    build_.set_region(here);
    return place;
  }

  void drop_unused_locals() {
    std::set<std::string_view> used;
    std::vector<const Region *> open{func_.body};
    while (!open.empty()) {
      const Region *region = open.back();
      open.pop_back();
      for (const Op *op : region->ops) {
        if (op->path && op->path->base == spectra::Path::Base::local) used.insert(op->path->symbol);
        for (const Region *inner : op->regions) open.push_back(inner);
      }
    }
    std::erase_if(func_.locals, [&](const spectra::Variable &v) {
      return v.type->is_device_or_whole() && !used.count(v.name);
    });
  }

  spectra::Module &module_;
  spectra::Func &func_;
  const Signatures &signatures_;
  Outliner &outliner_;
  const Options &options_;
  spectra::Diag &diag_;
  Plan plan_;
  Builder entry_, build_;
  Arena host_, card_;
  std::map<const Value *, Value *> homes_;
  std::map<const Value *, const Op *> direct_;
  std::vector<Reading> readings_;
  bool readings_made_ = false;
  std::unordered_map<const Value *, std::set<int>> outside_;
  int time_ = 0, node_end_ = 0;
};

} // namespace

Signatures lower_signatures(spectra::Module &module) {
  Signatures signatures;
  for (spectra::Func *func : module.funcs) {
    for (Value *&argument : func->body->args) {
      if (!in_memory(argument)) continue;
      Value *pointer = module.new_value(module.types.pointer(argument->type), argument->name);
      pointer->region = func->body;
      signatures.homes[argument] = pointer;
      argument = pointer;
    }
    if (!func->result || !func->result->is_device_or_whole()) continue;
    Value *answer = module.new_value(module.types.pointer(func->result), "answer");
    answer->region = func->body;
    func->body->args.push_back(answer);
    signatures.whole_result[func->name] = func->result;
    signatures.result_home[func->name] = answer;
    func->result = nullptr;
  }
  return signatures;
}

int64_t lower_function(spectra::Module &module, spectra::Func &func, const Signatures &signatures,
                       Outliner &outliner, const WriteSummary &writes, const Options &options,
                       spectra::Diag &diag) {
  return Lowering(module, func, signatures, outliner, writes, options, diag).run();
}

} // namespace mica::fuse
