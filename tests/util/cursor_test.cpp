#include "util/cursor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace namesake {
namespace {

TEST(Cursor, ReadsLittleEndianValuesInOrder) {
  Cursor cursor(Bytes("\x01\x00\x02\x00\x00\x00", 6));
  EXPECT_EQ(cursor.read<uint16_t>(), 1);
  EXPECT_EQ(cursor.read<uint32_t>(), 2u);
  EXPECT_TRUE(cursor.ok());
  EXPECT_TRUE(cursor.at_end());
}

TEST(Cursor, AReadPastTheEndGivesZeroAndFailsForGood) {
  Cursor cursor(Bytes("\xff\xff\xff", 3));
  EXPECT_EQ(cursor.read<uint32_t>(), 0u);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.read<uint8_t>(), 0);
  EXPECT_EQ(cursor.left(), 0u);
}

TEST(Cursor, AStringWithoutItsZeroIsAFailure) {
  Cursor cursor("abc");
  EXPECT_EQ(cursor.take_string(), "");
  EXPECT_FALSE(cursor.ok());
}

TEST(Cursor, LinesLoseTheirEndingAndTheLastMayLackIt) {
  Cursor cursor("a\r\nb\n\nc");
  EXPECT_EQ(cursor.take_line(), "a");
  EXPECT_EQ(cursor.take_line(), "b");
  EXPECT_EQ(cursor.take_line(), "");
  EXPECT_EQ(cursor.take_line(), "c");
  EXPECT_TRUE(cursor.ok());
  cursor.take_line();
  EXPECT_FALSE(cursor.ok());
}

RC_GTEST_PROP(Cursor, NeverHandsOutBytesThatAreNotThere, (const std::string& data)) {
  Cursor cursor(data);
  auto steps = *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, 40));
  size_t before = 0;
  for (uint64_t step : steps) {
    Bytes got = cursor.take(step);
    if (!cursor.ok()) {
      RC_ASSERT(got.empty());
      RC_ASSERT(step > data.size() - before);
      return;
    }
    RC_ASSERT(got == Bytes(data).substr(before, step));
    before += step;
  }
}

RC_GTEST_PROP(Slice, IsInsideOrNothing, (const std::string& data, uint64_t offset, uint64_t size)) {
  auto part = slice(data, offset, size);
  bool inside = offset <= data.size() && size <= data.size() - offset;
  RC_ASSERT(part.has_value() == inside);
  if (part) RC_ASSERT(part->size() == size);
}

RC_GTEST_PROP(CheckedMul, AgreesWith128Bits, (uint64_t a, uint64_t b)) {
  unsigned __int128 wide = static_cast<unsigned __int128>(a) * b;
  auto product = checked_mul(a, b);
  RC_ASSERT(product.has_value() == (wide >> 64 == 0));
  if (product) RC_ASSERT(*product == static_cast<uint64_t>(wide));
}

}  // namespace
}  // namespace namesake
