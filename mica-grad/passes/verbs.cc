// Composite verbs become their lines (ir-spec/verbs/README.md says how the texts' sample types are made
// real).
//
//   %l = cross_entropy %z, %t : f32        becomes        %u = check_targets %t {classes=10} : i32[8] ... %l
//   = div %d, %m
#include "passes/verbs.h"
#include "spectra/build.h"
#include "spectra/text.h"

#include <map>
#include <sstream>
#include <stdexcept>

namespace mica::grad {
namespace {
using namespace spectra;
using Sizes = std::vector<int64_t>;

struct Text {
  const char *name;
  const char *text;
};
constexpr Text kTexts[] = {
#include "spectra/verbs.inc"
};

// The sample sizes that stand for the verb's own.
constexpr int64_t kLeading = 7;
constexpr int64_t kLast = 11;
constexpr int64_t kClasses = 5;

bool is_half(const Type *type) { return type->scalar == Scalar::f16 || type->scalar == Scalar::bf16; }

class Verbs {
public:
  explicit Verbs(Module &module) : module_(module) {}

  void run() {
    for (Func *func : module_.funcs) region(*func->body);
  }

private:
  void region(Region &region_) {
    List<Op *> old(std::move(region_.ops));
    region_.ops = List<Op *>(module_.memory.get());
    for (Op *op : old) {
      for (Value *&v : op->operands) replace(v);
      for (Region *inner : op->regions) region(*inner);
      if (info(op->code).role == Role::composite)
        expand(*op, region_);
      else
        region_.ops.push_back(op);
    }
  }
  void replace(Value *&v) {
    auto it = replaced_.find(v);
    if (it != replaced_.end()) v = it->second;
  }

  const Func &lines_of(OpCode code) {
    std::unique_ptr<Module> &text = texts_[code];
    if (!text) {
      for (const Text &t : kTexts)
        if (std::string_view(t.name) == info(code).name) {
          text = std::make_unique<Module>();
          std::ostringstream messages;
          if (read_module(t.text, t.name, *text, messages) != ReadResult::ok ||
              !verify_module(*text, t.name, messages))
            throw std::logic_error("ir-spec/verbs: " + messages.str());
        }
      if (!text) throw std::logic_error(std::string("ir-spec/verbs has no lines of ") + info(code).name);
    }
    return *text->funcs.at(0);
  }

  /// What a sample stands for in the verb at hand.
  struct Sample {
    Scalar floats = Scalar::f32;
    Scalar integers = Scalar::i32;
    Sizes leading;
    int64_t last = 0, classes = 0;
    Sizes sizes(const Sizes &sample) const {
      Sizes out;
      for (int64_t s : sample)
        if (s == kLeading)
          out.insert(out.end(), leading.begin(), leading.end());
        else
          out.push_back(number(s));
      return out;
    }
    int64_t number(int64_t s) const { return s == kLast ? last : s == kClasses ? classes : s; }
  };

  const Type *real_type(const Type *sample, const Sample &s, bool gpu) {
    Scalar cell = sample->scalar == Scalar::f32   ? s.floats
                  : sample->scalar == Scalar::i32 ? s.integers
                                                  : sample->scalar;
    Sizes sizes = s.sizes(sample->sizes);
    return sizes.empty() ? module_.types.scalar(cell, gpu) : module_.types.whole(cell, sizes, gpu);
  }

  void expand(Op &verb, Region &into) {
    const Func &lines = lines_of(verb.code);
    Builder b(module_, &into);
    b.set_places(verb.places);
    const Type *first = verb.arg(0)->type;
    Sample s;
    s.floats = is_half(first) && !module_.options.fp_half_intermediates ? Scalar::f32 : first->scalar;
    s.leading.assign(first->sizes.begin(), first->sizes.end() - 1);
    s.last = first->columns();
    s.classes = verb.integer(Attr::classes, s.last);
    bool single_row = s.leading.empty();
    if (single_row) s.leading = {1};

    std::map<const Value *, Value *> map;
    for (size_t i = 0; i < lines.body->args.size(); ++i) {
      Value *operand = verb.operands[i];
      const Value *parameter = lines.body->args[i];
      const Type *type = operand->type;
      if (parameter->type->is_integer()) s.integers = type->scalar;
      if (parameter->type->is_float() && type->scalar != s.floats)
        operand = b.make_typed(OpCode::cast, {operand}, module_.types.with_scalar(type, s.floats));
      // One row without leading sizes is computed as a matrix of one row.
      if (single_row && parameter->type->sizes.size() > 0 && parameter->type->sizes[0] == kLeading) {
        Sizes sizes = type->sizes;
        sizes.insert(sizes.begin(), 1);
        operand = b.make_typed(OpCode::reshape, {operand}, module_.types.with_sizes(operand->type, sizes));
      }
      map[parameter] = operand;
    }
    for (const Op *line : lines.body->ops) {
      if (line->code == OpCode::return_) {
        Value *answer = map.at(line->operands[0]);
        const Type *want = verb.result()->type;
        if (answer->type->scalar != want->scalar)
          answer =
              b.make_typed(OpCode::cast, {answer}, module_.types.with_scalar(answer->type, want->scalar));
        if (answer->type != want) answer = b.make_typed(OpCode::reshape, {answer}, want);
        answer->name = verb.result()->name;
        replaced_[verb.result()] = answer;
        return;
      }
      copy_line(*line, s, map, b);
    }
  }

  void copy_line(const Op &line, const Sample &s, std::map<const Value *, Value *> &map, Builder &b) {
    // A slice of every column is the value itself.
    if (line.code == OpCode::slice &&
        s.number(line.integer(Attr::count)) == map.at(line.operands[0])->type->columns()) {
      map[line.result()] = map.at(line.operands[0]);
      return;
    }
    Op *copy = b.append(line.code);
    bool gpu = false;
    for (Value *v : line.operands) {
      copy->operands.push_back(map.at(v));
      gpu |= map.at(v)->type->gpu;
    }
    for (const Attribute &a : line.attributes) {
      AttrValue value = a.value;
      if (const int64_t *i = std::get_if<int64_t>(&value))
        value = line.code == OpCode::const_ ? *i : s.number(*i);
      copy->set(a.key, std::move(value));
    }
    std::vector<const Type *> types;
    for (const Value *v : line.results) types.push_back(real_type(v->type, s, gpu));
    std::string why;
    if (!infer_types(module_, nullptr, *copy, types, why))
      throw std::logic_error(std::string("ir-spec/verbs: ") + info(line.code).name + ": " + why);
    for (size_t i = 0; i < line.results.size(); ++i)
      map[line.results[i]] = b.add_result(copy, types[i], module_.keep(line.results[i]->name));
  }

  Module &module_;
  std::map<OpCode, std::unique_ptr<Module>> texts_;
  std::map<Value *, Value *> replaced_;
};

} // namespace

void inline_verbs(Module &module) { Verbs(module).run(); }

} // namespace mica::grad
