#include "measure/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

using namespace namesake;
using measure::Expression;

namespace {

int64_t value(const std::string& text, const measure::Names& names = {}) {
  const auto expression = Expression::parse(text);
  EXPECT_TRUE(expression) << text << ": " << expression.error().message;
  const auto result = expression->value(names);
  EXPECT_TRUE(result) << text << ": " << result.error().message;
  return result.value_or(-1);
}

std::string failure(const std::string& text, const measure::Names& names = {}) {
  const auto expression = Expression::parse(text);
  if (!expression) return expression.error().message;
  const auto result = expression->value(names);
  EXPECT_FALSE(result) << text;
  return result ? "" : result.error().message;
}

TEST(Expression, BindsProductsTighterThanSumsAndFromTheLeft) {
  EXPECT_EQ(value("2 + 3 * 4 - 1"), 13);
  EXPECT_EQ(value("100 / 5 / 2 % 7"), 3);
  EXPECT_EQ(value("(2 + 3) * -4"), -20);
}

TEST(Expression, KnowsMinMaxAndDivisionRoundedUp) {
  EXPECT_EQ(value("ceil_div(n, 256)", {{"n", 1000}}), 4);
  EXPECT_EQ(value("ceil_div(n, 256)", {{"n", 1024}}), 4);
  EXPECT_EQ(value("min(n, 3) + max(n, 30)", {{"n", 5}}), 33);
}

TEST(Expression, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(failure("rows * width", {{"rows", 2}}),
            "\"rows * width\" names width, which is no size");
  EXPECT_NE(failure("floor(3, 4)").find("there is no function floor"), std::string::npos);
}

TEST(Expression, HasNoValueWhereItOverflowsOrDividesByZero) {
  for (const char* text : {"9223372036854775807 + 1", "4611686018427387904 * 4", "1 / 0", "1 % 0",
                           "ceil_div(4, 0)", "(-9223372036854775807 - 1) / -1"})
    EXPECT_NE(failure(text).find("divides by zero or overflows"), std::string::npos) << text;
}

TEST(Expression, SaysWhereItCannotBeRead) {
  EXPECT_EQ(failure("2 * (3 + $)"), "\"2 * (3 + $)\" has an unexpected '$' at character 10");
  EXPECT_EQ(failure("2 *"), "\"2 *\" ends where a number or a name should stand");
  EXPECT_EQ(failure("2 3"), "\"2 3\" has an unexpected '3' at character 3");
  EXPECT_NE(failure("1.5").find("is no whole number"), std::string::npos);
}

TEST(Expression, RefusesWhatIsTooDeepOrTooLong) {
  EXPECT_NE(failure(std::string(400, '(') + "1" + std::string(400, ')')).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(failure(std::string(2000, '1')).find("too long"), std::string::npos);
  EXPECT_NE(failure(std::string(900, '-') + "1").find("nested too deeply"), std::string::npos);
}

// A random expression as text and, computed beside it, its value where nothing overflows.
struct Made {
  std::string text;
  std::optional<int64_t> value;
};
Made made(int depth) {
  if (depth == 0 || *rc::gen::inRange(0, 4) == 0) {
    const int64_t number = *rc::gen::inRange<int64_t>(0, 1000);
    return {std::to_string(number), number};
  }
  const Made a = made(depth - 1), b = made(depth - 1);
  const char sign = *rc::gen::element('+', '-', '*', '/', '%');
  Made result{"(" + a.text + " " + sign + " " + b.text + ")", std::nullopt};
  int64_t number = 0;
  if (!a.value || !b.value) return result;
  switch (sign) {
    case '+':
      if (!__builtin_add_overflow(*a.value, *b.value, &number)) result.value = number;
      break;
    case '-':
      if (!__builtin_sub_overflow(*a.value, *b.value, &number)) result.value = number;
      break;
    case '*':
      if (!__builtin_mul_overflow(*a.value, *b.value, &number)) result.value = number;
      break;
    default:
      if (*b.value != 0) result.value = sign == '/' ? *a.value / *b.value : *a.value % *b.value;
  }
  return result;
}

RC_GTEST_PROP(ExpressionProperty, ComputesAsTheLanguageDoes, ()) {
  const Made expected = made(5);
  const auto expression = Expression::parse(expected.text);
  RC_PRE(expected.text.size() < 1000u);
  RC_ASSERT(expression.has_value());
  const auto result = expression->value(measure::Names{});
  RC_ASSERT(result.has_value() == expected.value.has_value());
  if (result) RC_ASSERT(*result == *expected.value);
}

}  // namespace
