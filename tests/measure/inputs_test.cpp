#include "measure/inputs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "measure/values.h"

using namespace namesake;
using namespace namesake::measure;
using gpu::Element;

namespace {

constexpr Element kFloats[] = {Element::kF64,  Element::kF32,  Element::kF16,
                               Element::kBF16, Element::kE4M3, Element::kE5M2};

Plan plan_of(Element type, size_t count, Fill fill) {
  Plan plan;
  plan.buffers.push_back({.name = "x", .type = type, .count = count, .fill = std::move(fill)});
  return plan;
}

std::vector<double> filled(const Plan& plan, InputKind kind, int workers = 2) {
  const auto content = content_of(plan, 0, kind, workers);
  EXPECT_TRUE(content) << content.error().message;
  return gpu::values_of(bytes_of_content(*content, plan.buffers[0], workers), plan.buffers[0].type);
}

TEST(Values, EveryValueOfASmallFloatComesBackAsItsOwnBits) {
  for (const Element type : {Element::kF16, Element::kBF16, Element::kE4M3, Element::kE5M2}) {
    const size_t size = gpu::bytes_of(type);
    for (uint64_t bits = 0; bits < uint64_t{1} << 8 * size; ++bits) {
      const auto bytes = std::as_bytes(std::span(&bits, 1)).first(size);
      const double value = gpu::value_of(bytes, type, 0);
      if (std::isnan(value)) continue;
      ASSERT_EQ(bits_of(value, type), bits) << gpu::name_of(type) << " " << value;
    }
  }
}

RC_GTEST_PROP(ValuesProperty, AreRoundedToTheNearestOfTheType, (double value)) {
  RC_PRE(std::isfinite(value));
  for (const Element type : {Element::kF16, Element::kBF16, Element::kE5M2}) {
    const uint64_t bits = bits_of(value, type);
    const size_t size = gpu::bytes_of(type);
    const auto at = [&](uint64_t other) {
      return gpu::value_of(std::as_bytes(std::span(&other, 1)).first(size), type, 0);
    };
    const uint64_t sign = uint64_t{1} << (8 * size - 1), magnitude = bits & ~sign;
    const double distance = std::abs(value - at(bits));
    if (std::isinf(at(bits))) continue;  // beyond the range
    if (magnitude > 0) RC_ASSERT(distance <= std::abs(value - at(bits - 1)));
    if (!std::isinf(at(bits + 1)) && !std::isnan(at(bits + 1)))
      RC_ASSERT(distance <= std::abs(value - at(bits + 1)));
  }
}

TEST(Values, WholeNumbersAreRoundedAndHeldToTheirRange) {
  EXPECT_EQ(bits_of(2.5, Element::kS32), 2u);
  EXPECT_EQ(bits_of(300, Element::kU8), 255u);
  EXPECT_EQ(static_cast<int8_t>(bits_of(-300, Element::kS8)), -128);
}

TEST(Inputs, ANormalFillHasMeanZeroAndDeviationOne) {
  const auto values = filled(plan_of(Element::kF32, 200'000, NormalFill{}), InputKind::as_given);
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  const double square = std::inner_product(values.begin(), values.end(), values.begin(), 0.0) / n;
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_NEAR(square, 1, 0.02);
  EXPECT_NEAR(static_cast<double>(std::count_if(values.begin(), values.end(),
                                                [](double x) { return std::abs(x) < 1.959964; })) /
                  n,
              0.95, 0.005);
}

TEST(Inputs, AUniformFillStaysInItsBounds) {
  const auto values =
      filled(plan_of(Element::kF32, 100'000, UniformFill{2, 3}), InputKind::as_given);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 2);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 3);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 100'000, 2.5, 0.01);
}

TEST(Inputs, DenormalsAreDenormal) {
  for (const Element type : kFloats) {
    const double least = std::ldexp(1.0, 2 - (1 << (shape_of(type).exponent_bits - 1)));
    for (const double value : filled(plan_of(type, 5'000, NormalFill{}), InputKind::denormals))
      ASSERT_LT(std::abs(value), least) << gpu::name_of(type);
  }
}

TEST(Inputs, ExtremesReachTheLargestAndTheSmallest) {
  const auto eights = filled(plan_of(Element::kE4M3, 5'000, NormalFill{}), InputKind::extremes);
  EXPECT_EQ(*std::max_element(eights.begin(), eights.end()), 448);
  const auto values = filled(plan_of(Element::kF16, 5'000, NormalFill{}), InputKind::extremes);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 65504);
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), -65504);
  EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                          [](double x) { return x == 0 && std::signbit(x); }));
}

TEST(Inputs, AFewElementsAreNotFinite) {
  const auto values =
      filled(plan_of(Element::kF32, 1'000'000, NormalFill{}), InputKind::not_finite);
  const auto spoiled =
      std::count_if(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
  EXPECT_GE(spoiled, 3);
  EXPECT_LE(spoiled, 96);
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); }));
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](double x) { return std::isinf(x); }));
}

TEST(Inputs, WholeNumbersAndPatternsAreTheSameInEverySet) {
  const auto pattern = Expression::parse("i * 7919 % 1000");
  const Plan plan = plan_of(Element::kS32, 3'000, PatternFill{*pattern});
  EXPECT_EQ(input_kinds(plan), std::vector<InputKind>{InputKind::as_given});
  const auto values = filled(plan, InputKind::extremes);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<double>(i * 7919 % 1000));
}

TEST(Inputs, DoNotDependOnTheNumberOfWorkers) {
  const Plan plan = plan_of(Element::kF16, 1'000'000, NormalFill{});
  EXPECT_EQ(filled(plan, InputKind::as_given, 1), filled(plan, InputKind::as_given, 7));
}

TEST(Inputs, APatternWithoutAValueIsSaidSo) {
  const Plan plan = plan_of(Element::kS32, 10, PatternFill{*Expression::parse("1 / (i - 5)")});
  const auto content = content_of(plan, 0, InputKind::as_given, 1);
  ASSERT_FALSE(content);
  EXPECT_NE(content.error().message.find("has no value for some elements"), std::string::npos);
}

}  // namespace
