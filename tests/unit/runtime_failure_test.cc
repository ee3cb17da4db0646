// Failures: their text, their exit code, and that what was printed before stands.
#include "runtime_program.h"

#include <csignal>

namespace {
using testing::ExitedWithCode;

TEST(Failure, Messages) {
  EXPECT_EXIT(mica_fail_division("a.mica", 3), ExitedWithCode(70), "^a.mica:3: integer division by zero\n$");
  EXPECT_EXIT(mica_fail_index("a.mica", 3, 10, 0, 9), ExitedWithCode(70),
              "^a.mica:3: index 10 is out of bounds 0..9\n$");
  EXPECT_EXIT(mica_fail_index("a.mica", 3, 0, 0, -1), ExitedWithCode(70), "there are no elements");
  EXPECT_EXIT(mica_fail_panic("a.mica", 4, text("größer")), ExitedWithCode(70),
              "^a.mica:4: panic: größer\n$");
  EXPECT_EXIT(mica_fail_assert("a.mica", 4, text("x > 0")), ExitedWithCode(70),
              "^a.mica:4: assertion failed: x > 0\n$");
  EXPECT_EXIT(mica_fail_overflow("a.mica", 5, "+", "int32"), ExitedWithCode(70),
              "^a.mica:5: int32 overflow in \\+\n$");
  EXPECT_EXIT(mica_fail_lossy("a.mica", 5, "int64", "int8"), ExitedWithCode(70),
              "this int64 value does not fit int8");
  EXPECT_EXIT(mica_fail_enum("a.mica", 5, 9, "Color"), ExitedWithCode(70), "9 is no value of Color");
  EXPECT_EXIT(mica_fail_nil("a.mica", 5), ExitedWithCode(70), "a nil pointer was followed");
  EXPECT_EXIT(mica_fail_target("a.mica", 5, 3, 255, 5), ExitedWithCode(70),
              "target 255 in row 3 is outside the classes 0..4");
  EXPECT_EXIT(mica_fail_memory("a.mica", 5, int64_t(3) << 40), ExitedWithCode(70),
              "out of memory: 3.0 TiB asked for");
}

TEST(Failure, FlushesStdoutFirst) {
  EXPECT_EXIT(
      {
        dup2(2, 1); // both on one stream, so that the order shows
        mica_print(text("before"), 0, nullptr, 1);
        mica_fail("a.mica", 1, "it broke");
      },
      ExitedWithCode(70), "^before\na.mica:1: it broke\n$");
}

TEST(Failure, SignalsSayWhy) {
  EXPECT_EXIT(
      {
        mica::rt::install_signal_handlers();
        volatile int *nowhere = nullptr;
        *nowhere = 1;
      },
      ExitedWithCode(70), "a nil pointer was followed");
  EXPECT_EXIT(
      {
        dup2(2, 1);
        mica::rt::install_signal_handlers();
        mica_print(text("held back"), 0, nullptr, 1);
        raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "held back");
}

TEST(Memory, NewAndDispose) {
  mica_array a = mica_new_array("a.mica", 1, 1000, 8);
  ASSERT_EQ(reinterpret_cast<uint64_t>(a.data) % 64, 0u);
  for (int i = 0; i < 1000; i++) ASSERT_EQ(static_cast<int64_t *>(a.data)[i], 0);
  mica_dispose("a.mica", 2, a.data);
  mica_dispose("a.mica", 2, nullptr);
  void *arena = mica_arena("a.mica", 1, 12345, 0);
  EXPECT_EQ(reinterpret_cast<uint64_t>(arena) % 256, 0u);
  mica_arena_free(arena);
  EXPECT_EXIT(mica_new_array("a.mica", 3, -1, 8), ExitedWithCode(70),
              "^a.mica:3: new was asked for -1 elements");
  EXPECT_EXIT(mica_new_array("a.mica", 3, INT64_MAX, 8), ExitedWithCode(70), "out of memory");
  EXPECT_EXIT(mica_new("a.mica", 3, int64_t(1) << 60), ExitedWithCode(70),
              "^a.mica:3: out of memory: 1.0 EiB asked for");
}

TEST(Memory, Stack) {
  mica_stack stack = {};
  for (int64_t i = 0; i < 3000; i++) mica_push("a.mica", 1, &stack, &i, 8);
  int64_t value = 0;
  for (int64_t i = 2999; i >= 0; i--) {
    mica_pop("a.mica", 1, &stack, &value, 8);
    ASSERT_EQ(value, i);
  }
  EXPECT_EXIT(mica_pop("a.mica", 2, &stack, &value, 8), ExitedWithCode(70), "the window holds no record");
}

struct Seen {
  std::vector<int> cells;
};
TEST(Threads, CoverEveryIndexOnce) {
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    for (int64_t grain : {1, 3, 64}) {
      std::vector<int> cells(static_cast<size_t>(count));
      mica_parallel(
          [](void *context, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++) static_cast<int *>(context)[i]++;
          },
          cells.data(), count, grain);
      for (int cell : cells) ASSERT_EQ(cell, 1);
    }
  }
}
} // namespace
