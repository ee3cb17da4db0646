// libmicart has a main of its own for generated programs; the runtime's units must start with this one.
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::FLAGS_gtest_death_test_style = "threadsafe"; // the runtime has threads by then
  return RUN_ALL_TESTS();
}
