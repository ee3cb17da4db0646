// The math library: a sample of what tests/long/float32_functions.cc does whole, float64 within one unit of
// the last place against the C library's long double, limits, conversions to halves, and AdamW's scalars.
#include "../../libmicart/math/math.cc"

#include "runtime_program.h"

#include <cmath>
#include <random>

namespace {
std::mt19937_64 generator(3);
double between(double low, double high) {
  return low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53;
}

double units(double ours, long double right) {
  double near = static_cast<double>(right);
  if (ours == near || (ours != ours && near != near)) return 0;
  int exponent = 0;
  std::frexp(near, &exponent);
  return std::fabs(static_cast<double>(
      std::ldexp((static_cast<long double>(ours) - right), 53 - std::max(exponent, -1021))));
}

struct Case {
  const char *name;
  double (*ours)(double);
  float (*narrow)(float);
  long double (*right)(long double);
  double low, high;
};
long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double silu(long double x) { return x / (1 + std::exp(-x)); }
long double gelu(long double x) { return x * 0.5L * std::erfc(-x * 0.70710678118654752440084436210485L); }
long double gelu_tanh(long double x) {
  return x / (1 + std::exp(-2 * 0.79788456080286535587989211986876L * (x + 0.044715L * x * x * x)));
}

const Case kCases[] = {
    {"exp", mica_exp_f64, mica_exp_f32, std::exp, -740, 709},
    {"ln", mica_ln_f64, mica_ln_f32, std::log, 0, 100},
    {"log10", mica_log10_f64, mica_log10_f32, std::log10, 0, 5},
    {"sin", mica_sin_f64, mica_sin_f32, std::sin, -1000, 1000},
    {"cos", mica_cos_f64, mica_cos_f32, std::cos, -1000, 1000},
    {"tan", mica_tan_f64, mica_tan_f32, std::tan, -1000, 1000},
    {"arcsin", mica_arcsin_f64, mica_arcsin_f32, std::asin, -1, 1},
    {"arccos", mica_arccos_f64, mica_arccos_f32, std::acos, -1, 1},
    {"arctan", mica_arctan_f64, mica_arctan_f32, std::atan, -5, 5},
    {"tanh", mica_tanh_f64, mica_tanh_f32, std::tanh, -5, 5},
    {"erf", mica_erf_f64, mica_erf_f32, std::erf, -6, 6},
    {"erfc", mica_erfc_f64, mica_erfc_f32, std::erfc, -6, 26},
    {"sigmoid", mica_sigmoid_f64, mica_sigmoid_f32, sigmoid, -40, 40},
    {"silu", mica_silu_f64, mica_silu_f32, silu, -40, 40},
    {"gelu", mica_gelu_f64, mica_gelu_f32, gelu, -8, 8},
    {"gelu_tanh", mica_gelu_tanh_f64, mica_gelu_tanh_f32, gelu_tanh, -5, 5},
};

TEST(Math, Float64WithinOneUnit) {
  for (const Case &c : kCases) {
    double worst = 0, at = 0;
    for (int i = 0; i < 20000; i++) {
      double x = between(c.low, c.high);
      if (i % 3 == 0) x *= std::ldexp(1.0, -static_cast<int>(generator() % 60));
      double error = units(c.ours(x), c.right(x));
      if (error > worst) {
        worst = error;
        at = x;
      }
    }
    EXPECT_LE(worst, 1.0) << c.name << " at " << at;
  }
}

// Where the double lies well away from a middle between two floats, the float must be its rounding.
TEST(Math, Float32CorrectlyRounded) {
  for (const Case &c : kCases) {
    for (int i = 0; i < 50000; i++) {
      float x = i & 1 ? static_cast<float>(between(c.low, c.high))
                      : __builtin_bit_cast(float, static_cast<uint32_t>(generator()));
      if (!(std::fabs(x) < 1e4f)) continue;
      long double right = c.right(x);
      float low = static_cast<float>(right * (1 - 0x1p-45L)),
            high = static_cast<float>(right * (1 + 0x1p-45L));
      if (low != high) continue;
      ASSERT_EQ(c.narrow(x), low) << c.name << " of " << x;
    }
  }
}

TEST(Math, LargeTurns) {
  for (int i = 0; i < 2000; i++) {
    float x = std::ldexp(static_cast<float>(between(1, 2)), static_cast<int>(generator() % 127));
    ASSERT_EQ(mica_sin_f32(x), static_cast<float>(mica_sin_f64(static_cast<double>(x)))) << x;
    ASSERT_EQ(mica_cos_f32(x), static_cast<float>(mica_cos_f64(static_cast<double>(x)))) << x;
  }
  EXPECT_EQ(mica_sin_f64(1e22), -0.8522008497671888); // W. Kahan's example
  EXPECT_EQ(mica_cos_f64(0x1.6ac5b262ca1ffp+849), -4.6871659242546277e-19);
}

TEST(Math, Limits) {
  double inf = __builtin_inf(), nan = __builtin_nan("");
  EXPECT_EQ(mica_exp_f64(-inf), 0);
  EXPECT_EQ(mica_exp_f64(inf), inf);
  EXPECT_EQ(mica_exp_f64(1000), inf);
  EXPECT_EQ(mica_exp_f32(89), __builtin_inff());
  EXPECT_EQ(mica_ln_f64(0), -inf);
  EXPECT_TRUE(std::isnan(mica_ln_f64(-1)));
  EXPECT_EQ(mica_log10_f64(1e22), 22);
  EXPECT_TRUE(std::isnan(mica_sin_f64(inf)));
  EXPECT_TRUE(std::isnan(mica_arcsin_f64(1.5)));
  EXPECT_EQ(mica_arctan_f64(-inf), -1.5707963267948966);
  EXPECT_EQ(mica_tanh_f64(inf), 1);
  EXPECT_EQ(mica_erf_f64(-inf), -1);
  EXPECT_EQ(mica_erfc_f64(-inf), 2);
  EXPECT_EQ(mica_erfc_f64(inf), 0);
  EXPECT_EQ(mica_sigmoid_f64(-inf), 0);
  EXPECT_EQ(mica_sigmoid_f64(inf), 1);
  for (const Case &c : kCases)
    EXPECT_TRUE(std::isnan(c.ours(nan)) && std::isnan(c.narrow(__builtin_nanf("")))) << c.name;
  for (double zero : {0.0, -0.0}) {
    for (const Case &c : kCases) {
      if (c.right(0.0L) == 0 && c.low < 0)
        EXPECT_EQ(std::signbit(c.ours(zero)), std::signbit(zero)) << c.name;
    }
  }
}

TEST(Math, GelusFarOut) { // B27
  EXPECT_EQ(mica_gelu_f64(1e20), 1e20);
  EXPECT_EQ(mica_gelu_f64(-1e20), 0);
  EXPECT_EQ(mica_gelu_tanh_f32(1e20f), 1e20f);
  EXPECT_EQ(mica_gelu_tanh_f32(-1e20f), 0);
  EXPECT_EQ(mica_gelu_f64(21.657723), 21.657723);
  EXPECT_EQ(mica_gelu_gradient_f64(21.657723), 1);
  for (double x : {1e20, 50.0, __builtin_inf()}) {
    EXPECT_EQ(mica_gelu_gradient_f64(x), 1);
    EXPECT_EQ(mica_gelu_tanh_gradient_f64(x), 1);
    EXPECT_EQ(mica_silu_gradient_f64(2 * x + 800), 1);
    EXPECT_EQ(mica_gelu_gradient_f64(-x), 0);
    EXPECT_EQ(mica_gelu_tanh_gradient_f64(-x), 0);
    EXPECT_EQ(mica_gelu_tanh_gradient_f32(static_cast<float>(-x)), 0);
  }
}

TEST(Math, GradientsAreDerivatives) {
  struct Pair {
    double (*f)(double);
    double (*g)(double);
  };
  for (Pair p :
       {Pair{mica_gelu_f64, mica_gelu_gradient_f64}, Pair{mica_gelu_tanh_f64, mica_gelu_tanh_gradient_f64},
        Pair{mica_silu_f64, mica_silu_gradient_f64}}) {
    for (double x = -6; x < 6; x += 0.37)
      EXPECT_NEAR((p.f(x + 1e-5) - p.f(x - 1e-5)) / 2e-5, p.g(x), 1e-9) << x;
  }
}

TEST(Math, Pow) {
  for (int i = 0; i < 20000; i++) {
    double x = std::exp(between(-20, 20)), y = between(-30, 30);
    ASSERT_LE(units(mica_pow_f64(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))),
              1.0)
        << x << " " << y;
    float fx = static_cast<float>(x), fy = static_cast<float>(y / 10);
    float right = static_cast<float>(std::pow(static_cast<double>(fx), static_cast<double>(fy)));
    ASSERT_LE(std::fabs(mica_pow_f32(fx, fy) - right), std::nextafter(right, INFINITY) - right);
  }
  double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN,    0.5,  -0.5,
                      2.0, -2.0, 3.0, -3.0, 1e300,    -1e300,    5e-324, -2.5, 9007199254740993.0};
  for (double x : special) {
    for (double y : special) {
      double ours = mica_pow_f64(x, y), right = std::pow(x, y);
      EXPECT_TRUE((ours != ours && right != right) ||
                  (std::signbit(ours) == std::signbit(right) && units(ours, right) <= 1))
          << x << " " << y << " " << ours << " " << right;
      float narrow = mica_pow_f32(static_cast<float>(x), static_cast<float>(y)),
            wide = std::pow(static_cast<float>(x), static_cast<float>(y));
      EXPECT_TRUE((narrow != narrow && wide != wide) || narrow == wide) << x << " " << y;
    }
  }
}

TEST(Math, Remainders) {
  for (int i = 0; i < 50000; i++) {
    double x = __builtin_bit_cast(double, static_cast<uint64_t>(generator())),
           y = __builtin_bit_cast(double, static_cast<uint64_t>(generator()));
    if (i & 1) x = between(-1e9, 1e9), y = between(-10, 10);
    double ours = mica_fmod_f64(x, y), right = std::fmod(x, y);
    ASSERT_TRUE(memcmp(&ours, &right, 8) == 0 || (ours != ours && right != right)) << x << " " << y;
  }
}

TEST(Math, HalvesRoundOnce) {
  EXPECT_EQ(mica_f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3F81); // B33: not through float32
  EXPECT_EQ(mica_f64_to_bf16(1 + 0x1p-8), 0x3F80);
  EXPECT_EQ(mica_f64_to_f16(1 + 0x1p-11 + 0x1p-50), 0x3C01);
  EXPECT_EQ(mica_f64_to_f16(-(1 + 0x1p-11 + 0x1p-50)), 0xBC01);
  EXPECT_EQ(mica_f32_to_bf16(__builtin_bit_cast(float, 0x7F800001u)), 0x7FC0); // B31
  EXPECT_EQ(mica_f32_to_bf16(__builtin_bit_cast(float, 0x7FFFFFFFu)), 0x7FFF);
  EXPECT_EQ(mica_f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(mica_f32_to_f16(65519.0f), 0x7BFF);
  EXPECT_EQ(mica_f32_to_f16(0x1p-24f), 1);
  EXPECT_EQ(mica_f32_to_bf16(1e-40f),
            static_cast<uint16_t>((__builtin_bit_cast(uint32_t, 1e-40f) + 0x7FFF) >> 16));
}

TEST(Math, AdamWScalars) { // B39's three steps through numerics.md 10
  double w = 1, m = 0, v = 0, g = 0.1;
  const double expected[] = {0.89900001, 0.79810101999, 0.69730292897};
  for (int step = 1; step <= 3; step++) {
    double c[5];
    mica_adamw_f64(step, 0.1, 0.9, 0.999, 0.01, c);
    m = 0.9 * m + c[0] * g;
    v = 0.999 * v + c[1] * (g * g);
    w = w * c[2] - (c[3] * m) / (std::sqrt(v) / c[4] + 1e-8);
    EXPECT_NEAR(w, expected[step - 1], 1e-9);
  }
}
} // namespace
