// Every gradient rule against central differences in float64: the program is run as it is, with each tracked
// cell moved, and its gradients are those that mica-grad's text computes.
#include "grad_check.h"

using namespace mica;

namespace {

/// One operation under test: its line, how its operands are drawn and shaped.
struct Case {
  const char *name;
  std::string lines;               ///< from %a (and %b, %c) to %y
  std::vector<std::string> shapes; ///< of a, b, c
  double low = -2, high = 2;
};

std::string sizes_of(const std::string &shape) { return shape.empty() ? "f64" : "f64[" + shape + "]"; }

/// A program whose loss is the sum of %y times fixed weights, so that every cell of the adjoint differs.
std::string program(const Case &c, const std::string &y_type) {
  const char *names[] = {"a", "b", "c"};
  std::string text = "spectra 1 checked\noptions device=cpu tier=O2\nprogram t\nvar @loss : f64 tracked\n";
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    text += std::string("var @") + names[i] + " : " + sizes_of(c.shapes[i]) + " tracked\n";
    text += std::string("var @g") + names[i] + " : " + sizes_of(c.shapes[i]) + "\n";
  }
  text += "var @weight : " + y_type + "\nvar @ids : i32[3]\n";
  text += "func @program.main() {\n  tape {id=0} {\n";
  for (size_t i = 0; i < c.shapes.size(); ++i)
    text += std::string("    %") + names[i] + " = read @" + names[i] + " : " + sizes_of(c.shapes[i]) + "\n";
  text += c.lines;
  text += "    %weight = read @weight : " + y_type + "\n    %wy = mul %y, %weight : " + y_type + "\n";
  if (y_type == "f64")
    text += "    write @loss, %wy\n";
  else
    text += "    %l = sum %wy : f64\n    write @loss, %l\n";
  text += "    yield\n  }\n  backward @loss {windows=[0]}\n";
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    std::string n = names[i];
    text += "  %g" + n + " = gradient @" + n + " : " + sizes_of(c.shapes[i]) + "\n  write @g" + n + ", %g" +
            n + "\n";
  }
  return text + "  return\n}\nend\n";
}

void check_case(const Case &c, const std::string &y_type, unsigned seed) {
  SCOPED_TRACE(c.name + std::string(" ") + c.lines);
  test::GradCheck check(program(c, y_type));
  ASSERT_TRUE(check.good()) << check.messages();
  const char *names[] = {"a", "b", "c"};
  for (size_t i = 0; i < c.shapes.size(); ++i)
    check.fill(names[i], seed * 7 + static_cast<unsigned>(i), c.low, c.high);
  check.fill("weight", seed + 100, -1, 1);
  check.set("ids", {2, 0, 2});
  for (size_t i = 0; i < c.shapes.size(); ++i) check.compare(names[i], std::string("g") + names[i]);
}

struct Function {
  const char *name;
  double low, high;
};
constexpr Function kFunctions[] = {
    {"neg", -2, 2},        {"abs", -2, 2},        {"sqrt", 0.2, 3},  {"rsqrt", 0.2, 3}, {"exp", -2, 2},
    {"ln", 0.2, 3},        {"log10", 0.2, 3},     {"sin", -3, 3},    {"cos", -3, 3},    {"tan", -1, 1},
    {"arcsin", -0.9, 0.9}, {"arccos", -0.9, 0.9}, {"arctan", -2, 2}, {"tanh", -2, 2},   {"sigmoid", -3, 3},
    {"silu", -3, 3},       {"erf", -2, 2},        {"erfc", -2, 2},   {"relu", -2, 2},   {"gelu", -3, 3},
    {"gelu_tanh", -3, 3}};

TEST(GradRules, FunctionsOfOneOperand) {
  for (const Function &f : kFunctions)
    for (std::string shape : {"", "5", "3,4", "0,4"})
      check_case({f.name,
                  "    %y = " + std::string(f.name) + " %a : " + sizes_of(shape) + "\n",
                  {shape},
                  f.low,
                  f.high},
                 sizes_of(shape), 1);
}

TEST(GradRules, BroadcastArithmetic) {
  struct Shapes {
    const char *a, *b, *y;
  };
  constexpr Shapes kShapes[] = {{"3,4", "3,4", "3,4"}, {"3,4", "4", "3,4"},   {"4", "3,4", "3,4"},
                                {"3,4", "3,1", "3,4"}, {"3,1", "3,4", "3,4"}, {"2,3,4", "3,4", "2,3,4"},
                                {"", "3,4", "3,4"},    {"3,4", "", "3,4"},    {"", "", ""},
                                {"0,4", "4", "0,4"},   {"1", "5", "5"}};
  for (const char *op : {"add", "sub", "mul", "div", "pow", "fmod", "maximum", "minimum"})
    for (const Shapes &s : kShapes)
      check_case(
          {op, "    %y = " + std::string(op) + " %a, %b : " + sizes_of(s.y) + "\n", {s.a, s.b}, 0.3, 2.7},
          sizes_of(s.y), 3);
  check_case({"fma", "    %y = fma %a, %b, %c : f64[3,4]\n", {"3,4", "4", "3,1"}}, "f64[3,4]", 4);
  check_case(
      {"select", "    %k = gt %a, %b : bool[3,4]\n    %y = select %k, %a, %b : f64[3,4]\n", {"3,4", "4"}},
      "f64[3,4]", 5);
  check_case({"select",
              "    %one = const 0.5 : f64\n    %k = gt %a, %one : bool[3,1]\n    %y = select %k, %b, %one : "
              "f64[3,4]\n",
              {"3,1", "3,4"}},
             "f64[3,4]", 5);
  check_case({"twice", "    %y = mul %a, %a : f64[4]\n", {"4"}}, "f64[4]", 6);
}

TEST(GradRules, Layout) {
  const Case kCases[] = {
      {"reshape", "    %y = reshape %a : f64[12]\n", {"3,4"}},
      {"transpose", "    %t = transpose %a : f64[2,4,3]\n    %y = reshape %t : f64[12,2]\n", {"2,3,4"}},
      {"permute",
       "    %p = permute %a {order=[2, 0, 1]} : f64[4,2,3]\n    %y = reshape %p : f64[12,2]\n",
       {"2,3,4"}},
      {"concat", "    %p = concat %a, %b, %a : f64[6,4]\n    %y = reshape %p : f64[12,2]\n", {"6,1", "6,2"}},
      {"broadcast", "    %p = broadcast %a : f64[6,4]\n    %y = reshape %p : f64[12,2]\n", {"4"}},
      {"filled", "    %y = filled %a : f64[12,2]\n", {""}},
      {"slice",
       "    %i = const 1 : i64\n    %p = slice %a, %i {count=2} : f64[12,2]\n    %y = mul %p, %p : "
       "f64[12,2]\n",
       {"12,4"}},
      {"slice_rows", "    %i = const 2 : i32\n    %y = slice_rows %a, %i {count=12} : f64[12,2]\n", {"15,2"}},
      {"row",
       "    %i = const 1 : i32\n    %p = row %a, %i : f64[12,2]\n    %y = mul %p, %p : f64[12,2]\n",
       {"3,12,2"}},
      {"cell",
       "    %i = const 1 : i32\n    %j = const 2 : i32\n    %p = cell %a, %i, %j, %i : f64\n    %y = filled "
       "%p : f64[12,2]\n",
       {"2,3,2"}},
      {"gather",
       "    %ids = read @ids : i32[3]\n    %p = gather %a, %ids : f64[3,8]\n    %y = reshape %p : "
       "f64[12,2]\n",
       {"4,8"}},
  };
  for (const Case &c : kCases) check_case(c, c.name == std::string("reshape") ? "f64[12]" : "f64[12,2]", 7);
}

TEST(GradRules, Products) {
  struct Product {
    const char *a, *b, *flags, *y;
  };
  constexpr Product kProducts[] = {{"3,4", "4,2", "", "3,2"},
                                   {"4,3", "4,2", " {transpose_a}", "3,2"},
                                   {"3,4", "2,4", " {transpose_b}", "3,2"},
                                   {"4,3", "2,4", " {transpose_a, transpose_b}", "3,2"},
                                   {"4", "4,2", "", "2"},
                                   {"3,4", "4", "", "3"},
                                   {"4", "2,4", " {transpose_b}", "2"},
                                   {"2,3,4", "4,2", "", "2,3,2"},
                                   {"2,3,4", "2,4", " {transpose_b}", "2,3,2"},
                                   {"2,3,4", "2,4,5", "", "2,3,5"},
                                   {"2,4,3", "2,4,5", " {transpose_a}", "2,3,5"},
                                   {"2,3,4", "2,5,4", " {transpose_b}", "2,3,5"},
                                   {"2,4,3", "4,2", " {transpose_a}", "2,3,2"},
                                   {"2,3,4", "4", "", "2,3"},
                                   {"3,0", "0,4", "", "3,4"},
                                   {"0,4", "4,2", "", "0,2"},
                                   {"130,3", "3,2", "", "130,2"}};
  for (const Product &p : kProducts)
    check_case({"product",
                "    %y = product %a, %b" + std::string(p.flags) + " : " + sizes_of(p.y) + "\n",
                {p.a, p.b}},
               sizes_of(p.y), 9);
}

TEST(GradRules, Reductions) {
  for (const char *op : {"sum", "mean", "max", "min", "norm"})
    for (const char *shape : {"5", "3,4", "2,3,4"})
      check_case({op, "    %p = " + std::string(op) + " %a : f64\n    %y = mul %p, %p : f64\n", {shape}},
                 "f64", 11);
  for (const char *op : {"column_sum", "column_mean"})
    check_case(
        {op, "    %p = " + std::string(op) + " %a : f64[4]\n    %y = mul %p, %p : f64[4]\n", {"2,3,4"}},
        "f64[4]", 12);
  check_case({"sum_to", "    %y = sum_to %a : f64[3,1]\n", {"2,3,4"}}, "f64[3,1]", 13);
}

TEST(GradRules, Rows) {
  for (const char *op : {"row_sum", "row_mean", "row_max"}) {
    check_case({op,
                "    %p = " + std::string(op) + " %a : f64[2,3,1]\n    %y = mul %p, %p : f64[2,3,1]\n",
                {"2,3,4"}},
               "f64[2,3,1]", 14);
    check_case({op, "    %y = " + std::string(op) + " %a : f64[1]\n", {"5"}}, "f64[1]", 15);
    check_case({op, "    %y = " + std::string(op) + " %a : f64[0,1]\n", {"0,4"}}, "f64[0,1]", 15);
  }
  for (const char *op : {"softmax", "log_softmax"})
    for (const char *shape : {"5", "3,4", "2,3,4", "3,1", "0,4"})
      check_case({op, "    %y = " + std::string(op) + " %a : " + sizes_of(shape) + "\n", {shape}},
                 sizes_of(shape), 16);
  check_case({"row_pick", "    %ids = read @ids : i32[3]\n    %y = row_pick %a, %ids : f64[3]\n", {"3,4"}},
             "f64[3]", 17);
}

TEST(GradRules, CrossEntropy) {
  for (const char *op : {"cross_entropy", "cross_entropy_sum"})
    for (const char *attrs : {"", " {classes=3}"})
      check_case(
          {op,
           "    %ids = read @ids : i32[3]\n    %y = " + std::string(op) + " %a, %ids" + attrs + " : f64\n",
           {"3,5"}},
          "f64", 18);
}

TEST(GradRules, Norms) {
  struct Norm {
    const char *op, *vectors;
    std::vector<std::string> more;
  };
  const Norm kNorms[] = {{"layer_norm", "%a, %b, %c", {"4", "4"}},
                         {"layer_norm_scaled", "%a, %b", {"4"}},
                         {"rms_norm", "%a, %b", {"4"}},
                         {"batch_norm", "%a, %b, %c", {"4", "4"}}};
  for (const Norm &n : kNorms)
    for (const char *shape : {"3,4", "2,3,4", "1,4", "0,4"}) {
      if (std::string(n.op) == "batch_norm" && std::string(shape) != "3,4" && std::string(shape) != "2,3,4")
        continue; // one row has no variance, none no mean
      std::vector<std::string> shapes{shape};
      shapes.insert(shapes.end(), n.more.begin(), n.more.end());
      check_case({n.op,
                  "    %eps = const 0.01 : f64\n    %y = " + std::string(n.op) + " " + n.vectors +
                      ", %eps : " + sizes_of(shape) + "\n",
                  shapes},
                 sizes_of(shape), 21);
    }
  check_case({"layer_norm",
              "    %eps = const 0.01 : f64\n    %y = layer_norm %a, %b, %c, %eps : f64[5]\n",
              {"5", "5", "5"}},
             "f64[5]", 22);
  check_case({"batch_norm_fixed",
              "    %eps = const 0.01 : f64\n    %k = const 0.3 : f64\n    %m = filled %k : f64[4]\n    %v = exp %m : f64[4]\n"
              "    %y = batch_norm_fixed %a, %b, %c, %m, %v, %eps : f64[3,4]\n",
              {"3,4", "4", "4"}},
             "f64[3,4]", 23);
}

TEST(GradRules, Attention) {
  struct Shapes {
    const char *q, *k, *y, *rows;
    int heads;
  };
  constexpr Shapes kShapes[] = {{"4,6", "4,6", "4,6", "2,4,2", 2},
                                {"2,5,4", "2,5,4", "2,5,4", "2,1,5,2", 1},
                                {"1,3", "1,3", "1,3", "3,1,2", 3},
                                {"2,3,4", "2,7,4", "2,3,4", "2,2,3,2", 2},
                                {"2,7,4", "2,3,4", "2,7,4", "2,2,7,2", 2},
                                {"1,4", "5,4", "1,4", "1,1,2", 1},
                                {"2,2,3,2", "2,2,3,2", "2,2,3,2", "2,2,1,3,2", 1},
                                {"0,4", "3,4", "0,4", "2,0,2", 2}};
  for (const char *causal : {"", ", causal"})
    for (const Shapes &s : kShapes)
      check_case({"attention",
                  "    %y, %rows = attention %a, %b, %c {heads=" + std::to_string(s.heads) + causal +
                      "} : " + sizes_of(s.y) + ", " + sizes_of(s.rows) + "\n",
                  {s.q, s.k, s.k}},
                 sizes_of(s.y), 19);
  struct Packed {
    const char *x, *y, *rows;
    int heads;
  };
  constexpr Packed kPacked[] = {{"5,12", "5,4", "2,5,2", 2}, {"2,3,9", "2,3,3", "2,1,3,2", 1}};
  for (const char *causal : {"", ", causal"})
    for (const Packed &s : kPacked)
      check_case({"attention",
                  "    %y, %rows = attention %a {heads=" + std::to_string(s.heads) + causal +
                      "} : " + sizes_of(s.y) + ", " + sizes_of(s.rows) + "\n",
                  {s.x}},
                 sizes_of(s.y), 20);
}

/// Whatever the table says has a rule must have one: the reversal throws otherwise, so each is named above or
/// here.
TEST(GradRules, EveryRuleOfTheTableIsTested) {
  const std::set<std::string> elsewhere = {
      "read",  "write", "copy_value", "if",     "switch", "for",
      "while", "call",  "cast",       "to_gpu", "dropout"}; // tests/run/dropout.test: its draws are the
                                                            // runtime's
  const std::set<std::string> here = {"add",           "sub",
                                      "mul",           "div",
                                      "pow",           "fmod",
                                      "maximum",       "minimum",
                                      "fma",           "select",
                                      "reshape",       "transpose",
                                      "permute",       "concat",
                                      "broadcast",     "filled",
                                      "slice",         "slice_rows",
                                      "row",           "cell",
                                      "gather",        "product",
                                      "sum",           "mean",
                                      "max",           "min",
                                      "norm",          "column_sum",
                                      "column_mean",   "sum_to",
                                      "row_sum",       "row_mean",
                                      "row_max",       "softmax",
                                      "log_softmax",   "row_pick",
                                      "cross_entropy", "cross_entropy_sum",
                                      "attention",     "layer_norm",
                                      "rms_norm",      "layer_norm_scaled",
                                      "batch_norm",    "batch_norm_fixed"};
  const spectra::OpCode kAll[] = {
#define SPECTRA_OP(name, ...) spectra::OpCode::name,
#include "spectra/ops.inc"
#undef SPECTRA_OP
  };
  for (spectra::OpCode code : kAll) {
    const spectra::OpInfo &row = spectra::info(code);
    if (row.gradient != spectra::GradientKind::rule) continue;
    bool function = false;
    for (const Function &f : kFunctions) function |= std::string(f.name) == row.name;
    EXPECT_TRUE(function || here.count(row.name) || elsewhere.count(row.name))
        << row.name << " has a gradient rule without a test";
  }
}

} // namespace
