// Conversions between all numeric types against C++ in wider arithmetic: one rounding, saturation, NaN gives
// 0.
#include "codegen_program.h"

#include <cmath>
#include <limits>
#include <vector>

namespace mica::codegen {
namespace {

struct Kind {
  const char *name;
  bool is_float, is_signed;
  int bits;      ///< of an integer
  int precision; ///< of a float: bits of its significand
  int least;     ///< of a float: exponent of its smallest subnormal
  long double greatest;
};
const Kind kKinds[] = {{"i8", false, true, 8, 0, 0, 0},
                       {"i16", false, true, 16, 0, 0, 0},
                       {"i32", false, true, 32, 0, 0, 0},
                       {"i64", false, true, 64, 0, 0, 0},
                       {"u8", false, false, 8, 0, 0, 0},
                       {"u16", false, false, 16, 0, 0, 0},
                       {"u32", false, false, 32, 0, 0, 0},
                       {"u64", false, false, 64, 0, 0, 0},
                       {"f16", true, true, 0, 11, -24, 65504.0L},
                       {"bf16", true, true, 0, 8, -133, 0x1.FEp127L},
                       {"f32", true, true, 0, 24, -149, 0x1.FFFFFEp127L},
                       {"f64", true, true, 0, 53, -1074, 0x1.FFFFFFFFFFFFFp1023L}};

long double rounded(const Kind &to, long double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent;
  std::frexp(x, &exponent);
  int unit = std::max(exponent - to.precision, to.least);
  long double r = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::fabs(r) > to.greatest ? std::copysign(std::numeric_limits<long double>::infinity(), x) : r;
}
__int128 low_of(const Kind &k) { return k.is_signed ? -(__int128{1} << (k.bits - 1)) : 0; }
__int128 high_of(const Kind &k) { return (__int128{1} << (k.is_signed ? k.bits - 1 : k.bits)) - 1; }

std::string show(__int128 v) {
  return v > INT64_MAX ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(static_cast<int64_t>(v));
}
/// As bits, so that every digit counts: floats are compared by their float64.
std::string show(long double v) {
  if (std::isnan(v)) return "nan";
  char text[64];
  std::snprintf(text, sizeof text, "%a", static_cast<double>(v));
  return text;
}

class CodegenCasts : public testing::TestWithParam<const char *> {};
TEST_P(CodegenCasts, AllPairs) {
  for (const Kind &from : kKinds) {
    std::vector<std::string> constants;
    std::vector<__int128> integers;
    std::vector<long double> floats;
    if (from.is_float) {
      for (double v : {0.0,
                       -0.0,
                       0.5,
                       -0.5,
                       1.5,
                       2.5,
                       -2.5,
                       127.9,
                       -128.9,
                       255.5,
                       300.0,
                       65519.0,
                       65520.0,
                       -1e10,
                       3e9,
                       9.3e18,
                       1.9e19,
                       1e-7,
                       1e-40,
                       1e-320,
                       1.0 + 0x1p-8 + 0x1p-40,
                       1.0 + 0x1p-11 + 0x1p-40,
                       3.4e38,
                       1e300,
                       std::numeric_limits<double>::infinity(),
                       -std::numeric_limits<double>::infinity()}) {
        long double held = rounded(from, v);
        floats.push_back(held);
        char text[64];
        std::snprintf(text, sizeof text, "%.17g", static_cast<double>(held));
        constants.push_back(text);
        if (constants.back().find_first_of(".en") == std::string::npos) constants.back() += ".0";
      }
      floats.push_back(std::numeric_limits<long double>::quiet_NaN());
      constants.push_back("nan:0x7ff8000000000000");
    } else {
      for (__int128 v :
           {low_of(from), low_of(from) + 1, __int128{0}, __int128{1}, __int128{100}, __int128{200},
            __int128{257}, __int128{2049}, __int128{65519}, __int128{65520}, (__int128{257} << 40) + 1,
            __int128{16777217}, (__int128{1} << 53) + 1, (__int128{257} << 54) + 1, high_of(from)})
        if (v >= low_of(from) && v <= high_of(from)) {
          integers.push_back(v);
          constants.push_back(std::to_string(static_cast<int64_t>(v)));
        }
    }
    std::string last = std::to_string(constants.size() - 1);
    std::string body;
    for (size_t i = 0; i < constants.size(); ++i)
      body += "  %v" + std::to_string(i) + " = const " + constants[i] + " : " + from.name + "\n  write @x[" +
              std::to_string(i) + "], %v" + std::to_string(i) + "\n";
    body += "  %lo = const 0 : i32\n  %hi = const " + last +
            " : i32\n  for %lo, %hi {by=1} (%i : i32) {\n    %a = read @x[%i] : " + from.name + "\n";
    std::string list, format;
    for (const Kind &to : kKinds) {
      std::string r = std::string("%r") + to.name;
      body += "    " + r + " = cast %a : " + to.name + "\n";
      if (to.is_float && std::string(to.name) != "f64") {
        body += "    " + r + "w = cast " + r + " : f64\n";
        r += "w";
      }
      list += (list.empty() ? "" : ", ") + r;
      format += to.is_float ? " %a" : " %v";
    }
    body += "    print " + list + " {format=\"" + format.substr(1) + "\", newline}\n    yield\n  }\n";
    Outcome got = run_fused(GetParam(), "var @x : array<0.." + last + ", " + std::string(from.name) + ">\n" +
                                            main_of(body));
    std::string want;
    for (size_t i = 0; i < constants.size(); ++i) {
      for (const Kind &to : kKinds) {
        if (&to != kKinds) want += ' ';
        if (from.is_float && to.is_float)
          want += show(rounded(to, floats[i]));
        else if (to.is_float)
          want += show(rounded(to, static_cast<long double>(integers[i])));
        else if (from.is_float) {
          long double whole = std::trunc(floats[i]);
          __int128 v = std::isnan(whole)                              ? 0
                       : whole < static_cast<long double>(low_of(to)) ? low_of(to)
                       : whole >= static_cast<long double>(high_of(to)) + 1 - (to.bits == 64 ? 0 : 0)
                           ? high_of(to)
                           : static_cast<__int128>(whole);
          want += show(v);
        } else {
          unsigned __int128 mask = (static_cast<unsigned __int128>(1) << to.bits) - 1;
          __int128 v = static_cast<__int128>(static_cast<unsigned __int128>(integers[i]) & mask);
          if (to.is_signed && (v >> (to.bits - 1))) v -= __int128{1} << to.bits;
          want += show(v);
        }
      }
      want += '\n';
    }
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_EQ(got.out, want) << "from " << from.name;
  }
}
INSTANTIATE_TEST_SUITE_P(Tiers, CodegenCasts, testing::Values("debug", "O2"));

} // namespace
} // namespace mica::codegen
