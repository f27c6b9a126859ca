// Recorded outputs. NAMESAKE_UPDATE_GOLDEN=1 writes them anew; the difference is then for a reader
// to judge.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "report/json.h"
#include "util/file.h"

namespace namesake::report {

inline std::string test_file(const std::string& name) {
  return std::string(NAMESAKE_TEST_DIR) + "/" + name;
}

inline void expect_golden(const std::string& name, const std::string& text) {
  std::string path = test_file("golden/" + name);
  if (!environment("NAMESAKE_UPDATE_GOLDEN").empty()) {
    auto written = write_file(path, text);
    ASSERT_TRUE(written) << written.error().message;
    return;
  }
  auto golden = read_file(path);
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(text, *golden) << "if the change is meant, run this test with NAMESAKE_UPDATE_GOLDEN=1";
}

inline Difference sample_difference() {
  auto text = read_file(test_file("data/difference.json"));
  if (!text) throw std::runtime_error(text.error().message);
  auto difference = difference_from_json(*text);
  if (!difference) throw std::runtime_error(difference.error().message);
  return std::move(*difference);
}

inline Trace sample_trace() {
  auto text = read_file(test_file("data/trace.json"));
  if (!text) throw std::runtime_error(text.error().message);
  auto trace = trace_from_json(*text);
  if (!trace) throw std::runtime_error(trace.error().message);
  return std::move(*trace);
}

}  // namespace namesake::report
