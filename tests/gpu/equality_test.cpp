#include "gpu/equality.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace namesake::gpu;

namespace {

template <class T>
std::vector<std::byte> bytes_from(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

RC_GTEST_PROP(CompareBitsProperty, FindsOneFlippedBitAndWhereItIs, (std::vector<uint32_t> values)) {
  RC_PRE(!values.empty());
  const auto index = *rc::gen::inRange<size_t>(0, values.size());
  const auto bit = *rc::gen::inRange(0, 32);
  std::vector<uint32_t> changed = values;
  changed[index] ^= 1u << bit;
  const Difference difference =
      compare_bits(bytes_from(values), bytes_from(changed), Element::kU32);
  RC_ASSERT(difference.differing == 1u);
  RC_ASSERT(difference.first == index);
}

TEST(CompareBits, TellsMinusZeroFromZeroAndOneNanFromAnother) {
  const std::vector<float> a = {0.0f, std::bit_cast<float>(0x7fc00000u), 1.0f};
  const std::vector<float> b = {-0.0f, std::bit_cast<float>(0x7fc00001u), 1.0f};
  EXPECT_EQ(compare_bits(bytes_from(a), bytes_from(b), Element::kF32).differing, 2u);
  EXPECT_TRUE(compare_bits(bytes_from(a), bytes_from(a), Element::kF32).equal());
}

TEST(CompareBits, CountsElementsThatOneSideLacks) {
  const std::vector<float> a = {1, 2, 3}, b = {1, 2};
  const Difference difference = compare_bits(bytes_from(a), bytes_from(b), Element::kF32);
  EXPECT_EQ(difference.differing, 1u);
  EXPECT_EQ(difference.first, 2u);
}

TEST(CompareBits, ReportsTheLargestFiniteDistance) {
  const std::vector<double> a = {1, 5, std::numeric_limits<double>::infinity()}, b = {1.5, 2, 0};
  EXPECT_DOUBLE_EQ(compare_bits(bytes_from(a), bytes_from(b), Element::kF64).largest, 3);
}

TEST(Poison, DiffersInEveryByteBetweenARunAndTheNext) {
  for (const uint64_t run : {0, 6}) {
    const auto a = poison(10007, run), b = poison(10007, run + 1);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], ~b[i]) << i;
  }
}

TEST(Poison, IsNoConstant) {
  const auto bytes = poison(4096, 2);
  EXPECT_GT(std::set<std::byte>(bytes.begin(), bytes.end()).size(), 200u);
}

TEST(Guards, ShowWhereTheFirstForeignByteLies) {
  std::vector<std::byte> zone = guard_zone();
  EXPECT_EQ(zone.size(), kGuardBytes);
  EXPECT_FALSE(damage(zone));
  zone[77] ^= std::byte{1};
  EXPECT_EQ(damage(zone), 77u);
}

TEST(ValueOf, DecodesEveryHalfAsTheCompilerDoes) {
#ifdef __FLT16_MANT_DIG__
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const std::vector<uint16_t> stored = {static_cast<uint16_t>(bits)};
    _Float16 expected;
    std::memcpy(&expected, stored.data(), 2);
    const double value = value_of(bytes_from(stored), Element::kF16, 0);
    if (std::isnan(static_cast<double>(expected))) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, static_cast<double>(expected)) << bits;
    }
  }
#else
  GTEST_SKIP() << "this compiler has no _Float16: build with g++ 12 or newer";
#endif
}

TEST(ValueOf, KnowsTheLimitsOfTheEightBitFormats) {
  const std::vector<uint8_t> bytes = {0x7e, 0x7f, 0x01, 0x7b, 0x7c, 0xfc, 0x38};
  const auto raw = bytes_from(bytes);
  EXPECT_EQ(value_of(raw, Element::kE4M3, 0), 448);
  EXPECT_TRUE(std::isnan(value_of(raw, Element::kE4M3, 1)));
  EXPECT_EQ(value_of(raw, Element::kE4M3, 2), std::ldexp(1, -9));
  EXPECT_EQ(value_of(raw, Element::kE4M3, 6), 1);
  EXPECT_EQ(value_of(raw, Element::kE5M2, 3), 57344);
  EXPECT_EQ(value_of(raw, Element::kE5M2, 4), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value_of(raw, Element::kE5M2, 5), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(value_of(raw, Element::kE5M2, 2), std::ldexp(1, -16));
}

TEST(ParseElement, KnowsEveryNameItGives) {
  for (const char* name : {"f64", "f32", "f16", "bf16", "e4m3", "e5m2", "s32", "u32", "s64", "u64",
                           "u16", "s16", "u8", "s8"}) {
    const auto element = parse_element(name);
    ASSERT_TRUE(element) << name;
    EXPECT_STREQ(name_of(*element), name);
  }
  EXPECT_FALSE(parse_element("f128"));
}

TEST(Deviation, IsTheRelativeNormOfTheError) {
  const std::vector<double> reference = {3, 4}, values = {3, 4.5};
  const Deviation found = deviation(values, reference);
  EXPECT_DOUBLE_EQ(found.relative, 0.1);
  EXPECT_EQ(found.worst_index, 1u);
}

TEST(Deviation, IsInfiniteForANanWhereTheReferenceHasNone) {
  const std::vector<double> reference = {1, 2};
  const std::vector<double> values = {1, std::nan("")};
  EXPECT_TRUE(std::isinf(deviation(values, reference).relative));
  const std::vector<double> both = {std::nan(""), 2};
  EXPECT_EQ(deviation(both, both).relative, 0);
}

}  // namespace
