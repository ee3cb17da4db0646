// write, writeln and Format: each conversion of the format against its argument, while compiling (language.md
// 9).
#include "checker.h"

namespace mica::check {

using spectra::OpCode;
using spectra::Scalar;
using spectra::Value;

namespace {

/// One `%...` of a format.
struct Conversion {
  size_t begin = 0, end = 0; ///< bytes of the format
  std::string length;        ///< hh, h, l, ll, z, j, t, L
  char letter = 0;
  int stars = 0; ///< widths and precisions that are arguments
};

/// Reads the conversion behind `%` at `at`; false where it is cut off.
bool read_conversion(const std::string &format, size_t at, Conversion &c) {
  size_t i = at + 1;
  auto star_or_digits = [&] {
    if (i < format.size() && format[i] == '*') {
      ++c.stars;
      ++i;
    } else {
      while (i < format.size() && format[i] >= '0' && format[i] <= '9') ++i;
    }
  };
  while (i < format.size() && std::string_view("-+ #0").find(format[i]) != std::string_view::npos) ++i;
  star_or_digits();
  if (i < format.size() && format[i] == '.') {
    ++i;
    star_or_digits();
  }
  while (i < format.size() && std::string_view("hlLjzt").find(format[i]) != std::string_view::npos)
    c.length += format[i++];
  if (i >= format.size()) return false;
  c.letter = format[i];
  c.begin = at;
  c.end = i + 1;
  return true;
}

/// The width in bits that the length modifier states; 0 where it is none of C's.
int length_bits(const std::string &length) {
  if (length.empty()) return 32;
  if (length == "hh") return 8;
  if (length == "h") return 16;
  if (length == "l" || length == "ll" || length == "j" || length == "z" || length == "t") return 64;
  return 0;
}

Scalar integer_of(int bits, bool is_signed) {
  switch (bits) {
  case 8: return is_signed ? Scalar::i8 : Scalar::u8;
  case 16: return is_signed ? Scalar::i16 : Scalar::u16;
  case 64: return is_signed ? Scalar::i64 : Scalar::u64;
  default: return is_signed ? Scalar::i32 : Scalar::u32;
  }
}

/// The conversion that prints a type, for hints.
std::string fitting(const Type *type) {
  const Type *t = Types::base(type);
  if (t->is(Kind::string)) return "%s";
  if (!t->is_scalar()) return "%v";
  if (t->is_bool()) return "%d or %v";
  if (t->is_unicode()) return "%lc";
  if (t->is_float()) return "%f";
  if (bits_of(t->scalar) == 128) return is_signed(t->scalar) ? "%d" : "%u"; // C has no length for it
  const char *length = bits_of(t->scalar) == 8    ? "hh"
                       : bits_of(t->scalar) == 16 ? "h"
                       : bits_of(t->scalar) == 64 ? "l"
                                                  : "";
  return std::string("%") + length + (is_signed(t->scalar) ? "d" : "u");
}

} // namespace

/// One argument as its conversion wants it; null after an error. `text` is the conversion as written, which
/// may change.
Value *Checker::format_argument(Operand o, char letter, const std::string &length, std::string &text) {
  if (o.is_poison()) return nullptr;
  if (o.kind == Operand::Kind::procedure || o.kind == Operand::Kind::nothing ||
      o.kind == Operand::Kind::builtin || o.kind == Operand::Kind::type)
    return load(convert(std::move(o), types.i32(), "`" + text + "`"));
  if (o.type->has_cells() && o.type->gpu) {
    error(o.at, types.name(o.type) + " can't be printed where it lives",
          "ToHost(...) brings it down and waits");
    return nullptr;
  }
  const Type *t = Types::base(o.type);
  // A whole value's cells are printed one by one by the conversion; they neither adapt nor widen.
  if (t->is_whole() && letter != 'v') return format_whole(std::move(o), letter, length, text);
  auto refuse = [&](const std::string &wants) -> Value * {
    error(o.at, "`" + text + "` prints " + wants + ", not " + types.name(o.type),
          "`" + fitting(o.type) + "` prints " + types.name(o.type));
    return nullptr;
  };
  switch (letter) {
  case 'd':
  case 'i':
  case 'u':
  case 'o':
  case 'x':
  case 'X': {
    const bool wants_sign = letter == 'd' || letter == 'i';
    const int bits = length_bits(length);
    const Scalar exact = integer_of(bits, wants_sign);
    std::string wants = source_name(exact);
    if (!bits) {
      error(o.at, "`" + text + "` has no integer length: hh, h, l and ll are");
      return nullptr;
    }
    if (t->is(Kind::enumeration) && bits >= 32) return load(o);
    if (!t->is_host_scalar()) return refuse(wants);
    if (t->is_bool()) return load(o);
    if (!t->is_integer()) return refuse(wants);
    const bool wide = bits_of(t->scalar) == 128;
    if (wide && length.empty() && (letter != 'u' || !is_signed(t->scalar)) &&
        (!wants_sign || is_signed(t->scalar)))
      return load(settle(std::move(o)));
    if (o.is_constant() && o.constant.adapts) {
      Constant fitted;
      if (!fit_constant(o.constant, types.scalar(exact), fitted)) return refuse(wants);
      return load(constant_operand(std::move(fitted), o.at));
    }
    // The same width prints in hexadecimal and octal whatever the sign; a narrower type widens.
    const bool bitwise = !wants_sign && letter != 'u';
    if (t->scalar == exact || (bitwise && bits_of(t->scalar) == bits)) return load(o);
    if (!widens(t->scalar, exact)) return refuse(wants);
    return load(convert(settle(std::move(o)), types.scalar(exact), "`" + text + "`"));
  }
  case 'f':
  case 'F':
  case 'e':
  case 'E':
  case 'g':
  case 'G':
  case 'a':
  case 'A': {
    if (!length.empty() && length != "l") {
      error(o.at, "`" + text + "` has no float length: only l is");
      return nullptr;
    }
    if (o.is_constant() && o.constant.adapts && t->is_integer())
      return load(convert(std::move(o), types.f64(), "`" + text + "`"));
    if (!t->is_host_scalar() || !t->is_float()) return refuse("a float");
    return load(settle(std::move(o)));
  }
  case 'c':
    if (length == "l") return t->is_host_scalar() && t->is_unicode() ? load(o) : refuse("a unicode");
    if (!length.empty()) return refuse("a byte (uint8)");
    if (o.is_constant() && o.constant.adapts && t->is_integer())
      return load(convert(std::move(o), types.scalar(Scalar::u8), "`" + text + "`"));
    return t->is_host_scalar() && t->scalar == Scalar::u8 ? load(o) : refuse("a byte (uint8)");
  case 's':
    if (!length.empty() && length != "l") return refuse("a string");
    return t->is(Kind::string) ? load(o) : refuse("a string");
  case 'p': return t->is(Kind::pointer) && length.empty() ? load(o) : refuse("a pointer");
  case 'v': {
    if (!length.empty()) {
      error(o.at, "`" + text + "`: `%v` takes no length");
      return nullptr;
    }
    if (t->is(Kind::enumeration)) {
      text.back() = 's';
      return enumeration_text(std::move(o), t);
    }
    if (t->is_scalar() || t->is_whole() || t->is(Kind::string) || t->is(Kind::pointer))
      return load(settle(std::move(o)));
    error(o.at, "`%v` can't print " + types.name(o.type),
          t->is(Kind::record)  ? "print its fields"
          : t->is(Kind::array) ? "print its elements"
                               : "");
    return nullptr;
  }
  default:
    error(o.at, "`" + text + "` is no conversion", "%d %u %x %f %e %g %s %c %lc %p and %v are some");
    return nullptr;
  }
}

Value *Checker::format_whole(Operand o, char letter, const std::string &length, const std::string &text) {
  const Type *t = o.type;
  bool fits = false;
  if (std::string_view("fFeEgGaA").find(letter) != std::string_view::npos) {
    fits = t->is_float() && (length.empty() || length == "l");
  } else if (std::string_view("diuoxX").find(letter) != std::string_view::npos) {
    const bool sign_fits =
        letter == 'd' || letter == 'i' ? is_signed(t->scalar) : letter != 'u' || !is_signed(t->scalar);
    fits = t->is_bool() || (t->is_integer() && bits_of(t->scalar) == length_bits(length) && sign_fits);
  }
  if (fits) return load(o);
  error(o.at, "`" + text + "` can't print the cells of " + types.name(t),
        "`" + fitting(types.scalar(t->scalar)) + "` prints each, `%v` all");
  return nullptr;
}

/// An enumeration's name at run time: a function of the text's own, made at the first use.
Value *Checker::enumeration_text(Operand o, const Type *type) {
  if (o.is_constant()) {
    Constant text;
    text.type = types.string();
    text.text = text_of(o.constant);
    return emit_constant(text);
  }
  spectra::Func *&namer = enumeration_namers[type->enumeration];
  if (!namer) {
    namer = module.new_func(module.keep("names." + std::to_string(enumeration_namers.size())));
    namer->result = types.lower(types.string());
    Value *ordinal = module.new_value(types.lower(type), "ordinal");
    ordinal->region = namer->body;
    namer->body->args.push_back(ordinal);
    spectra::Builder names(module, namer->body);
    auto answer = [&](spectra::Region *region, std::string text) {
      names.set_region(region);
      spectra::Op *constant = names.append(OpCode::const_);
      constant->set(spectra::Attr::value, std::move(text));
      Value *value = names.add_result(constant, types.lower(types.string()));
      names.append(OpCode::return_)->operands.push_back(value);
    };
    spectra::Op *choice = names.append(OpCode::switch_);
    choice->operands.push_back(ordinal);
    std::vector<int64_t> labels;
    for (size_t i = 0; i < type->enumeration->names.size(); ++i) {
      spectra::Region *arm = module.new_region(choice);
      answer(arm, std::string(type->enumeration->names[i]));
      for (size_t number : {i, i, i}) labels.push_back(static_cast<int64_t>(number));
    }
    spectra::Region *other = module.new_region(choice);
    answer(other, "?");
    choice->set(spectra::Attr::labels, std::move(labels));
    answer(namer->body, "?");
  }
  Value *ordinal = load(o);
  spectra::Op *op = build.append(OpCode::call);
  op->symbol = namer->name;
  op->operands.push_back(ordinal);
  return build.add_result(op, types.lower(types.string()));
}

Operand Checker::check_print(Verb verb, const Node &call) {
  const std::string name = verb_name(verb);
  const spectra::Place at = call.place;
  const Node *node = call.first->next;
  std::string format, result;
  std::vector<Value *> operands;
  bool right = true;
  if (!node && verb != Verb::Writeln) return error(at, "`" + name + "` needs a format");
  if (node) {
    Operand first = check(*node);
    if (first.is_poison()) return check_rest(node->next);
    if (!first.is_constant() || !first.type->is(Kind::string)) {
      std::string hint = "write " + name + "(\"%s\", ...)";
      if (first.type && !first.type->is(Kind::string))
        hint = "write " + name + "(\"" + fitting(first.type) + "\", ...)";
      error(node->place, "the first argument of `" + name + "` is a format, a constant string", hint);
      return check_rest(node->next);
    }
    format = first.constant.text;
    node = node->next;
  }
  const spectra::Place format_place = call.first->next ? call.first->next->place : at;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      result += format[i];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      result += "%%";
      ++i;
      continue;
    }
    Conversion c;
    if (!read_conversion(format, i, c)) {
      error(format_place, "the format ends inside a conversion: `" + format.substr(i) + "`",
            "`%%` prints a percent sign");
      return check_rest(node);
    }
    std::string text = format.substr(c.begin, c.end - c.begin);
    if ((static_cast<unsigned char>(c.letter) & 0x80) != 0) {
      error(format_place, "the format has a `%` that begins no conversion", "`%%` prints a percent sign");
      return check_rest(node);
    }
    if (std::string_view("diuoxXfFeEgGaAcspv").find(c.letter) == std::string_view::npos) {
      error(format_place, "`" + text + "` is no conversion",
            "%d %u %x %f %e %g %s %c %lc %p and %v are some; `%%` prints a percent sign");
      return check_rest(node);
    }
    for (int star = 0; star < c.stars && node; ++star, node = node->next) {
      Value *width = load(check_as(*node, types.i32(), "the `*` of `" + text + "`"));
      right = right && width;
      operands.push_back(width);
    }
    if (!node) {
      error(at, "`" + text + "` has no argument: the format wants more than there are");
      return Operand{};
    }
    Operand operand = check(*node);
    if (operand.is_poison())
      right = false;
    else {
      operand.at = node->is(spectra::NodeKind::call) ? node->first->place : node->place;
      Value *value = format_argument(std::move(operand), c.letter, c.length, text);
      right = right && value;
      operands.push_back(value);
    }
    node = node->next;
    result += text;
    i = c.end - 1;
  }
  if (node) {
    error(node->place, "the format has no conversion for this argument");
    return check_rest(node);
  }
  if (!right) return Operand{};
  build.set_place(at);
  spectra::Op *op = build.append(verb == Verb::Format ? OpCode::format : OpCode::print);
  op->operands.assign(operands.begin(), operands.end());
  op->set(spectra::Attr::format, result);
  if (verb == Verb::Format)
    return value_operand(build.add_result(op, types.lower(types.string())), types.string(), at);
  if (verb == Verb::Writeln) op->set(spectra::Attr::newline, true);
  return nothing(at);
}

Operand Checker::check_rest(const Node *node) {
  for (; node; node = node->next) check(*node);
  return Operand{};
}

} // namespace mica::check
