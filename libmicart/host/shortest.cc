// The shortest decimal digits that read back the same, for every binary float type, by exact integers: Steele
// and White's and Dragon4's free-format generation (R. G. Burger and R. K. Dybvig, "Printing Floating-Point
// Numbers Quickly and Accurately", PLDI 1996). Among the shortest the nearest to the value is chosen.
#include "runtime.h"

#include <string.h>

namespace mica::rt {
namespace {
// A natural number of up to 1184 bits, low word first: enough for 2^1076 * 10 and 10^325.
struct Natural {
  u32 words[40];
  int count = 0; // no leading zero words

  void set(u64 value) {
    count = 0;
    for (; value; value >>= 32) words[count++] = static_cast<u32>(value);
  }
  void multiply(u32 factor) {
    u64 carry = 0;
    for (int i = 0; i < count; i++) {
      carry += static_cast<u64>(words[i]) * factor;
      words[i] = static_cast<u32>(carry);
      carry >>= 32;
    }
    if (carry) words[count++] = static_cast<u32>(carry);
  }
  void multiply_power_of_ten(int power) {
    for (; power >= 9; power -= 9) multiply(1000000000);
    static constexpr u32 kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    if (power) multiply(kTens[power]);
  }
  void shift_left(int bits) {
    if (count == 0 || bits == 0) return;
    int whole = bits / 32, part = bits % 32;
    u32 carry = 0;
    if (part) {
      for (int i = 0; i < count; i++) {
        u32 word = words[i];
        words[i] = word << part | carry;
        carry = word >> (32 - part);
      }
      if (carry) words[count++] = carry;
    }
    if (whole) {
      memmove(words + whole, words, sizeof(u32) * static_cast<size_t>(count));
      memset(words, 0, sizeof(u32) * static_cast<size_t>(whole));
      count += whole;
    }
  }
};

int compare(const Natural &a, const Natural &b) {
  if (a.count != b.count) return a.count < b.count ? -1 : 1;
  for (int i = a.count - 1; i >= 0; i--) {
    if (a.words[i] != b.words[i]) return a.words[i] < b.words[i] ? -1 : 1;
  }
  return 0;
}

void add(Natural &a, const Natural &b) {
  u64 carry = 0;
  for (int i = 0; i < b.count || carry; i++) {
    if (i >= a.count) a.words[a.count++] = 0;
    carry += static_cast<u64>(a.words[i]) + (i < b.count ? b.words[i] : 0);
    a.words[i] = static_cast<u32>(carry);
    carry >>= 32;
  }
}

void subtract(Natural &a, const Natural &b) { // a >= b
  i64 borrow = 0;
  for (int i = 0; i < a.count; i++) {
    i64 word = static_cast<i64>(a.words[i]) - (i < b.count ? b.words[i] : 0) + borrow;
    a.words[i] = static_cast<u32>(word);
    borrow = word >> 32; // 0 or -1
  }
  while (a.count && a.words[a.count - 1] == 0) a.count--;
}

int compare_sum(const Natural &a, const Natural &b, const Natural &c) { // a + b against c
  Natural sum = a;
  add(sum, b);
  return compare(sum, c);
}
} // namespace

Decimal shortest_decimal(u64 mantissa, int exponent, bool lower_gap_is_half) {
  Decimal result;
  if (mantissa == 0) {
    result.digits[0] = '0';
    result.count = 1;
    result.exponent = 1;
    return result;
  }
  // value = r / s; m_plus / s and m_minus / s are half the distances to the neighbours.
  bool even = (mantissa & 1) == 0; // then the ends of the interval read back as the value itself
  Natural r, s, m_plus, m_minus;
  int extra = lower_gap_is_half ? 2 : 1;
  r.set(mantissa);
  s.set(1);
  m_plus.set(lower_gap_is_half ? 2 : 1);
  m_minus.set(1);
  r.shift_left(extra + (exponent > 0 ? exponent : 0));
  s.shift_left(extra + (exponent < 0 ? -exponent : 0));
  if (exponent > 0) {
    m_plus.shift_left(exponent);
    m_minus.shift_left(exponent);
  }
  // k such that 10^(k-1) < value + half the gap <= 10^k, guessed from the binary exponent and mended once.
  int bits = 64 - __builtin_clzll(mantissa);
  double guess = (exponent + bits - 1) * 0.30102999566398119521 - 1e-10;
  int k = static_cast<int>(guess);
  if (guess > k) k++;
  if (k >= 0) {
    s.multiply_power_of_ten(k);
  } else {
    r.multiply_power_of_ten(-k);
    m_plus.multiply_power_of_ten(-k);
    m_minus.multiply_power_of_ten(-k);
  }
  int high = compare_sum(r, m_plus, s);
  if (even ? high >= 0 : high > 0) {
    k++;
  } else {
    r.multiply(10);
    m_plus.multiply(10);
    m_minus.multiply(10);
  }
  result.exponent = k;
  for (;;) {
    int digit = 0;
    while (compare(r, s) >= 0) {
      subtract(r, s);
      digit++;
    }
    int low_compare = compare(r, m_minus);
    int high_compare = compare_sum(r, m_plus, s);
    bool low = even ? low_compare <= 0 : low_compare < 0;
    bool top = even ? high_compare >= 0 : high_compare > 0;
    if (!low && !top) {
      result.digits[result.count++] = static_cast<char>('0' + digit);
      r.multiply(10);
      m_plus.multiply(10);
      m_minus.multiply(10);
      continue;
    }
    if (low && top) {
      int half = compare_sum(r, r, s); // the nearer of digit and digit + 1
      if (half > 0 || (half == 0 && (digit & 1))) digit++;
    } else if (top) {
      digit++;
    }
    result.digits[result.count++] = static_cast<char>('0' + digit);
    break;
  }
  // A last digit of ten carries (it can where the interval's upper end is the power of ten itself).
  for (int i = result.count - 1; i >= 0 && result.digits[i] > '9'; i--) {
    if (i == 0) {
      result.digits[0] = '1';
      result.exponent++;
    } else {
      result.digits[i - 1]++;
    }
    result.count = i == 0 ? 1 : i;
  }
  while (result.count > 1 && result.digits[result.count - 1] == '0') result.count--;
  return result;
}

namespace {
struct Format {
  int fraction_bits;
  int exponent_bits;
};
Format format_of(int type) {
  switch (type) {
  case MICA_F16: return {10, 5};
  case MICA_BF16: return {7, 8};
  case MICA_F32: return {23, 8};
  default: return {52, 11};
  }
}
} // namespace

double float_from_bits(int type, u64 bits) {
  Format format = format_of(type);
  u64 fraction = bits & ((u64(1) << format.fraction_bits) - 1);
  int field = static_cast<int>(bits >> format.fraction_bits & ((1u << format.exponent_bits) - 1));
  u64 sign = bits >> (format.fraction_bits + format.exponent_bits) & 1;
  int highest = (1 << format.exponent_bits) - 1, bias = highest / 2;
  u64 word = 0;
  if (field == highest) {
    word = u64(0x7FF) << 52 | fraction << (52 - format.fraction_bits);
  } else if (field == 0 && type != MICA_F64) {
    double scale = __builtin_bit_cast(double, static_cast<u64>(1023 + 1 - bias - format.fraction_bits) << 52);
    word = __builtin_bit_cast(u64, static_cast<double>(fraction) * scale);
  } else {
    word = static_cast<u64>(field - bias + 1023) << 52 | fraction << (52 - format.fraction_bits);
    if (type == MICA_F64) word = bits & ~(u64(1) << 63);
  }
  return __builtin_bit_cast(double, word | sign << 63);
}

// Plain digits for 1e-4 <= |x| < 1e16, else one digit, a point and an exponent: 0.1, 1, 16777216,
// 1e-06, 3.4028235e+38.
void put_shortest(Text &out, int type, u64 bits) {
  Format format = format_of(type);
  u64 fraction = bits & ((u64(1) << format.fraction_bits) - 1);
  int field = static_cast<int>(bits >> format.fraction_bits & ((1u << format.exponent_bits) - 1));
  bool negative = bits >> (format.fraction_bits + format.exponent_bits) & 1;
  int highest = (1 << format.exponent_bits) - 1;
  if (field == highest && fraction) return out.put("nan");
  if (negative) out.put_char('-');
  if (field == highest) return out.put("inf");
  int bias = highest / 2;
  u64 mantissa = field ? fraction | u64(1) << format.fraction_bits : fraction;
  int exponent = (field ? field : 1) - bias - format.fraction_bits;
  Decimal decimal = shortest_decimal(mantissa, exponent, fraction == 0 && field > 1);
  int point = decimal.exponent; // digits before the point
  if (mantissa == 0) return out.put("0");
  if (point > -4 && point <= 16) {
    if (point <= 0) {
      out.put("0.");
      out.put_repeated('0', -point);
      out.put(decimal.digits, decimal.count);
    } else if (decimal.count <= point) {
      out.put(decimal.digits, decimal.count);
      out.put_repeated('0', point - decimal.count);
    } else {
      out.put(decimal.digits, point);
      out.put_char('.');
      out.put(decimal.digits + point, decimal.count - point);
    }
    return;
  }
  out.put_char(decimal.digits[0]);
  if (decimal.count > 1) {
    out.put_char('.');
    out.put(decimal.digits + 1, decimal.count - 1);
  }
  int shown = point - 1;
  out.putf("e%c%02d", shown < 0 ? '-' : '+', shown < 0 ? -shown : shown);
}

} // namespace mica::rt
