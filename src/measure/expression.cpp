#include "measure/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "util/text.h"

namespace namesake::measure {
namespace {

constexpr size_t kLongest = 1000;
constexpr int kDeepest = 50;  // parentheses and signs: also bounds the stack of values

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<int64_t> divided(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) return std::nullopt;
  return a / b;
}

}  // namespace

// Recursive descent, writing steps in the order of evaluation.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) { result_.text_ = text; }

  Result<Expression> parse() {
    if (text_.size() > kLongest)
      return error(fmt::format("an expression of {} characters is too long (at most {})",
                               text_.size(), kLongest));
    result_.steps_.clear();
    TRY(sum());
    if (peek()) return unexpected();
    return std::move(result_);
  }

 private:
  using Code = Expression::Code;

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  tl::unexpected<Error> unexpected() {
    if (!peek())
      return error(fmt::format("\"{}\" ends where a number or a name should stand", text_));
    return error(
        fmt::format("\"{}\" has an unexpected '{}' at character {}", text_, text_[at_], at_ + 1));
  }
  void emit(Code code, int64_t operand = 0) { result_.steps_.push_back({code, operand}); }

  Status sum() {
    TRY(product());
    for (;;) {
      if (take('+')) {
        TRY(product());
        emit(Code::add);
      } else if (take('-')) {
        TRY(product());
        emit(Code::subtract);
      } else {
        return {};
      }
    }
  }

  Status product() {
    TRY(factor());
    for (;;) {
      if (take('*')) {
        TRY(factor());
        emit(Code::multiply);
      } else if (take('/')) {
        TRY(factor());
        emit(Code::divide);
      } else if (take('%')) {
        TRY(factor());
        emit(Code::remainder);
      } else {
        return {};
      }
    }
  }

  Status factor() {
    if (++depth_ > kDeepest) return error(fmt::format("\"{}\" is nested too deeply", text_));
    TRY(factor_inside());
    --depth_;
    return {};
  }

  Status factor_inside() {
    if (take('-')) {
      TRY(factor());
      emit(Code::negate);
      return {};
    }
    if (take('(')) {
      TRY(sum());
      return take(')') ? Status{} : unexpected();
    }
    if (is_digit(peek())) return number();
    if (is_letter(peek())) return name();
    return unexpected();
  }

  std::string_view word(bool (*belongs)(char)) {
    size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Status number() {
    std::string_view digits = word([](char c) { return is_digit(c) || is_letter(c) || c == '.'; });
    auto value = parse_integer(digits);
    if (!value) return error(fmt::format("\"{}\": {} is no whole number", text_, digits));
    emit(Code::constant, *value);
    return {};
  }

  Status name() {
    std::string name(word([](char c) { return is_digit(c) || is_letter(c); }));
    if (take('(')) return call(name);
    auto& names = result_.names_;
    auto place = std::find(names.begin(), names.end(), name) - names.begin();
    if (static_cast<size_t>(place) == names.size()) names.push_back(name);
    emit(Code::name, place);
    return {};
  }

  Status call(const std::string& name) {
    Code code = name == "min" ? Code::min : name == "max" ? Code::max : Code::ceil_div;
    if (code == Code::ceil_div && name != "ceil_div")
      return error(fmt::format("\"{}\": there is no function {}; there are min, max and ceil_div",
                               text_, name));
    TRY(sum());
    if (!take(',')) return unexpected();
    TRY(sum());
    if (!take(')')) return unexpected();
    emit(code);
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  Expression result_;
};

Expression::Expression(int64_t value)
    : text_(std::to_string(value)), steps_({{Code::constant, value}}) {}

Result<Expression> Expression::parse(std::string_view text) {
  return ExpressionParser(text).parse();
}

Result<int64_t> Expression::value(const Names& names) const {
  std::vector<int64_t> values;
  for (const std::string& name : names_) {
    auto found = names.find(name);
    if (found == names.end())
      return error(fmt::format("\"{}\" names {}, which is no size", text_, name));
    values.push_back(found->second);
  }
  if (auto result = value(values)) return *result;
  return error(fmt::format("\"{}\" has no value: it divides by zero or overflows", text_));
}

std::optional<int64_t> Expression::value(const std::vector<int64_t>& of_names) const {
  // Each level of nesting holds at most a sum, a product and a factor that wait for their right
  // side.
  std::array<int64_t, 3 * kDeepest + 4> stack{};
  size_t top = 0;
  for (const Step& step : steps_) {
    if (step.code == Code::constant || step.code == Code::name) {
      stack[top++] =
          step.code == Code::constant ? step.operand : of_names[static_cast<size_t>(step.operand)];
      continue;
    }
    int64_t& a = stack[top - (step.code == Code::negate ? 1 : 2)];
    int64_t b = stack[top - 1];
    std::optional<int64_t> quotient;
    switch (step.code) {
      case Code::add:
        if (__builtin_add_overflow(a, b, &a)) return std::nullopt;
        break;
      case Code::subtract:
        if (__builtin_sub_overflow(a, b, &a)) return std::nullopt;
        break;
      case Code::multiply:
        if (__builtin_mul_overflow(a, b, &a)) return std::nullopt;
        break;
      case Code::negate:
        if (__builtin_sub_overflow(int64_t{0}, b, &a)) return std::nullopt;
        break;
      case Code::min:
        a = std::min(a, b);
        break;
      case Code::max:
        a = std::max(a, b);
        break;
      case Code::divide:
      case Code::remainder:
      case Code::ceil_div:
        quotient = divided(a, b);
        if (!quotient) return std::nullopt;
        if (step.code == Code::divide)
          a = *quotient;
        else if (step.code == Code::remainder)
          a -= *quotient * b;
        else
          a = *quotient + (a % b != 0 && (a < 0) == (b < 0));
        break;
      default:
        break;
    }
    if (step.code != Code::negate) --top;
  }
  return stack[0];
}

}  // namespace namesake::measure
