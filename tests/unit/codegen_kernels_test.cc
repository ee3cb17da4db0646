// Kernels of ragged sizes: sums in the order of numerics.md 4 bit for bit, rows, maps; one and more threads,
// every tier.
#include "codegen_program.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace mica::codegen {
namespace {

constexpr int64_t kSizes[] = {1, 2, 15, 16, 17, 31, 1023, 1024, 1025, 3000};

float cell(int64_t i) { return static_cast<float>((i * 7919) % 1009) / 7.0f - 60.0f; }

/// 16 lanes and the tree up to 1024 cells, then the sum of the sums of blocks.
float ordered_sum(const std::vector<float> &x) {
  if (x.size() <= 1024) {
    float lanes[16] = {};
    for (size_t i = 0; i < x.size(); ++i) lanes[i % 16] += x[i];
    for (int half = 8; half >= 1; half /= 2)
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
  }
  std::vector<float> blocks;
  for (size_t i = 0; i < x.size(); i += 1024)
    blocks.push_back(ordered_sum(
        {x.begin() + static_cast<long>(i), x.begin() + static_cast<long>(std::min(x.size(), i + 1024))}));
  return ordered_sum(blocks);
}

std::string hex(float v) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", static_cast<double>(v));
  return text;
}

/// Fills @x, cell i with cell(i).
std::string fill(int64_t count) {
  return "  %zero = const 0 : i64\n  %last = const " + std::to_string(count - 1) +
         " : i64\n  %p = const 7919 : i64\n  %q = const 1009 : i64\n  %seven = const 7.0 : f32\n  %sixty = "
         "const 60.0 : f32\n"
         "  for %zero, %last {by=1} (%i : i64) {\n    %a = mul %i, %p : i64\n    %b = mod %a, %q : i64\n    "
         "%c = cast %b : f32\n    %d = div %c, %seven : f32\n"
         "    %e = sub %d, %sixty : f32\n    write @x[%i], %e\n    yield\n  }\n";
}

class CodegenKernels : public testing::TestWithParam<const char *> {};

TEST_P(CodegenKernels, SumsOfEveryLength) {
  for (int64_t n : kSizes) {
    std::string s = std::to_string(n);
    std::string body =
        "var @x : f32[" + s +
        "]\nvar @r : f32[1]\nvar @t : f32\nvar @q : f32\n"
        "kernel @rows rows [] cpu (%x : f32[" +
        s + "] as f32[" + s + "]) -> (f32[1]) {\n  %y = mul %x, %x : f32[" + s +
        "]\n  %s = row_sum %y : f32[1]\n  yield %s\n}\n"
        "kernel @all reduce [" +
        s + "] cpu {kind=\"sum\", over=[0]} (%x : f32[" + s +
        "] as f32) -> (f32) {\n  yield %x\n}\n"
        "kernel @squares reduce [" +
        s + "] cpu {kind=\"sum\", over=[0]} (%x : f32[" + s +
        "] as f32) -> (f32) {\n  %y = mul %x, %x : f32\n  yield %y\n}\n" +
        main_of(fill(n) + "  %px = address @x : ptr<f32[" + s +
                "]>\n  %pr = address @r : ptr<f32[1]>\n  %pt = address @t : ptr<f32>\n  %pq = address @q : "
                "ptr<f32>\n"
                "  launch @rows(%px, %pr)\n  launch @all(%px, %pt)\n  launch @squares(%px, %pq)\n"
                "  %r = read @r[0] : f32\n  %t = read @t : f32\n  %s = read @q : f32\n  print %r, %t, %s "
                "{format=\"%a %a %a\", newline}\n");
    std::vector<float> x, y;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(cell(i));
      y.push_back(x.back() * x.back());
    }
    Outcome got = run_fused(GetParam(), body);
    EXPECT_EQ(got.out, hex(ordered_sum(y)) + " " + hex(ordered_sum(x)) + " " + hex(ordered_sum(y)) + "\n")
        << n << got.err;
  }
}

TEST_P(CodegenKernels, EmptyRowsAndSums) {
  Outcome got = run_fused(
      GetParam(),
      "var @x : f32[0]\nvar @t : f32 = 5.0\nvar @y : f32[3,0]\nvar @z : f32[3,1]\n"
      "kernel @all reduce [0] cpu {kind=\"sum\", over=[0]} (%x : f32[0] as f32) -> (f32) {\n  yield %x\n}\n"
      "kernel @rows rows [3] cpu (%y : f32[3,0] as f32[0]) -> (f32[3,1]) {\n  %s = row_sum %y : f32[1]\n  "
      "yield %s\n}\n"
      "kernel @map map [0] cpu (%x : f32[0] as f32) -> (f32[0]) {\n  %y = add %x, %x : f32\n  yield %y\n}\n" +
          main_of("  %px = address @x : ptr<f32[0]>\n  %pt = address @t : ptr<f32>\n  %py = address @y : "
                  "ptr<f32[3,0]>\n  %pz = address @z : ptr<f32[3,1]>\n"
                  "  launch @all(%px, %pt)\n  launch @rows(%py, %pz)\n  launch @map(%px, %px)\n  %t = read "
                  "@t : f32\n  %z = read @z[2][0] : f32\n"
                  "  print %t, %z {format=\"%v %v\", newline}\n"));
  EXPECT_EQ(got.out, "0 0\n") << got.err;
}

TEST_P(CodegenKernels, MapsBroadcastAndSplitOverThreads) {
  // A row of 3000 and a column of 70 stretched over [70, 3000]: more than one share of the threads.
  std::string body =
      "var @x : f32[3000]\nvar @c : f32[70,1]\nvar @y : f32[70,3000]\nvar @t : f32\n"
      "kernel @k map [70, 3000] cpu (%x : f32[3000] as f32, %c : f32[70,1] as f32, %s : f32 as f32) -> "
      "(f32[70,3000]) {\n"
      "  %a = mul %x, %c : f32\n  %b = add %a, %s : f32\n  %e = exp %b : f32\n  %f = sqrt %e : f32\n  yield "
      "%f\n}\n"
      "kernel @all reduce [70, 3000] cpu {kind=\"sum\", over=[0, 1]} (%y : f32[70,3000] as f32) -> (f32) {\n "
      " yield %y\n}\n" +
      main_of(fill(3000) +
              "  %k = const 69 : i64\n  for %zero, %k {by=1} (%j : i64) {\n    %v = cast %j : f32\n    %h = "
              "const 700.0 : f32\n    %w = div %v, %h : f32\n    write @c[%j][0], %w\n    yield\n  }\n"
              "  %px = address @x : ptr<f32[3000]>\n  %pc = address @c : ptr<f32[70,1]>\n  %py = address @y "
              ": ptr<f32[70,3000]>\n  %pt = address @t : ptr<f32>\n"
              "  %s = const 0.5 : f32\n  launch @k(%px, %pc, %s, %py)\n  launch @all(%py, %pt)\n  %t = read "
              "@t : f32\n  %u = read @y[69][2999] : f32\n  print %t, %u {format=\"%a %a\", newline}\n");
  std::string first;
  for (const char *threads : {"1", "2", "3", "7"}) {
    Outcome got = run_fused(GetParam(), body, std::string("+mica threads=") + threads + " -mica");
    EXPECT_EQ(got.status, 0) << got.err;
    if (first.empty()) first = got.out;
    EXPECT_EQ(got.out, first) << threads;
  }
  std::vector<float> y;
  for (int64_t j = 0; j < 70; ++j)
    for (int64_t i = 0; i < 3000; ++i) {
      float b = cell(i) * (static_cast<float>(j) / 700.0f) + 0.5f;
      y.push_back(std::sqrt(
          static_cast<float>(std::exp(static_cast<double>(b))))); // float32 functions are correctly rounded
    }
  EXPECT_EQ(first, hex(ordered_sum(y)) + " " + hex(y.back()) + "\n");
}

TEST_P(CodegenKernels, RowsFuseSoftmaxOfRaggedLengths) {
  for (int64_t n : {1, 2, 15, 16, 17, 33, 1024, 1025}) {
    std::string s = std::to_string(n);
    std::string whole = "f32[3," + s + "]", row = "f32[" + s + "]";
    std::string body =
        "var @x : " + row + "\nvar @z : " + whole + "\nvar @y : " + whole +
        "\n"
        "kernel @copies map [3, " +
        s + "] cpu (%x : " + row + " as f32) -> (" + whole +
        ") {\n  yield %x\n}\n"
        "kernel @soft rows [3] cpu (%x : " +
        whole + " as " + row + ") -> (" + whole +
        ") {\n  %m = row_max %x : f32[1]\n  %d = sub %x, %m : " + row + "\n  %e = exp %d : " + row +
        "\n  %s = row_sum %e : f32[1]\n  %y = div %e, %s : " + row + "\n  yield %y\n}\n" +
        main_of(fill(n) + "  %px = address @x : ptr<" + row + ">\n  %pz = address @z : ptr<" + whole +
                ">\n  %py = address @y : ptr<" + whole +
                ">\n"
                "  launch @copies(%px, %pz)\n  launch @soft(%pz, %py)\n  for %zero, %last {by=1} (%k : i64) "
                "{\n    %v = read @y[2][%k] : f32\n    print %v {format=\"%a\", newline}\n    yield\n  }\n");
    float largest = -INFINITY;
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, cell(i));
    std::vector<float> e;
    for (int64_t i = 0; i < n; ++i)
      e.push_back(static_cast<float>(std::exp(static_cast<double>(cell(i) - largest))));
    float sum = ordered_sum(e);
    std::string want;
    for (float v : e) want += hex(v / sum) + "\n";
    Outcome got = run_fused(GetParam(), body);
    EXPECT_EQ(got.out, want) << n << got.err;
  }
}

TEST_P(CodegenKernels, HalvesSumInFloat32) {
  for (const char *half : {"f16", "bf16"}) {
    std::string h = half;
    std::string body = "var @x : " + h + "[4096]\nvar @r : " + h + "[1]\nvar @t : " + h + "\nvar @m : " + h +
                       "\n"
                       "kernel @rows rows [] cpu (%x : " +
                       h + "[4096] as " + h + "[4096]) -> (" + h + "[1]) {\n  %s = row_sum %x : " + h +
                       "[1]\n  yield %s\n}\n"
                       "kernel @ones map [4096] cpu (%s : " +
                       h + " as " + h + ") -> (" + h +
                       "[4096]) {\n  yield %s\n}\n"
                       "kernel @all reduce [4096] cpu {kind=\"sum\", over=[0]} (%x : " +
                       h + "[4096] as " + h + ") -> (" + h +
                       ") {\n  yield %x\n}\n"
                       "kernel @mean reduce [4096] cpu {kind=\"mean\", over=[0]} (%x : " +
                       h + "[4096] as " + h + ") -> (" + h + ") {\n  yield %x\n}\n" +
                       main_of("  %one = const 0.5 : " + h + "\n  %px = address @x : ptr<" + h +
                               "[4096]>\n  %pr = address @r : ptr<" + h + "[1]>\n  %pt = address @t : ptr<" +
                               h + ">\n  %pm = address @m : ptr<" + h +
                               ">\n"
                               "  launch @ones(%one, %px)\n  launch @rows(%px, %pr)\n  launch @all(%px, "
                               "%pt)\n  launch @mean(%px, %pm)\n  %r = read @r[0] : " +
                               h + "\n  %t = read @t : " + h + "\n  %m = read @m : " + h +
                               "\n  print %r, %t, %m {format=\"%.1f %.1f %.1f\", newline}\n");
    Outcome got = run_fused(GetParam(), body);
    EXPECT_EQ(got.out, "2048.0 2048.0 0.5\n") << half << got.err;
  }
}
/// Products of every transposition with an epilogue, against the order of numerics.md 5.
TEST_P(CodegenKernels, ProductsWithAnEpilogue) {
  constexpr int64_t kM = 3, kN = 5, kK = 300;
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      std::string a = ta ? "f32[300,3]" : "f32[3,300]", b = tb ? "f32[5,300]" : "f32[300,5]";
      std::string flags = std::string(ta ? ", transpose_a" : "") + (tb ? ", transpose_b" : "");
      std::string body = "var @x : f32[1500]\nvar @a : " + a + "\nvar @b : " + b +
                         "\nvar @c : f32[5]\nvar @y : f32[3,5]\n" + "kernel @p product [3, 5] cpu {k=300" +
                         flags + "} (%a : " + a + " as " + a + ", %b : " + b + " as " + b +
                         ", %c : f32[5] as f32, acc %z : f32) -> (f32[3,5]) {\n  %s = add %z, %c : f32\n  %r "
                         "= relu %s : f32\n  yield %r\n}\n" +
                         main_of(fill(1500) +
                                 "  %la = const 299 : i64\n  %lm = const 2 : i64\n  %ln = const 4 : i64\n  "
                                 "%k3 = const 3 : i64\n  %k5 = const 5 : i64\n"
                                 "  for %zero, %la {by=1} (%k : i64) {\n    for %zero, %lm {by=1} (%m : i64) "
                                 "{\n      %o = mul %k, %k3 : i64\n      %o1 = add %o, %m : i64\n"
                                 "      %v = read @x[%o1] : f32\n      write @a" +
                                 (ta ? "[%k][%m]" : "[%m][%k]") +
                                 ", %v\n      yield\n    }\n"
                                 "    for %zero, %ln {by=1} (%n : i64) {\n      %u = mul %k, %k5 : i64\n     "
                                 " %u1 = add %u, %n : i64\n"
                                 "      %w = read @x[%u1] : f32\n      write @b" +
                                 (tb ? "[%n][%k]" : "[%k][%n]") +
                                 ", %w\n      yield\n    }\n    yield\n  }\n"
                                 "  for %zero, %ln {by=1} (%n1 : i64) {\n    %q1 = read @x[%n1] : f32\n    "
                                 "write @c[%n1], %q1\n    yield\n  }\n"
                                 "  %pa = address @a : ptr<" +
                                 a + ">\n  %pb = address @b : ptr<" + b +
                                 ">\n  %pc = address @c : ptr<f32[5]>\n  %py = address @y : ptr<f32[3,5]>\n"
                                 "  launch @p(%pa, %pb, %pc, %py)\n  for %zero, %lm {by=1} (%m2 : i64) {\n   "
                                 " for %zero, %ln {by=1} (%n2 : i64) {\n"
                                 "      %g = read @y[%m2][%n2] : f32\n      print %g {format=\"%a\", "
                                 "newline}\n      yield\n    }\n    yield\n  }\n");
      std::string want;
      for (int64_t m = 0; m < kM; ++m)
        for (int64_t n = 0; n < kN; ++n) {
          float sum = 0;
          for (int64_t from = 0; from < kK; from += 128) {
            float block = 0;
            for (int64_t k = from; k < std::min(kK, from + 128); ++k)
              block = std::fma(cell(k * 3 + m), cell(k * 5 + n), block);
            sum += block;
          }
          sum += cell(n);
          want += hex(sum > 0 ? sum : 0.0f) + "\n";
        }
      Outcome got = run_fused(GetParam(), body);
      EXPECT_EQ(got.out, want) << got.err << ta << tb;
    }
}
INSTANTIATE_TEST_SUITE_P(Tiers, CodegenKernels, testing::Values("debug", "checked", "O1", "O2", "O3"));

} // namespace
} // namespace mica::codegen
