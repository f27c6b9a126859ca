// The numbers of a launch file: integers, names, + - * / %, parentheses, min, max, ceil_div.
//
// A pattern is evaluated once for each element of a buffer, so an expression is translated once
// into a short list of steps over a stack. Integer arithmetic that overflows or divides by zero has
// no value: a launch built on a wrapped number would be worse than none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.h"

namespace namesake::measure {

using Names = std::map<std::string, int64_t>;

class Expression {
 public:
  Expression() : Expression(0) {}
  explicit Expression(int64_t value);

  static Result<Expression> parse(std::string_view text);

  const std::string& text() const { return text_; }
  // The names it uses, each once.
  const std::vector<std::string>& names() const { return names_; }

  // An error names the text and what is wrong: an unknown name, an overflow, a division by zero.
  Result<int64_t> value(const Names& names) const;

  // For many evaluations: the names' values in the order of names(); nothing where there is no
  // value.
  std::optional<int64_t> value(const std::vector<int64_t>& of_names) const;

 private:
  friend class ExpressionParser;
  enum class Code : uint8_t {
    constant,
    name,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    negate,
    min,
    max,
    ceil_div
  };
  struct Step {
    Code code = Code::constant;
    int64_t operand = 0;  // the constant, or the name's place
  };
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;
};

}  // namespace namesake::measure
