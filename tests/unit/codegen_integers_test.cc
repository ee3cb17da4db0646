// Every operation on integers in every width against C++, folded (O2) and not (debug); the checked tier's
// stops.
#include "codegen_program.h"

#include <limits>
#include <vector>

namespace mica::codegen {
namespace {

template <class T> std::vector<T> samples() {
  using L = std::numeric_limits<T>;
  return {0,
          1,
          2,
          7,
          static_cast<T>(-1),
          static_cast<T>(-7),
          L::max(),
          L::min(),
          static_cast<T>(L::max() / 3),
          static_cast<T>(L::min() + 1)};
}

template <class T> using Unsigned = std::make_unsigned_t<T>;
constexpr int kAmounts[] = {0, 1, 7, 8, 15, 31, 32, 63, 64, 127};

template <class T> T wrap_mul(T a, T b) { // without C++'s promotion to a signed int that overflows
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <class T> T shift_left(T a, int n) {
  return n >= static_cast<int>(sizeof(T) * 8) ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << n);
}
template <class T> T shift_right(T a, int n) {
  int width = static_cast<int>(sizeof(T) * 8);
  if (n >= width) return static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0);
  return static_cast<T>(a >> n);
}
template <class T> T divide(T a, T b) {
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<Unsigned<T>>(a));
  return static_cast<T>(a / b);
}
template <class T> T remainder(T a, T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? T(0) : static_cast<T>(a % b);
}

template <class T> void test_type(const std::string &name, const std::string &tier) {
  std::vector<T> values = samples<T>();
  std::string last = std::to_string(values.size() - 1);
  std::string t = " : " + name;
  std::string body;
  for (size_t i = 0; i < values.size(); ++i) {
    std::string v = "%v" + std::to_string(i);
    // A constant is written as an int64, so an unsigned one beyond it by its bits.
    body += "  " + v + " = const " + std::to_string(static_cast<int64_t>(values[i])) + t + "\n  write @x[" +
            std::to_string(i) + "], " + v + "\n";
  }
  for (size_t i = 0; i < std::size(kAmounts); ++i)
    body += "  %n" + std::to_string(i) + " = const " + std::to_string(kAmounts[i]) + " : i32\n  write @n[" +
            std::to_string(i) + "], %n" + std::to_string(i) + "\n";
  body += "  %lo = const 0 : i32\n  %hi = const " + last + " : i32\n  %zero = const 0" + t + "\n" +
          "  for %lo, %hi {by=1} (%i : i32) {\n    for %lo, %hi {by=1} (%j : i32) {\n"
          "      %a = read @x[%i]" +
          t + "\n      %b = read @x[%j]" + t + "\n      %n = read @n[%j] : i32\n";
  std::string shown;
  for (const char *op : {"add", "sub", "mul", "and", "or", "xor", "maximum", "minimum"}) {
    body += std::string("      %r") + op + " = " + op + " %a, %b" + t + "\n";
    shown += std::string(shown.empty() ? "" : ", ") + "%r" + op;
  }
  for (const char *op : {"shl", "shr"}) {
    body += std::string("      %r") + op + " = " + op + " %a, %n" + t + "\n";
    shown += std::string(", %r") + op;
  }
  for (const char *op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    body += std::string("      %r") + op + " = " + op + " %a, %b : bool\n";
    shown += std::string(", %r") + op;
  }
  body += "      %rnot = not %a" + t + "\n      %rneg = neg %a" + t + "\n      %some = ne %b, %zero : bool\n";
  body += "      print " + shown +
          ", %rnot, %rneg {format=\"%v %v %v %v %v %v %v %v %v %v %v %v %v %v %v %v %v %v\", newline}\n";
  body += "      if %some {\n        %q = div %a, %b" + t + "\n        %m = mod %a, %b" + t +
          "\n        print %q, %m {format=\"%v %v\", newline}\n        yield\n      } else {\n        "
          "yield\n      }\n";
  body += "      yield\n    }\n    yield\n  }\n";
  Outcome got = run_fused(tier, "var @x : array<0.." + last + ", " + name + ">\nvar @n : array<0..9, i32>\n" +
                                    main_of(body));
  std::ostringstream want;
  want << std::boolalpha;
  auto show = [](T v) {
    return std::is_signed_v<T> ? std::to_string(static_cast<int64_t>(v))
                               : std::to_string(static_cast<uint64_t>(v));
  };
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = 0; j < values.size(); ++j) {
      T a = values[i], b = values[j];
      int n = kAmounts[j];
      want << show(static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b))) << ' '
           << show(static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b))) << ' '
           << show(wrap_mul(a, b)) << ' ' << show(a & b) << ' ' << show(a | b) << ' ' << show(a ^ b) << ' '
           << show(std::max(a, b)) << ' ' << show(std::min(a, b)) << ' ' << show(shift_left(a, n)) << ' '
           << show(shift_right(a, n)) << ' ' << (a == b) << ' ' << (a != b) << ' ' << (a < b) << ' '
           << (a <= b) << ' ' << (a > b) << ' ' << (a >= b) << ' ' << show(static_cast<T>(~a)) << ' '
           << show(static_cast<T>(0 - static_cast<uint64_t>(a))) << '\n';
      if (b != 0) want << show(divide(a, b)) << ' ' << show(remainder(a, b)) << '\n';
    }
  EXPECT_EQ(got.err, "");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.out, want.str()) << name << " in tier " << tier;
}

class CodegenIntegers : public testing::TestWithParam<const char *> {};
TEST_P(CodegenIntegers, AllOperations) {
  test_type<int8_t>("i8", GetParam());
  test_type<int16_t>("i16", GetParam());
  test_type<int32_t>("i32", GetParam());
  test_type<int64_t>("i64", GetParam());
  test_type<uint8_t>("u8", GetParam());
  test_type<uint16_t>("u16", GetParam());
  test_type<uint32_t>("u32", GetParam());
  test_type<uint64_t>("u64", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Tiers, CodegenIntegers, testing::Values("debug", "O2"));

TEST(CodegenChecked, Stops) {
  auto stops = [](const std::string &operations, const std::string &with) {
    Outcome got = run_fused("checked", "var @a : i32 = 2147483647\nvar @z : i32\nvar @f : f64 = 1e300\n" +
                                           main_of(operations));
    EXPECT_EQ(got.status, 70) << operations;
    EXPECT_NE(got.err.find("t.mica:3: "), std::string::npos) << got.err;
    EXPECT_NE(got.err.find(with), std::string::npos) << got.err;
  };
  stops("  %a = read @a : i32\n  %b = add %a, %a : i32 !3:1\n  write @a, %b\n", "overflow");
  stops("  %a = read @a : i32\n  %b = mul %a, %a : i32 !3:1\n  write @a, %b\n", "overflow");
  stops("  %a = read @a : i32\n  %z = read @z : i32\n  %b = div %a, %z : i32 !3:1\n  write @a, %b\n", "zero");
  stops("  %a = read @a : i32\n  %b = cast %a : i16 !3:1\n  print %b {format=\"%d\"}\n", "fit");
  stops("  %a = read @f : f64\n  %b = cast %a : i64 !3:1\n  print %b {format=\"%d\"}\n", "fit");
  stops("  %a = read @f : f64\n  %b = cast %a : f32 !3:1\n  print %b {format=\"%f\"}\n", "fit");
  stops("  %z = read @z : i32\n  %a = cast %z : f64\n  %b = div %a, %a : f64 !3:1\n  print %b "
        "{format=\"%f\"}\n",
        "not-a-number");
}

TEST(CodegenDivision, ByZeroStopsInEveryTier) {
  for (const char *tier : {"debug", "checked", "O1", "O2", "O3", "release"}) {
    Outcome got = run_fused(
        tier,
        "var @z : i32\n" +
            main_of("  %z = read @z : i32\n  %b = mod %z, %z : i32 !3:1\n  print %b {format=\"%d\"}\n"));
    EXPECT_EQ(got.status, 70);
    EXPECT_NE(got.err.find("t.mica:3: "), std::string::npos) << got.err;
  }
}

} // namespace
} // namespace mica::codegen
