// What a program says where it needs a card and there is none, before any of its work. On a machine with a
// card there is nothing to see here.
#include "runtime_program.h"

namespace {

TEST(Card, IsRefusedWhereThereIsNone) {
  if (!mica::rt::card_unavailable()) GTEST_SKIP() << "this machine has a card";
  EXPECT_EXIT(
      mica_card_start(), testing::ExitedWithCode(70),
      "this program needs a card, but .*; `micac --device cpu` builds the same program for the processor");
}

TEST(Card, NothingToPlaceNeedsNoCard) {
  mica_card_part parts[] = {{0, 0, 4, 1, 0, 0}, {16, 256, 4, 2, 8, 256}};
  EXPECT_EQ(mica_card_place(nullptr, 0, nullptr, 0, 32, 768, parts, 2), nullptr);
  mica_card_unplace(nullptr, parts, 2);
  void *record[4] = {};
  mica_card_unplace(record, parts, 2); // slots that were never filled
}

} // namespace
