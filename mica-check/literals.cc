// Literals as written: 0xFF, 1_000_000, 1.5e-3, 'a', "text".
#include "checker.h"

#include <charconv>
#include <cmath>

namespace mica::check {

using spectra::NodeKind;

Operand Checker::integer_literal(const Node &node) {
  int base = 10;
  size_t begin = 0;
  if (node.text.size() > 2 && node.text[0] == '0') {
    char c = node.text[1];
    base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : c == 'o' || c == 'O' ? 8 : 10;
    begin = base == 10 ? 0 : 2;
  }
  Constant constant;
  constant.adapts = true;
  unsigned __int128 value = 0;
  for (size_t i = begin; i < node.text.size(); ++i) {
    char c = node.text[i];
    if (c == '_') continue;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    if (digit >= base) return error(node.place, "`" + std::string(node.text) + "` is no integer");
    unsigned __int128 next;
    if (__builtin_mul_overflow(value, static_cast<unsigned __int128>(base), &next) ||
        __builtin_add_overflow(next, static_cast<unsigned __int128>(digit), &value))
      return error(node.place, "the integer is too large");
  }
  constant.integer = static_cast<__int128>(value);
  if (constant.integer < 0) { // beyond int128: its bits, and a type of its own
    constant.type = types.scalar(spectra::Scalar::u128);
    constant.adapts = false;
    return constant_operand(std::move(constant), node.place);
  }
  constant.type = type_of_integer(types, constant.integer);
  return constant_operand(std::move(constant), node.place);
}

Operand Checker::real_literal(const Node &node) {
  std::string digits;
  for (char c : node.text)
    if (c != '_') digits += c;
  Constant constant;
  constant.adapts = true;
  constant.type = types.f64();
  std::from_chars_result read = std::from_chars(digits.data(), digits.data() + digits.size(), constant.real);
  if (read.ec == std::errc::result_out_of_range) {
    // Too small is zero, which is its nearest value; too large has no nearest value.
    constant.real = std::strtod(digits.c_str(), nullptr);
    if (!std::isfinite(constant.real))
      return error(node.place, std::string(node.text) + " is too large for float64");
  } else if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
    return error(node.place, "`" + std::string(node.text) + "` is no number");
  }
  return constant_operand(std::move(constant), node.place);
}

Operand Checker::unicode_literal(const Node &node) {
  Constant constant;
  constant.type = types.unicode();
  uint32_t code = 0;
  std::from_chars_result read = std::from_chars(node.text.data(), node.text.data() + node.text.size(), code);
  if (read.ec != std::errc() || read.ptr != node.text.data() + node.text.size() || code > 0x10FFFF)
    return error(node.place, "`" + std::string(node.text) + "` is no code point");
  constant.integer = code;
  return constant_operand(std::move(constant), node.place);
}

Constant Checker::check_constant(const Node &node, const Type *expected) {
  Scratch scratch(*this);
  ++constants_only;
  Operand operand = check(node, expected);
  --constants_only;
  if (operand.is_poison()) return {};
  if (operand.is_constant() && !operand.type->is(Kind::nil)) return operand.constant;
  std::string hint;
  if (operand.kind == Operand::Kind::value) hint = "it is computed when the program runs";
  error(node.place, "a constant is wanted here", hint);
  return {};
}

const Type *Checker::type_of_expression(const Node &node) {
  Scratch scratch(*this);
  int outside = constants_only;
  constants_only = 0;
  Operand operand = check(node);
  constants_only = outside;
  if (operand.is_poison()) return types.poison();
  if (operand.kind == Operand::Kind::nothing || operand.kind == Operand::Kind::builtin) {
    not_a_value(operand);
    return types.poison();
  }
  if (operand.kind == Operand::Kind::procedure) return operand.symbol->proc->type;
  return operand.type ? operand.type : types.poison();
}

Checker::Scratch::Scratch(Checker &c)
    : checker(c), region(c.build.region()), func(c.func), place(c.build.place()), ended(c.ended),
      scratch(c.module.memory.get()) {
  c.build.set_region(c.module.new_region());
  c.func = &scratch;
  c.ended = false;
}

Checker::Scratch::~Scratch() {
  checker.build.set_region(region);
  checker.build.set_place(place);
  checker.func = func;
  checker.ended = ended;
}

} // namespace mica::check
