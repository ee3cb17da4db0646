// Programs drawn at random: straight lines, branches, loops that stay and loops that are unrolled, exits,
// calls, recursion, aggregates by constant and run-time index. Their gradients equal central differences.
#include "grad_check.h"

using namespace mica;

namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : random_(seed), apart_(seed % 3 == 0) {}

  std::string program() {
    std::string text = R"(spectra 1 checked
options device=cpu tier=O2
program t
record L { w : f64[3] tracked, s : f64 tracked }
var @loss : f64 tracked
var @n : i32
)";
    for (const char *v : {"s0", "s1", "s2"})
      text += "var @" + std::string(v) + " : f64 tracked\nvar @g" + v + " : f64\n";
    for (const char *v : {"v0", "v1"})
      text += "var @" + std::string(v) + " : f64[3] tracked\nvar @g" + v + " : f64[3]\n";
    text += "var @a : array<1..4, f64 tracked>\nvar @ga : array<1..4, f64>\nvar @layers : array<1..3, "
            "record<L>>\nvar @gw : f64[3]\nvar @gs : f64\n";
    text += kFunctions;
    text += std::string(apart_ ? "func @forward() {" : "func @program.main() {") +
            "\n  local $t : f64 tracked\n  local $u : f64[3] tracked\n  local $k2 : "
            "i32\n  local $k3 : i32\n  local $k4 : i32\n  tape {id=0} {\n";
    depth_ = 2;
    // Every variable's first value takes part: the gradient of one that the window only writes is that of its
    // last value.
    std::string total = constant(0.25);
    for (const char *v : {"@s0", "@s1", "@s2", "@a[1]", "@a[2]", "@a[3]", "@a[4]", "@layers[3].s"})
      total = two("add", total, read(v, "f64"), "f64");
    for (const char *v : {"@v0", "@v1", "@layers[2].w"})
      total = two("add", total, one("sum", read(v, "f64[3]"), "f64"), "f64");
    statements(6);
    total = two("add", total, read("@s0", "f64"), "f64");
    for (const char *v : {"@s1", "@s2", "$t"}) total = two("add", total, read(v, "f64"), "f64");
    for (const char *v : {"@v0", "@v1", "$u"}) {
      std::string sum = fresh();
      std::string whole = read(v, "f64[3]");
      line(sum + " = sum " + whole + " : f64");
      total = two("add", total, two("mul", sum, constant(0.7), "f64"), "f64");
    }
    total = two("add", total, read("@a[2]", "f64"), "f64");
    total = two("add", total, read("@layers[1].s", "f64"), "f64");
    line("write @loss, " + total);
    line("yield");
    // The window in a procedure of its own: its values cross in hidden variables.
    text += body_ + "  }\n";
    if (apart_) text += "  return\n}\nfunc @program.main() {\n  call @forward()\n";
    text += "  backward @loss {windows=[0]}\n";
    for (const char *v : {"s0", "s1", "s2"})
      text += gradient("@" + std::string(v), "@g" + std::string(v), "f64");
    for (const char *v : {"v0", "v1"})
      text += gradient("@" + std::string(v), "@g" + std::string(v), "f64[3]");
    for (int i = 1; i <= 4; ++i)
      text += gradient("@a[" + std::to_string(i) + "]", "@ga[" + std::to_string(i) + "]", "f64");
    text += gradient("@layers[2].w", "@gw", "f64[3]") + gradient("@layers[3].s", "@gs", "f64");
    return text + "  return\n}\nend\n";
  }

private:
  static constexpr const char *kFunctions = R"(func @early(%x : f64, %y : f64) -> f64 {
  %half = const 0.5 : f64
  %c = gt %x, %half : bool
  if %c {
    %p = mul %x, %y : f64
    return %p
  } else {
    yield
  }
  %q = sin %y : f64
  %r = add %q, %x : f64
  return %r
}
func @first(%x : f64[3]) -> f64 {
  local $sum : f64 tracked
  %one = const 1 : i32
  %four = const 4 : i32
  %limit = const 2.5 : f64
  for %one, %four {by=1} (%i : i32) {
    %a = read @a[%i] : f64
    %s = read $sum : f64
    %t = add %s, %a : f64
    write $sum, %t
    %c = gt %t, %limit : bool
    if %c {
      %m = sum %x : f64
      %k = mul %m, %t : f64
      return %k
    } else {
      yield
    }
    yield
  }
  %s.1 = read $sum : f64
  return %s.1
}
func @deep(%x : f64, %n : i32) -> f64 {
  %zero = const 0 : i32
  %c = le %n, %zero : bool
  if %c {
    %s = read @s1 : f64
    %q = sin %s : f64
    %b = mul %q, %x : f64
    return %b
  } else {
    yield
  }
  %one = const 1 : i32
  %m = sub %n, %one : i32
  %y = read @a[2] : f64
  %p = mul %x, %y : f64
  %t = tanh %p : f64
  %r = call @deep(%t, %m) : f64
  %u = mul %r, %x : f64
  %k = call @other(%u, %m) : f64
  write @s2, %u
  for %one, %n {by=1} (%i : i32) {
    %e = read @a[%i] : f64
    %f = call @other(%e, %zero) : f64
    write @a[%i], %f
    yield
  }
  %v = add %k, %r : f64
  %w = sin %v : f64
  return %w
}
func @other(%x : f64, %n : i32) -> f64 {
  %zero = const 0 : i32
  %c = gt %n, %zero : bool
  %r = if %c : f64 {
    %one = const 1 : i32
    %m = sub %n, %one : i32
    %s = cos %x : f64
    %d = call @deep(%s, %m) : f64
    yield %d
  } else {
    %q = sin %x : f64
    yield %q
  }
  return %r
}
func @layer(%l : ptr<record<L>>, %x : f64[3]) -> f64[3] {
  %w = read %l^.w : f64[3]
  %s = read %l^.s : f64
  %p = mul %w, %x : f64[3]
  %q = mul %p, %s : f64[3]
  %y = tanh %q : f64[3]
  %z = cos %s : f64
  write %l^.s, %z
  return %y
}
)";

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string fresh() { return "%x" + std::to_string(count_++); }
  void line(const std::string &text) {
    body_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n";
  }
  std::string gradient(const std::string &of, const std::string &to, const std::string &type) {
    std::string v = fresh();
    return "  " + v + " = gradient " + of + " : " + type + "\n  write " + to + ", " + v + "\n";
  }
  std::string read(const std::string &place, const std::string &type) {
    std::string v = fresh();
    line(v + " = read " + place + " : " + type);
    return v;
  }
  std::string constant(double value) {
    std::string v = fresh();
    std::ostringstream text;
    text << value;
    line(v + " = const " + text.str() + (text.str().find('.') == std::string::npos ? ".0" : "") + " : f64");
    return v;
  }
  std::string integer(int value) {
    std::string v = fresh();
    line(v + " = const " + std::to_string(value) + " : i32");
    return v;
  }
  std::string one(const std::string &op, const std::string &a, const std::string &type) {
    std::string v = fresh();
    line(v + " = " + op + " " + a + " : " + type);
    return v;
  }
  std::string two(const std::string &op, const std::string &a, const std::string &b,
                  const std::string &type) {
    std::string v = fresh();
    line(v + " = " + op + " " + a + ", " + b + " : " + type);
    return v;
  }

  std::string scalar_place() {
    switch (pick(counter_.empty() ? 6 : 8)) {
    case 0: return "@s0";
    case 1: return "@s1";
    case 2: return "@s2";
    case 3: return "$t";
    case 4: return "@a[" + std::to_string(1 + pick(4)) + "]";
    case 5: return "@layers[" + std::to_string(1 + pick(3)) + "].s";
    default: return "@a[" + counter_ + "]";
    }
  }
  std::string whole_place() {
    switch (pick(4)) {
    case 0: return "@v0";
    case 1: return "@v1";
    case 2: return "$u";
    default:
      return "@layers[" +
             (counter_.empty() || pick(2) || !counter_fits_layers_ ? std::to_string(1 + pick(3)) : counter_) +
             "].w";
    }
  }
  std::string scalar() {
    static const char *const kOne[] = {"sin", "cos", "tanh", "sigmoid", "neg", "exp"};
    static const char *const kTwo[] = {"add", "sub", "mul"};
    std::string x = read(scalar_place(), "f64");
    switch (pick(6)) {
    case 5: {
      if (recursions_++ > 1) return one("cos", x, "f64");
      std::string y = fresh();
      line(y + " = call @deep(" + x + ", " + read("@n", "i32") + ") : f64");
      return y;
    }
    case 0: {
      std::string bounded = one("tanh", x, "f64");
      return one(kOne[pick(6)], bounded, "f64");
    }
    case 1: {
      std::string y = fresh();
      line(y + " = call @early(" + x + ", " + read(scalar_place(), "f64") + ") : f64");
      return one("sin", y, "f64");
    }
    default: {
      std::string y = read(scalar_place(), "f64");
      return one("sin", two(kTwo[pick(3)], x, y, "f64"), "f64");
    }
    }
  }
  std::string whole() {
    std::string x = read(whole_place(), "f64[3]");
    switch (pick(5)) {
    case 0: return one("softmax", x, "f64[3]");
    case 1: return one("sin", two("mul", x, read(scalar_place(), "f64"), "f64[3]"), "f64[3]");
    case 2: {
      std::string p = fresh(), y = fresh();
      bool by_counter = !counter_.empty() && counter_fits_layers_ && pick(2);
      line(p + " = address @layers[" + (by_counter ? counter_ : std::to_string(1 + pick(3))) +
           "] : ptr<record<L>>");
      line(y + " = call @layer(" + p + ", " + x + ") : f64[3]");
      return y;
    }
    default:
      return one("sin", two(pick(2) ? "mul" : "add", x, read(whole_place(), "f64[3]"), "f64[3]"), "f64[3]");
    }
  }
  void statements(int n) {
    for (int i = 0; i < n; ++i) statement();
  }
  void statement() {
    switch (pick(depth_ > 4 ? 4 : 10)) {
    case 0:
    case 1: {
      std::string v = scalar();
      line("write " + scalar_place() + ", " + v);
      return;
    }
    case 2: {
      if (scalars_only_) return statement();
      std::string v = whole();
      line("write " + whole_place() + ", " + v);
      return;
    }
    case 3: {
      if (scalars_only_) return statement();
      std::string x = read(whole_place(), "f64[3]"), y = fresh();
      if (pick(2))
        line(y + " = sum " + x + " : f64");
      else
        line(y + " = call @first(" + x + ") : f64");
      line("write " + scalar_place() + ", " + one("sin", y, "f64"));
      return;
    }
    case 4:
    case 5: branch(); return;
    case 6: {
      std::string x = read("@n", "i32");
      line("switch " + x + " {labels=[0, 1, 1, 1, 2, 5]} {");
      for (int r = 0; r < 3; ++r) {
        ++depth_;
        statements(1);
        line("yield");
        --depth_;
        line(r < 2 ? "} else {" : "}");
      }
      return;
    }
    default: loop(); return;
    }
  }
  void branch() {
    std::string c = fresh();
    std::string x = read(scalar_place(), "f64"), limit = constant(0.1 * pick(7) - 0.3);
    line(c + " = gt " + x + ", " + limit + " : bool");
    line("if " + c + " {");
    for (int r = 0; r < 2; ++r) {
      ++depth_;
      statements(pick(3));
      bool leaves = may_leave_ && pick(3) == 0;
      line(leaves ? pick(2) ? "break" : "continue" : "yield");
      --depth_;
      line(r == 0 ? "} else {" : "}");
    }
  }
  /// Runs while a counter and a tracked value allow it; work stands in both of its regions.
  void while_loop() {
    bool outer_leave = may_leave_;
    std::string outer = counter_, k = "$k" + std::to_string(depth_), zero = integer(0);
    line("write " + k + ", " + zero);
    bool carries = pick(2) == 0;
    may_leave_ = false;
    counter_.clear();
    std::string first = carries ? read(scalar_place(), "f64") : std::string(), result = fresh(), v = fresh(),
                w = fresh();
    line(carries ? result + " = while " + first + " : f64 (" + v + " : f64) {" : "while {");
    ++depth_;
    if (pick(2)) statements(1);
    std::string limit = pick(2) ? read("@n", "i32") : integer(2), c = fresh(), d = fresh(), both = fresh();
    std::string at = read(k, "i32");
    line(c + " = lt " + at + ", " + limit + " : bool");
    std::string x = carries ? v : read("@s1", "f64");
    line(d + " = lt " + x + ", " + constant(0.9) + " : bool");
    line(both + " = and " + c + ", " + d + " : bool");
    line("yield " + both + (carries ? ", " + one("sin", two("add", v, scalar(), "f64"), "f64") : ""));
    --depth_;
    line(carries ? "} do (" + w + " : f64) {" : "} do {");
    ++depth_;
    std::string one_ = integer(1), next = fresh(), now = read(k, "i32");
    line(next + " = add " + now + ", " + one_ + " : i32");
    line("write " + k + ", " + next);
    statements(1 + pick(2));
    line(carries ? "yield " + two("mul", w, constant(0.8), "f64") : "yield");
    --depth_;
    line("}");
    counter_ = outer;
    may_leave_ = outer_leave;
    if (carries) line("write " + scalar_place() + ", " + result);
  }
  void loop() {
    if (pick(3) == 0) return while_loop();
    bool outer_only = scalars_only_, outer_leave = may_leave_, outer_fits = counter_fits_layers_;
    std::string outer = counter_;
    bool runtime = pick(3) == 0; // a bound that is read: the loop stays
    std::string low = integer(1), high = runtime ? read("@n", "i32") : integer(3);
    scalars_only_ |= pick(2) == 0;
    bool carries = pick(3) == 0;
    may_leave_ = !carries;
    std::string first = carries ? read(scalar_place(), "f64") : std::string(), carried = fresh(),
                result = fresh();
    counter_ = fresh();
    counter_fits_layers_ = true;
    bool down = pick(3) == 0;
    std::string head = "for " + (down ? high + ", " + low : low + ", " + high);
    std::string attributes = down ? " {by=1, down}" : " {by=1}";
    if (carries)
      line(result + " = " + head + ", " + first + attributes + " : f64 (" + counter_ + " : i32, " + carried +
           " : f64) {");
    else
      line(head + attributes + " (" + counter_ + " : i32) {");
    ++depth_;
    statements(1 + pick(2));
    line(carries ? "yield " + one("sin", two("mul", carried, scalar(), "f64"), "f64") : "yield");
    --depth_;
    line("}");
    counter_ = outer;
    scalars_only_ = outer_only;
    may_leave_ = outer_leave;
    counter_fits_layers_ = outer_fits;
    if (carries) line("write " + scalar_place() + ", " + result);
  }

  std::mt19937 random_;
  std::string body_, counter_;
  int count_ = 0, depth_ = 0, recursions_ = 0;
  bool apart_;
  bool scalars_only_ = false, may_leave_ = false, counter_fits_layers_ = false;
};

TEST(GradRandom, ProgramsMatchDifferences) {
  int programs = 150;
  if (const char *more = std::getenv("MICA_RANDOM_PROGRAMS")) programs = std::atoi(more);
  for (int seed = 1; seed <= programs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::string text = Generator(static_cast<unsigned>(seed)).program();
    test::GradCheck check(text);
    ASSERT_TRUE(check.good()) << check.messages() << text;
    for (const char *v : {"s0", "s1", "s2", "v0", "v1", "a[1]", "a[2]", "a[3]", "a[4]", "layers[1].w",
                          "layers[2].w", "layers[3].w", "layers[1].s", "layers[2].s", "layers[3].s"})
      check.fill(v,
                 static_cast<unsigned>(seed) * 31 + static_cast<unsigned>(v[0]) + static_cast<unsigned>(v[1]),
                 -1.5, 1.5);
    check.set("n", {static_cast<double>(seed % 4)});
    const std::pair<const char *, const char *> kPairs[] = {
        {"s0", "gs0"},     {"s1", "gs1"},         {"s2", "gs2"},        {"v0", "gv0"},
        {"v1", "gv1"},     {"a[1]", "ga[1]"},     {"a[2]", "ga[2]"},    {"a[3]", "ga[3]"},
        {"a[4]", "ga[4]"}, {"layers[2].w", "gw"}, {"layers[3].s", "gs"}};
    for (auto [variable, gradient] : kPairs) {
      check.compare(variable, gradient, 1e-6, true);
      if (::testing::Test::HasFailure()) {
        std::cerr << text;
        return;
      }
    }
  }
}

} // namespace
