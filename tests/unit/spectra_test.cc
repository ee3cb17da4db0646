// The Spectra library's laws: round trip, broken texts give located errors and never a crash, the verifier's
// rules.
#include "spectra/ops.h"
#include "spectra/text.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace spectra;

namespace {

const char *kText = R"(spectra 1 checked
options device=cpu tier=O2 fp_tensor_float32
program tiny
source "tiny.mica"
record Layer { W : f32[4,2] tracked, b : f32[2] tracked, next : ptr<record<Layer>> }
var @program'exit : i32
var @x : f32[8,4] !3:5
var @w : f32[4,2] tracked
var @t : i32[8]
var @model : array<1..3, record<Layer>>
var @loss : f32 tracked
var @s : string = "a \"b\"\n\x01"
var @n : u64 = 18446744073709551615
var @big : f64 = -1.5e+300
func external @getpid() -> i32
func @Outer.Inner(%frame : frame, %k : i32) -> i32 {
  return %k
} !2:1
func @program.main() {
  local $i : i32
  local $β₁ : f64
  tape {id=0} {
    %x = read @x : f32[8,4] !7:28
    %w = read @w : f32[4,2]
    %z = product %x, %w : f32[8,2]
    %t = read @t : i32[8]
    %l = cross_entropy %z, %t {classes=2} : f32
    write @loss, %l
    yield
  } !7:1 !1:8:2
  backward @loss {windows=[0]} !8:1
  %g = gradient @w : f32[4,2]
  %c = const 0.1 : f32
  %nan = const nan:0x7ff8000000000001 : f64
  %p = address @w : ptr<f32[4,2] tracked>
  sgd_steps %c, %p, %g
  %i = read $i : i32
  %wi = read @model[%i].W : f32[4,2]
  %cell = read @model[2].W[%i][1] : f32
  %a = const 1 : i32
  %b = const 10 : i32
  for %a, %b {by=1} (%k : i32) {
    write $i, %k
    %q = eq %k, %b : bool
    if %q {
      break
    } else {
      yield
    }
    yield
  } !9:2
  %sum = for %b, %a, %c {by=2, down} : f32 (%j : i32, %s : f32) {
    %n = add %s, %s : f32
    yield %n
  }
  while {
    %q.1 = lt %i, %b : bool
    yield %q.1
  } do {
    continue
  }
  switch %i {labels=[0, 1, 3, 1, 5, 5]} {
    yield
  } else {
    yield
  } else {
    yield
  }
  %r = call @Outer.Inner(%f, %i) : i32
  %v = closure @Outer.Inner(%f) : fn(i32) -> i32
  %u = call_value %v, %i : i32
  print %u, %cell {format="%d %f", newline}
  return
}
lines 0 {
| program tiny;
|
|   { indented }
}
end
)";

std::string whole_text() {
  std::string text = kText;
  std::string before = "  %r = call";
  std::string frame = "  %none = nil : ptr<record<Layer>>\n  %f = frame_of %none : frame\n";
  return text.insert(text.find(before), frame);
}

struct Outcome {
  ReadResult read;
  bool verified = false;
  std::string messages, printed;
};

Outcome process(const std::string &text) {
  Outcome outcome;
  std::ostringstream messages;
  Module module;
  outcome.read = read_module(text, "t", module, messages);
  if (outcome.read == ReadResult::ok) {
    outcome.verified = verify_module(module, "t", messages);
    outcome.printed = print_module(module);
  }
  outcome.messages = messages.str();
  return outcome;
}

std::string with_body(const std::string &body) {
  return "spectra 1 checked\noptions device=cpu tier=debug\nprogram t\nvar @x : f32[8,4]\nvar @w : f32[4,2] "
         "tracked\nvar @i : i32\n"
         "func @program.main() {\n  %x = read @x : f32[8,4]\n  %w = read @w : f32[4,2]\n  %i = read @i : "
         "i32\n" +
         body + "  return\n}\nend\n";
}

TEST(Spectra, PrintingWhatWasReadGivesTheSameBytes) {
  Outcome o = process(whole_text());
  ASSERT_EQ(o.read, ReadResult::ok) << o.messages;
  EXPECT_TRUE(o.verified) << o.messages;
  EXPECT_EQ(o.printed, whole_text());
}

TEST(Spectra, EveryPrefixIsCutOff) {
  const std::string text = whole_text();
  for (size_t n = 0; n + 1 < text.size(); ++n) {
    Outcome o = process(text.substr(0, n));
    // A cut inside a token may read as a wrong one; it must never pass as whole.
    ASSERT_NE(o.read, ReadResult::ok) << "cut at " << n;
    if (o.read == ReadResult::wrong) {
      ASSERT_NE(o.messages.find("t:"), std::string::npos);
    }
  }
}

TEST(Spectra, OneChangedByteIsReadOrLocated) {
  const std::string text = whole_text();
  for (size_t i = 0; i < text.size(); ++i)
    for (char c : {'\0', '"', '%', '}', '9', 'x', '\n', '\xff', '-', ' '}) {
      std::string changed = text;
      changed[i] = c;
      Outcome o = process(changed);
      if (o.read == ReadResult::wrong) {
        ASSERT_NE(o.messages.find(": error: "), std::string::npos) << "byte " << i;
      }
      if (o.read == ReadResult::ok && o.verified) { // then it is a text like any other
        ASSERT_EQ(process(o.printed).printed, o.printed) << "byte " << i;
      }
    }
}

struct Breach {
  const char *body, *message;
};

class SpectraBreach : public testing::TestWithParam<Breach> {};

TEST_P(SpectraBreach, IsReported) {
  Outcome o = process(with_body(GetParam().body));
  if (o.read == ReadResult::ok) EXPECT_FALSE(o.verified);
  EXPECT_NE(o.messages.find(GetParam().message), std::string::npos) << o.messages;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, SpectraBreach,
    testing::Values(
        Breach{"  %z = product %w, %x : f32[4,4]\n",
               "t:11:3: error: in @program.main: `product`: product needs inner sizes to agree: 2 and 8"},
        Breach{"  %z = add %x, %w : f32[8,4]\n", "[8, 4] and [4, 2]"},
        Breach{"  %z = add %x, %i : f32[8,4]\n",
               "needs operands of one type: matrix[8, 4] of float32 and int32"},
        Breach{"  %z = add %x : f32[8,4]\n", "takes 2 operands, not 1"},
        Breach{"  %z = add %x, %x : f32[4,8]\n", "gives f32[8,4], not f32[4,8]"},
        Breach{"  %z = frobnicate %x : f32\n", "unknown operation `frobnicate`"},
        Breach{"  %z = neg %nothing : f32\n", "no value %nothing"},
        Breach{"  %x = neg %x : f32[8,4]\n", "value %x is defined twice"},
        Breach{"  write @i, %x\n", "the place has type i32"},
        Breach{"  %z = read @nothing : f32\n", "no unit variable @nothing"},
        Breach{"  break\n", "operations follow it"},
        Breach{"  if %i {\n    yield\n  } else {\n    yield\n  }\n", "needs a bool, not i32"},
        Breach{"  %c = eq %i, %i : bool\n  if %c {\n    %y = neg %i : i32\n    yield\n  } else {\n    "
               "yield\n  }\n  %z = neg %y : i32\n",
               "%y is not visible here"},
        Breach{"  %b = arena {bytes=64} : frame\n", "not legal at level checked"},
        Breach{"  tape {id=0} {\n    tape {id=1} {\n      yield\n    }\n    yield\n  }\n",
               "windows don't nest"},
        Breach{"  %z = slice %x, %i : f32[8,2]\n", "needs the attribute count"},
        Breach{"  %z = neg %x {newline} : f32[8,4]\n", "an attribute that it does not know"},
        Breach{"  %z = to_gpu %x : f32[8,4] gpu\n", "device=cpu has no value on the card"},
        Breach{"  for %i, %i {by=0} (%k : i32) {\n    yield\n  }\n", "`by` is a positive constant"},
        Breach{"  call @nobody()\n", "no function @nobody"}, Breach{"  return %i\n", "takes no answer"}));

TEST(Spectra, DeepNestingIsAnErrorNotACrash) {
  std::string type = "i32";
  std::string body = "  %c = eq %i, %i : bool\n";
  for (int i = 0; i < 5000; ++i) body += "if %c {\n";
  EXPECT_NE(process(with_body(body)).messages.find("nested too deeply"), std::string::npos);
  for (int i = 0; i < 5000; ++i) type = "ptr<" + type + ">";
  EXPECT_NE(
      process("spectra 1 checked\noptions device=cpu tier=debug\nprogram t\nvar @x : " + type + "\nend\n")
          .messages.find("nested too deeply"),
      std::string::npos);
}

TEST(Spectra, MemoryLayoutIsAsSpecified) {
  TypeTable types;
  const Type *matrix = types.whole(Scalar::f32, {4, 2});
  EXPECT_EQ(size_of(matrix), 64);
  EXPECT_EQ(size_of(types.whole(Scalar::f64, {3, 5})), 128);
  EXPECT_EQ(size_of(types.whole(Scalar::f32, {4, 2}, true)), 8);
  EXPECT_EQ(size_of(types.string()), 16);
  Record *record = types.define("R");
  record->fields = {{"a", types.scalar(Scalar::i8)}, {"b", matrix}, {"c", types.scalar(Scalar::i16)}};
  EXPECT_EQ(field_offset(record, 1), 64);
  EXPECT_EQ(field_offset(record, 2), 128);
  EXPECT_EQ(size_of(types.record("R")), 192);
  EXPECT_EQ(size_of(types.array(-1, 1, types.record("R"))), 3 * 192);
}

TEST(Spectra, BroadcastFollowsTheSuffixRule) {
  std::vector<int64_t> r;
  EXPECT_TRUE(broadcast_sizes({2, 3, 4}, {3, 4}, r));
  EXPECT_EQ(r, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_TRUE(broadcast_sizes({8, 1}, {8, 5}, r));
  EXPECT_EQ(r, (std::vector<int64_t>{8, 5}));
  EXPECT_FALSE(broadcast_sizes({8, 4}, {8}, r));
  EXPECT_TRUE(broadcast_sizes({0, 4}, {4}, r));
  EXPECT_EQ(r, (std::vector<int64_t>{0, 4}));
}

} // namespace
