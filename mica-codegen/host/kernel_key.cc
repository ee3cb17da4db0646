// What two kernels must have in common to be one function: everything but names and, where no place is ever
// reported, places. A model of many layers has the same kernels over and over; each is compiled once.
#include "kernel.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

class Key {
public:
  explicit Key(const Unit &unit) : places_(!unit.spectra.options.optimizes()) {}

  std::string of(const spectra::Kernel &kernel) {
    number(static_cast<int64_t>(kernel.form));
    sizes(kernel.space);
    attributes(kernel.attributes);
    types(kernel.params);
    types(kernel.results);
    if (places_) places(kernel.places); // a debugger shows them
    region(*kernel.body);
    return std::move(text_);
  }

private:
  void number(int64_t n) { text_.append(reinterpret_cast<const char *>(&n), sizeof n); }
  void pointer(const void *p) { number(static_cast<int64_t>(reinterpret_cast<intptr_t>(p))); }
  void string(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    text_.append(s);
  }
  void sizes(const std::vector<int64_t> &list) {
    number(static_cast<int64_t>(list.size()));
    for (int64_t n : list) number(n);
  }
  void types(const spectra::List<const Type *> &list) { // a type is one object
    number(static_cast<int64_t>(list.size()));
    for (const Type *t : list) pointer(t);
  }
  void places(const spectra::List<Place> &list) {
    number(static_cast<int64_t>(list.size()));
    for (Place p : list) {
      number(p.file);
      number(p.line);
      number(p.column);
    }
  }
  void attributes(const spectra::List<spectra::Attribute> &list) {
    number(static_cast<int64_t>(list.size()));
    for (const spectra::Attribute &a : list) {
      number(static_cast<int64_t>(a.key));
      number(static_cast<int64_t>(a.value.index()));
      std::visit(
          [&](const auto &v) {
            using V = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<V, spectra::FloatBits>)
              number(static_cast<int64_t>(v.bits));
            else if constexpr (std::is_same_v<V, std::string>)
              string(v);
            else if constexpr (std::is_same_v<V, const Type *>)
              pointer(v);
            else if constexpr (std::is_same_v<V, std::vector<int64_t>>)
              sizes(v);
            else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
              number(static_cast<int64_t>(v.size()));
              for (const std::string &s : v) string(s);
            } else
              number(static_cast<int64_t>(v));
          },
          a.value);
    }
  }
  void value(const Value *v) {
    number(numbers_.emplace(v, static_cast<int64_t>(numbers_.size())).first->second);
  }
  void region(const spectra::Region &region) {
    number(static_cast<int64_t>(region.args.size()));
    for (const Value *v : region.args) {
      value(v);
      pointer(v->type);
    }
    for (const Op *op : region.ops) {
      number(static_cast<int64_t>(op->code));
      string(op->symbol);
      number(static_cast<int64_t>(op->operands.size()));
      for (const Value *v : op->operands) value(v);
      number(static_cast<int64_t>(op->results.size()));
      for (const Value *v : op->results) {
        value(v);
        pointer(v->type);
      }
      attributes(op->attributes);
      // A failure names its operation's place.
      if (places_ || op->code == OpCode::div || op->code == OpCode::mod) places(op->places);
      number(static_cast<int64_t>(op->regions.size()));
      for (const spectra::Region *inner : op->regions) this->region(*inner);
    }
  }

  bool places_;
  std::string text_;
  std::map<const Value *, int64_t> numbers_;
};

} // namespace

std::string kernel_key(const Unit &unit, const spectra::Kernel &kernel) { return Key(unit).of(kernel); }

} // namespace mica::codegen
