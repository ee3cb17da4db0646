// Where windows, walks and gradients stand: spliced or called, several losses, several windows, states,
// faults that peers had.
#include "grad_check.h"

using namespace mica;

namespace {

const std::string kHead = "spectra 1 checked\noptions device=cpu tier=O2\nprogram t\n";

std::string text_of(const std::string &variables, const std::string &rest) {
  return kHead + variables + rest + "end\n";
}

double one(test::GradCheck &check, const std::string &variable) { return check.gradient(variable).at(0); }

TEST(GradWindows,
     ReassignmentInsideAWindow) { // x := x + x*x at 3: 12, gradient 7; x := x*x twice: 81, gradient 108
  const std::string variables = "var @x : f64 tracked\nvar @loss : f64 tracked\nvar @g : f64\n";
  test::GradCheck sum(text_of(variables, R"(func @program.main() {
  tape {id=0} {
    %x = read @x : f64
    %s = mul %x, %x : f64
    %y = add %x, %s : f64
    write @x, %y
    %z = read @x : f64
    write @loss, %z
    yield
  }
  backward @loss {windows=[0]}
  %g = gradient @x : f64
  write @g, %g
  return
}
)"));
  ASSERT_TRUE(sum.good()) << sum.messages();
  sum.set("x", {3});
  EXPECT_EQ(one(sum, "loss"), 12);
  EXPECT_EQ(one(sum, "g"), 7);
  test::GradCheck twice(text_of(variables, R"(func @program.main() {
  tape {id=0} {
    %x = read @x : f64
    %y = mul %x, %x : f64
    write @x, %y
    %z = read @x : f64
    %w = mul %z, %z : f64
    write @x, %w
    %l = read @x : f64
    write @loss, %l
    yield
  }
  backward @loss {windows=[0]}
  %g = gradient @x : f64
  write @g, %g
  return
}
)"));
  ASSERT_TRUE(twice.good()) << twice.messages();
  twice.set("x", {3});
  EXPECT_EQ(one(twice, "loss"), 81);
  EXPECT_EQ(one(twice, "g"), 108);
}

/// The window in one procedure, its Backward in another, the gradient in a third; twice in a row is stopped.
const char *const kApart = R"(func @forward() {
  tape {id=0} {
    %w = read @w : f64[3]
    %x = read @x : f64[3]
    %p = mul %w, %x : f64[3]
    %t = tanh %p : f64[3]
    %l = sum %t : f64
    write @loss, %l
    %m = mean %p : f64
    write @second, %m
    yield
  } !3:1
  return
}
func @back() {
  backward @loss {windows=[0]} !7:1
  return
}
)";
const char *const kApartVariables = "var @w : f64[3] tracked\nvar @x : f64[3]\nvar @loss : f64 tracked\nvar "
                                    "@second : f64 tracked\nvar @g : f64[3]\nvar @h : f64[3]\n";

TEST(GradWindows, BackwardInAnotherProcedure) {
  test::GradCheck check(text_of(kApartVariables, std::string(kApart) + R"(func @program.main() {
  call @forward()
  %x = read @x : f64[3]
  %z = zeros : f64[3]
  write @x, %z
  call @back()
  %g = gradient @w : f64[3]
  write @g, %g
  write @x, %x
  return
}
)"));
  ASSERT_TRUE(check.good()) << check.messages();
  check.fill("w", 1, -1, 1);
  check.fill("x", 2, -1, 1);
  check.compare("w", "g");
}

TEST(GradWindows, WalkedTwiceOrNeverRun) {
  for (bool twice : {true, false}) {
    std::string main = twice ? "  call @forward()\n  call @back()\n  call @back()\n" : "  call @back()\n";
    test::GradCheck check(
        text_of(kApartVariables, std::string(kApart) + "func @program.main() {\n" + main +
                                     "  %g = gradient @w : f64[3]\n  write @g, %g\n  return\n}\n"));
    ASSERT_TRUE(check.good()) << check.messages();
    try {
      check.gradient("g");
      FAIL() << "not stopped";
    } catch (const eval::Failure &failure) {
      EXPECT_EQ(std::string(failure.what()),
                twice ? "7: Backward(loss): this run of its window was walked already"
                      : "7: Backward(loss): its window has not run");
    }
  }
}

TEST(GradWindows, TwoLossesOfOneWindow) {
  for (bool spliced : {true, false}) {
    std::string body(kApart),
        calls = "  call @forward()\n  call @back()\n  %g = gradient @w : f64[3]\n  write @g, %g\n";
    if (spliced) {
      size_t from = body.find("  tape"), to = body.find("  return\n}\nfunc @back");
      calls = body.substr(from, to - from) +
              "  backward @loss {windows=[0]} !7:1\n  %g = gradient @w : f64[3]\n  write @g, %g\n";
      body.clear();
    }
    test::GradCheck check(text_of(
        kApartVariables,
        body + "func @program.main() {\n" + calls +
            "  backward @second {windows=[0]}\n  %h = gradient @w : f64[3]\n  write @h, %h\n  return\n}\n"));
    ASSERT_TRUE(check.good()) << check.messages();
    check.fill("w", 1, -1, 1);
    check.set("x", {1, 2, 3});
    check.compare("w", "g");
    std::vector<double> h = check.gradient("h");
    for (size_t k = 0; k < 3; ++k) EXPECT_DOUBLE_EQ(h[k], (static_cast<double>(k) + 1) / 3) << check.text();
  }
}

TEST(GradWindows, SeveralWindowsAssignOneLoss) {
  test::GradCheck check(text_of("var @a : f64 tracked\nvar @b : f64 tracked\nvar @loss : f64 tracked\nvar @n "
                                ": i32\nvar @ga : f64\nvar @gb : f64\n",
                                R"(
func @program.main() {
  %n = read @n : i32
  %zero = const 0 : i32
  %c = eq %n, %zero : bool
  if %c {
    tape {id=0} {
      %a = read @a : f64
      %s = sin %a : f64
      write @loss, %s
      yield
    }
    yield
  } else {
    tape {id=1} {
      %b = read @b : f64
      %e = exp %b : f64
      write @loss, %e
      yield
    }
    yield
  }
  backward @loss {windows=[0, 1]}
  %ga = gradient @a : f64
  write @ga, %ga
  %gb = gradient @b : f64
  write @gb, %gb
  return
}
)"));
  ASSERT_TRUE(check.good()) << check.messages();
  for (int n : {0, 1}) {
    check.set("n", {static_cast<double>(n)});
    check.set("a", {0.5});
    check.set("b", {0.25});
    check.compare("a", "ga");
    check.compare("b", "gb");
  }
}

TEST(GradWindows, UnreachedAndIntermediateVariables) { // B55 and B59
  test::GradCheck check(
      text_of("var @a : f64 tracked\nvar @b : f64 tracked\nvar @c : f64 tracked\nvar @d : f64 tracked\nvar "
              "@e : f64 tracked\nvar @u : f64 tracked\n"
              "var @ga : f64\nvar @gb : f64\nvar @gc : f64\nvar @gd : f64\nvar @ge : f64\nvar @gu : f64\n",
              R"(func @program.main() {
  tape {id=0} {
    %a = read @a : f64
    %b = read @b : f64
    %s = add %a, %b : f64
    write @c, %s
    %c = read @c : f64
    %d = read @d : f64
    %p = mul %c, %d : f64
    write @e, %p
    yield
  }
  backward @e {windows=[0]}
  %ga = gradient @a : f64
  write @ga, %ga
  %gb = gradient @b : f64
  write @gb, %gb
  %gc = gradient @c : f64
  write @gc, %gc
  %gd = gradient @d : f64
  write @gd, %gd
  %ge = gradient @e : f64
  write @ge, %ge
  %gu = gradient @u : f64
  write @gu, %gu
  return
}
)"));
  ASSERT_TRUE(check.good()) << check.messages();
  check.set("a", {3});
  check.set("b", {2});
  check.set("d", {1});
  const std::pair<const char *, double> kWant[] = {{"ga", 1}, {"gb", 1}, {"gc", 1},
                                                   {"gd", 5}, {"ge", 1}, {"gu", 0}};
  for (auto [name, want] : kWant) EXPECT_EQ(one(check, name), want) << name;
}

TEST(GradWindows, UntrackedRecursionStaysACall) {
  test::GradCheck check(text_of("var @x : f64 tracked\nvar @n : f64\nvar @loss : f64 tracked\nvar @g : f64\n",
                                R"(func @factorial(%n : f64) -> f64 {
  %one = const 1.0 : f64
  %c = gt %n, %one : bool
  %r = if %c : f64 {
    %m = sub %n, %one : f64
    %f = call @factorial(%m) : f64
    %p = mul %n, %f : f64
    yield %p
  } else {
    yield %one
  }
  return %r
}
func @program.main() {
  tape {id=0} {
    %n = read @n : f64
    %f = call @factorial(%n) : f64
    %x = read @x : f64
    %p = mul %x, %f : f64
    write @loss, %p
    yield
  }
  backward @loss {windows=[0]}
  %g = gradient @x : f64
  write @g, %g
  return
}
)"));
  ASSERT_TRUE(check.good()) << check.messages();
  check.set("x", {2});
  check.set("n", {5});
  EXPECT_EQ(one(check, "g"), 120);
}

TEST(GradWindows, Detach) {
  test::GradCheck check(
      text_of("var @x : f64 tracked\nvar @loss : f64 tracked\nvar @g : f64\n", R"(func @program.main() {
  tape {id=0} {
    %x = read @x : f64
    %d = detach %x : f64
    %p = mul %x, %d : f64
    write @loss, %p
    yield
  }
  backward @loss {windows=[0]}
  %g = gradient @x : f64
  write @g, %g
  return
}
)"));
  ASSERT_TRUE(check.good()) << check.messages();
  check.set("x", {3});
  EXPECT_EQ(one(check, "g"), 3);
}

TEST(GradWindows, CrossEntropyOfExtremeAndIgnoredRows) { // B01, B03
  auto text = [](const std::string &rows) {
    std::string shape = rows + ",3";
    return text_of("var @z : f64[" + shape + "] tracked\nvar @t : i32[" + rows +
                       "]\nvar @loss : f64 tracked\nvar @g : f64[" + shape + "]\n",
                   "func @program.main() {\n  tape {id=0} {\n    %z = read @z : f64[" + shape +
                       "]\n    %t = read @t : i32[" + rows +
                       "]\n    %l = cross_entropy %z, %t : f64 !4:5\n    write @loss, %l\n    yield\n  }\n  "
                       "backward @loss {windows=[0]}\n  %g = gradient @z : f64[" +
                       shape + "]\n  write @g, %g\n  return\n}\n");
  };
  test::GradCheck extreme(text("1"));
  ASSERT_TRUE(extreme.good()) << extreme.messages();
  extreme.set("z", {-431, 279, 427});
  EXPECT_EQ(one(extreme, "loss"), 858);
  std::vector<double> g = extreme.gradient("g");
  EXPECT_EQ(g[0], -1);
  EXPECT_NEAR(g[1], 5.30172e-65, 1e-69);
  EXPECT_EQ(g[2], 1);
  test::GradCheck ignored(text("2"));
  ignored.set("z", {1, NAN, INFINITY, 3, 4, 5});
  ignored.set("t", {-1, -1});
  EXPECT_EQ(one(ignored, "loss"), 0);
  EXPECT_FALSE(std::signbit(one(ignored, "loss")));
  for (double v : ignored.gradient("g")) EXPECT_EQ(v, 0);
  ignored.set("t", {-1, 2});
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(ignored.gradient("g")[k], 0);
  ignored.set("t", {0, 3});
  try {
    ignored.gradient("g");
    FAIL() << "not stopped";
  } catch (const eval::Failure &failure) {
    EXPECT_EQ(std::string(failure.what()), "4: class 3 in row 1 is outside 0..2");
  }
}

TEST(GradWindows, FaultsAreLocated) {
  struct Fault {
    const char *rest, *message;
  };
  const Fault kFaults[] = {
      {"func @program.main() {\n  tape {id=0} {\n    %x = read @x : f64\n    write @loss, %x\n    yield\n  } "
       "!2:1\n  %z = const 0.0 : f64\n  write @x, %z !3:1\n"
       "  backward @loss {windows=[0]} !4:1\n  return\n}\n",
       "3:1: error: x is assigned between its window and its Backward"},
      {"func @program.main() {\n  tape {id=0} {\n    %x = read @x : f64\n    write @loss, %x\n    yield\n  } "
       "!2:1\n  backward @loss {windows=[0]} !4:1\n"
       "  backward @loss {windows=[0]} !5:1\n  return\n}\n",
       "5:1: error: this run of the window was walked from loss already"},
      {"func external @f(%x : f64) -> f64\nfunc @program.main() {\n  tape {id=0} {\n    %x = read @x : f64\n "
       "   %y = call @f(%x) : f64 !3:3\n"
       "    write @loss, %y\n    yield\n  } !2:1\n  backward @loss {windows=[0]} !4:1\n  %g = gradient @x : "
       "f64\n  return\n}\n",
       "3:3: error: procedure @f has no gradient"},
      {"func @program.main() {\n  tape {id=0} {\n    %a = const 1 : i32\n    %b = const 5000 : i32\n    %z = "
       "zeros : f64[2]\n    for %a, %b {by=1} (%i : i32) {\n"
       "      %s = sum %z : f64\n      write @loss, %s\n      yield\n    } !3:3\n    yield\n  } !2:1\n  "
       "backward @loss {windows=[0]} !4:1\n  return\n}\n",
       "3:3: error: this loop of a window gives more than 4096 operations when it is unrolled"},
  };
  for (const Fault &fault : kFaults) {
    test::GradCheck check(
        text_of("source \"t.mica\"\nvar @x : f64 tracked\nvar @loss : f64 tracked\n", fault.rest));
    EXPECT_FALSE(check.good());
    EXPECT_NE(check.messages().find(fault.message), std::string::npos) << check.messages();
  }
}

} // namespace

namespace {

/// A verb and its lines, as a user would write them: the same bits, forward and gradient, in float32.
TEST(GradWindows, CompositeVerbsAreTheirLines) {
  auto program = [](const std::string &lines) {
    return text_of(
        "var @z : f32[6,5] tracked\nvar @t : i32[6]\nvar @loss : f32 tracked\nvar @g : f32[6,5]\n",
        "func @program.main() {\n  tape {id=0} {\n    %z = read @z : f32[6,5]\n    %t = read @t : i32[6]\n" +
            lines +
            "    write @loss, %l\n    yield\n  }\n  backward @loss {windows=[0]}\n  %g = gradient @z : "
            "f32[6,5]\n  write @g, %g\n  return\n}\n");
  };
  test::GradCheck verb(program("    %l = cross_entropy %z, %t : f32\n"));
  test::GradCheck lines(program(R"(    %none = const 0 : i32
    %counted = ge %t, %none : bool[6]
    %mask = reshape %counted : bool[6,1]
    %zero = const 0.0 : f32
    %x = select %mask, %z, %zero : f32[6,5]
    %y = log_softmax %x : f32[6,5]
    %p = row_pick %y, %t : f32[6]
    %s = sum %p : f32
    %n = count_from_zero %t : f32
    %one = const 1.0 : f32
    %m = maximum %n, %one : f32
    %d = sub %zero, %s : f32
    %l = div %d, %m : f32
)"));
  ASSERT_TRUE(verb.good()) << verb.messages();
  ASSERT_TRUE(lines.good()) << lines.messages();
  for (test::GradCheck *check : {&verb, &lines}) {
    check->fill("z", 5, -4, 4);
    check->set("t", {0, 3, -1, 4, 4, 1});
  }
  EXPECT_EQ(one(verb, "loss"), one(lines, "loss"));
  EXPECT_EQ(verb.gradient("g"), lines.gradient("g"));
}

/// A weight narrowed for a product gets the float32 sums of its gradient, not their rounding to the half.
TEST(GradWindows, NarrowedWeightsHaveUnroundedGradients) {
  test::GradCheck check(
      text_of("var @x : bf16[3,1]\nvar @w : f32[1,1] tracked\nvar @loss : f32 tracked\nvar @g : f32[1,1]\n",
              R"(func @program.main() {
  tape {id=0} {
    %x = read @x : bf16[3,1]
    %w = read @w : f32[1,1]
    %h = cast %w : bf16[1,1]
    %z = product %x, %h : bf16[3,1]
    %f = cast %z : f32[3,1]
    %l = sum %f : f32
    write @loss, %l
    yield
  }
  backward @loss {windows=[0]}
  %g = gradient @w : f32[1,1]
  write @g, %g
  return
}
)"));
  ASSERT_TRUE(check.good()) << check.messages();
  check.set("x", {1, 0.0078125, 0.00048828125});
  check.set("w", {1});
  EXPECT_EQ(one(check, "g"), 1.00830078125); // bfloat16 would hold 1.0078125
}

} // namespace
