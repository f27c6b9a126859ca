#include "golden.h"

#include <gtest/gtest.h>

#include "report/html.h"
#include "report/text.h"

namespace namesake::report {
namespace {

// Style, script and version change for reasons of their own.
std::string body_of(const std::string& html) {
  size_t begin = html.find("<body>"), end = html.rfind("<script>");
  std::string body = html.substr(begin, end - begin);
  for (size_t at; (at = body.find(NAMESAKE_VERSION)) != std::string::npos;) {
    body.replace(at, std::string(NAMESAKE_VERSION).size(), "VERSION");
  }
  return body;
}

// One architecture of the sample, where the whole would only be longer.
Difference on_sm_90() {
  Difference difference = sample_difference();
  difference.architectures = {"sm_90"};
  std::erase_if(difference.functions,
                [](const FunctionDifference& f) { return f.architecture != "sm_90"; });
  return difference;
}

TEST(Golden, text_of_a_difference_at_100_columns) {
  expect_golden("difference.txt", to_text(sample_difference(), {}));
}

TEST(Golden, text_of_a_difference_in_a_narrow_terminal) {
  TextStyle narrow;
  narrow.width = 60;
  expect_golden("difference_60.txt", to_text(sample_difference(), narrow));
}

TEST(Golden, verbose_text_with_instructions_and_colour) {
  TextStyle style;
  style.color = style.verbose = style.sass = true;
  style.width = 140;
  expect_golden("difference_verbose.txt", to_text(on_sm_90(), style));
}

TEST(Golden, text_of_one_architecture) {
  expect_golden("difference_sm_90.txt", to_text(on_sm_90(), {}));
}

TEST(Golden, text_of_a_trace) {
  expect_golden("trace.txt", to_text(sample_trace(), {}));
}

TEST(Golden, html_of_a_difference) {
  expect_golden("difference.html", body_of(to_html(on_sm_90())));
}

}  // namespace
}  // namespace namesake::report
