// Types in words, as a program writes them, and the arithmetic of scalar types.
#include "constant.h"
#include "types.h"
#include <algorithm>

namespace mica::check {

using spectra::Scalar;

int bits_of(Scalar s) {
  switch (s) {
  case Scalar::i8:
  case Scalar::u8:
  case Scalar::boolean: return 8;
  case Scalar::i16:
  case Scalar::u16:
  case Scalar::f16:
  case Scalar::bf16: return 16;
  case Scalar::i32:
  case Scalar::u32:
  case Scalar::f32:
  case Scalar::unicode: return 32;
  case Scalar::i64:
  case Scalar::u64:
  case Scalar::f64: return 64;
  case Scalar::i128:
  case Scalar::u128: return 128;
  }
  return 32;
}

bool is_signed(Scalar s) { return s <= Scalar::i128; }
bool is_integer(Scalar s) { return s <= Scalar::u128; }
bool is_float(Scalar s) { return s >= Scalar::f16 && s <= Scalar::f64; }

__int128 min_of(Scalar s) {
  if (!is_integer(s) || !is_signed(s)) return 0;
  return -(static_cast<__int128>(1) << (bits_of(s) - 2)) * 2;
}

__int128 max_of(Scalar s) {
  if (s == Scalar::boolean) return 1;
  if (s == Scalar::unicode) return 0x10FFFF;
  if (s == Scalar::u128)
    return static_cast<__int128>(~static_cast<unsigned __int128>(0) >> 1); // as far as we can say
  int bits = bits_of(s) - (is_signed(s) ? 1 : 0);
  return static_cast<__int128>((static_cast<unsigned __int128>(1) << bits) - 1);
}

const char *source_name(Scalar s) {
  switch (s) {
  case Scalar::i8: return "int8";
  case Scalar::i16: return "int16";
  case Scalar::i32: return "int32";
  case Scalar::i64: return "int64";
  case Scalar::i128: return "int128";
  case Scalar::u8: return "uint8";
  case Scalar::u16: return "uint16";
  case Scalar::u32: return "uint32";
  case Scalar::u64: return "uint64";
  case Scalar::u128: return "uint128";
  case Scalar::f16: return "float16";
  case Scalar::bf16: return "bfloat16";
  case Scalar::f32: return "float32";
  case Scalar::f64: return "float64";
  case Scalar::boolean: return "bool";
  case Scalar::unicode: return "unicode";
  }
  return "int32";
}

namespace {
/// How many bits of an integer a float holds exactly.
int significand_bits(Scalar s) {
  switch (s) {
  case Scalar::f16: return 11;
  case Scalar::bf16: return 8;
  case Scalar::f32: return 24;
  default: return 53;
  }
}
} // namespace

bool widens(Scalar from, Scalar to) {
  if (from == to) return true;
  if (is_integer(from) && is_integer(to)) {
    if (is_signed(from)) return is_signed(to) && bits_of(to) > bits_of(from);
    return bits_of(to) > bits_of(from);
  }
  if (is_float(from) && is_float(to)) {
    if (from == Scalar::f64) return false;
    if (from == Scalar::f32) return to == Scalar::f64;
    return to == Scalar::f32 || to == Scalar::f64; // the halves don't hold each other's values
  }
  if (is_integer(from) && is_float(to))
    return bits_of(from) - (is_signed(from) ? 1 : 0) <= significand_bits(to);
  return false;
}

bool common_scalar(Scalar a, Scalar b, Scalar &common) {
  if (widens(a, b)) {
    common = b;
    return true;
  }
  if (widens(b, a)) {
    common = a;
    return true;
  }
  // The narrowest type that both widen to: int16 for int8 beside uint8, float64 for int32 beside float32.
  static const Scalar kOrder[] = {Scalar::i16, Scalar::u16, Scalar::i32, Scalar::u32,
                                  Scalar::i64, Scalar::u64, Scalar::f32, Scalar::f64};
  for (Scalar s : kOrder)
    if (widens(a, s) && widens(b, s)) {
      common = s;
      return true;
    }
  return false;
}

std::string Types::name(const Type *t) const {
  switch (t->kind) {
  case Kind::poison: return "(wrong)";
  case Kind::none: return "no value";
  case Kind::nil: return "nil";
  case Kind::string: return "string";
  case Kind::random: return "random";
  case Kind::enumeration: return t->enumeration->name;
  case Kind::record: return t->record->name;
  case Kind::slice: return "pointer array of " + name(t->element);
  case Kind::pointer: return "pointer " + name(t->element);
  case Kind::subrange: {
    if (t->element->is(Kind::enumeration)) {
      const std::vector<std::string_view> &names = t->element->enumeration->names;
      return std::string(names[static_cast<size_t>(t->low)]) + ".." +
             std::string(names[static_cast<size_t>(t->high)]);
    }
    if (t->element->is_unicode()) {
      std::string text = "'";
      append_utf8(text, static_cast<uint32_t>(t->low));
      text += "'..'";
      append_utf8(text, static_cast<uint32_t>(t->high));
      return text + "'";
    }
    return std::to_string(t->low) + ".." + std::to_string(t->high);
  }
  case Kind::array: {
    std::string text = "array[";
    const Type *inner = t;
    for (; inner->is(Kind::array); inner = inner->element) {
      if (inner != t) text += ", ";
      text += inner->index->is(Kind::subrange) || inner->index->is(Kind::enumeration)
                  ? name(inner->index)
                  : std::to_string(inner->low) + ".." + std::to_string(inner->high);
    }
    return text + "] of " + name(inner);
  }
  case Kind::procedure: {
    std::string text = t->element ? "function(" : "procedure(";
    bool first = true;
    for (const Parameter &p : t->parameters) {
      if (!first) text += ", ";
      first = false;
      if (p.by_reference) text += "var ";
      text += name(p.type);
    }
    return text + ")" + (t->element ? " : " + name(t->element) : "");
  }
  case Kind::scalar:
  case Kind::whole:
  case Kind::open: {
    std::string text = t->tracked ? "tracked " : "";
    if (!t->is_scalar()) {
      text += t->rank == 1 ? "vector" : t->rank == 2 ? "matrix" : "tensor";
      if (t->is_whole()) {
        text += '[';
        for (size_t i = 0; i < t->sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(t->sizes[i]);
        text += ']';
      }
      text += " of ";
    }
    text += source_name(t->scalar);
    return text + (t->gpu ? " on gpu" : "");
  }
  }
  return "(wrong)";
}

} // namespace mica::check
