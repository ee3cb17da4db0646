// Loops that end at a type's first or last value, steps, breaks, calls through values, exits.
#include "codegen_program.h"

namespace mica::codegen {
namespace {

/// How many turns a loop takes, and its last counter.
std::string turns(const std::string &type, const std::string &from, const std::string &to,
                  const std::string &attributes, const std::string &tier) {
  Outcome got =
      run_fused(tier, "var @n : i32\nvar @a : " + type + " = " + from + "\nvar @b : " + type + " = " + to +
                          "\nvar @last : " + type + "\n" +
                          main_of("  %a = read @a : " + type + "\n  %b = read @b : " + type +
                                  "\n  for %a, %b {" + attributes + "} (%i : " + type +
                                  ") {\n    %n = read @n : i32\n    %one = const 1 : i32\n"
                                  "    %m = add %n, %one : i32\n    write @n, %m\n    write @last, "
                                  "%i\n    yield\n  }\n  %total = read @n : i32\n  %l = read @last : " +
                                  type + "\n  print %total, %l {format=\"%v %v\"}\n"));
  return got.out + got.err;
}

TEST(CodegenLoops, EndAtTheTypesLimits) {
  for (const char *tier : {"debug", "O2"}) {
    EXPECT_EQ(turns("u8", "1", "255", "by=1", tier), "255 255");
    EXPECT_EQ(turns("u8", "255", "0", "by=1, down", tier), "256 0");
    EXPECT_EQ(turns("i8", "-128", "127", "by=1", tier), "256 127");
    EXPECT_EQ(turns("i8", "-128", "127", "by=100", tier), "3 72");
    EXPECT_EQ(turns("i8", "127", "-128", "by=100, down", tier), "3 -73");
    EXPECT_EQ(turns("u8", "250", "255", "by=4", tier), "2 254");
    EXPECT_EQ(turns("i32", "2147483646", "2147483647", "by=1", tier), "2 2147483647");
    EXPECT_EQ(turns("i64", "-9223372036854775807", "9223372036854775807", "by=9223372036854775807", tier),
              "3 9223372036854775807");
    EXPECT_EQ(turns("i8", "5", "4", "by=1", tier), "0 0");
    EXPECT_EQ(turns("i8", "1", "100", "by=300", tier), "1 1");
  }
}

TEST(CodegenLoops, CarriedValuesBreakAndContinue) {
  std::string body =
      "func @count(%n : i32) -> i32 {\n  local $s : i32\n  %a = const 0 : i32\n  %five = const 5 : i32\n  "
      "%eight = const 8 : i32\n  for %a, %n {by=1} (%i : i32) {\n    %c = eq %i, %five : bool\n"
      "    if %c {\n      continue\n    } else {\n      yield\n    }\n    %d = gt %i, %eight : bool\n    if "
      "%d {\n      break\n    } else {\n      yield\n    }\n    %s = read $s : i32\n    %t = add %s, %i : "
      "i32\n    write $s, %t\n    yield\n  }\n"
      "  %all = read $s : i32\n  return %all\n}\n"
      "func @sum(%n : i32) -> i32 {\n  %z = const 0 : i32\n  %r = for %z, %n, %z {by=1} : i32 (%i : i32, %t "
      ": i32) {\n    %u = add %t, %i : i32\n    yield %u\n  }\n  return %r\n}\n" +
      main_of("  %n = const 100 : i32\n  %a = call @count(%n) : i32\n  %b = call @sum(%n) : i32\n  %f = "
              "closure @sum() : fn(i32) -> i32\n  %c = call_value %f, %a : i32\n  print %a, %b, %c "
              "{format=\"%d %d %d\", newline}\n");
  for (const char *tier : {"debug", "O2", "O3"}) EXPECT_EQ(run_fused(tier, body).out, "31 5050 496\n");
}

TEST(CodegenStorage, BeyondTheReachOfCodeIsRefused) {
  spectra::Module module;
  std::ostringstream said;
  std::string text = "spectra 1 fused\noptions device=cpu tier=O2\nprogram t\nsource \"t.mica\"\nvar @x : "
                     "f32[1000000000] !3:7\nfunc @program.main() {\n  return\n}\nend\n";
  ASSERT_EQ(spectra::read_module(text, "t", module, said), spectra::ReadResult::ok) << said.str();
  spectra::Diag diag(module.sources, said);
  EXPECT_FALSE(generate(module, diag));
  EXPECT_NE(said.str().find("t.mica:3:7: error: "), std::string::npos) << said.str();
  EXPECT_NE(said.str().find("hint: "), std::string::npos);
}

} // namespace
} // namespace mica::codegen
