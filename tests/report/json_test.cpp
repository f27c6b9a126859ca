#include "report/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "random_report.h"

namespace namesake::report {
namespace {

RC_GTEST_PROP(Json, a_difference_read_back_is_written_the_same, ()) {
  std::string first = to_json(random::difference());
  auto back = difference_from_json(first);
  RC_ASSERT(back.has_value());
  RC_ASSERT(to_json(*back) == first);
}

RC_GTEST_PROP(Json, a_trace_read_back_is_written_the_same, ()) {
  std::string first = to_json(random::trace());
  auto back = trace_from_json(first);
  RC_ASSERT(back.has_value());
  RC_ASSERT(to_json(*back) == first);
}

// The writer and the reader share one description, so the property above cannot see a member that
// both forget.
TEST(Json, every_member_of_a_side_is_written) {
  Difference difference;
  FunctionDifference function;
  function.verdict = Verdict::different;
  function.threads_per_block = 256;
  Side& side = function.a;
  side = {"failure!", 11, 12, 13, 14, 15, 16, "identity!", {}, Mix{}, 17, {"draw!"}, 18};
  side.mix = {21, {{"class!", 22}}, {{"opcode!", 23}}, 24, 25, 26, 27, 28};
  difference.functions = {function};
  auto back = difference_from_json(to_json(difference));
  ASSERT_TRUE(back) << back.error().message;
  const FunctionDifference& read = back->functions.at(0);
  EXPECT_EQ(read.verdict, Verdict::different);
  EXPECT_EQ(read.threads_per_block, 256);
  EXPECT_EQ(read.a.failure, "failure!");
  EXPECT_EQ(read.a.registers, 11);
  EXPECT_EQ(read.a.stack_bytes, 12);
  EXPECT_EQ(read.a.spill_store_bytes, 13);
  EXPECT_EQ(read.a.spill_load_bytes, 14);
  EXPECT_EQ(read.a.code_bytes, 15);
  EXPECT_EQ(read.a.shared_bytes, 16);
  EXPECT_EQ(read.a.identity, "identity!");
  EXPECT_EQ(read.a.hottest_loop_depth, 17);
  EXPECT_EQ(read.a.draws, std::vector<std::string>{"draw!"});
  EXPECT_EQ(read.a.draws_made, 18);
  EXPECT_EQ(read.a.mix.instructions, 21);
  EXPECT_EQ(read.a.mix.by_class.at("class!"), 22);
  EXPECT_EQ(read.a.mix.by_opcode.at("opcode!"), 23);
  EXPECT_EQ(read.a.mix.stall_cycles, 24);
  EXPECT_EQ(read.a.mix.waits, 25);
  EXPECT_EQ(read.a.mix.yields, 26);
  EXPECT_EQ(read.a.mix.reuses, 27);
  EXPECT_EQ(read.a.mix.local_memory, 28);
  EXPECT_TRUE(read.a.hottest_loop.has_value());
  EXPECT_FALSE(read.b.hottest_loop.has_value());
}

TEST(Json, the_schema_comes_first_and_a_function_is_one_line) {
  Difference difference;
  difference.functions.resize(3);
  std::string json = to_json(difference);
  EXPECT_EQ(json.rfind("{\n \"schema\": \"namesake.diff/1.0\",\n", 0), 0u);
  size_t lines = 0;
  for (size_t at = json.find("\n  {\"symbol\""); at != std::string::npos;
       at = json.find("\n  {\"symbol\"", at + 1))
    ++lines;
  EXPECT_EQ(lines, 3u);
}

TEST(Json, bytes_that_are_no_utf8_are_replaced_and_a_time_that_is_no_number_is_null) {
  Difference difference;
  difference.command = "a\xff\xc0z";
  difference.tool_seconds = std::numeric_limits<double>::quiet_NaN();
  std::string json = to_json(difference);
  EXPECT_NE(json.find("a\uFFFD"), std::string::npos);
  EXPECT_NE(json.find("\"tool_seconds\": null"), std::string::npos);
  EXPECT_TRUE(difference_from_json(json));
}

TEST(Json, a_field_of_the_wrong_kind_is_named_with_its_path) {
  auto bad = difference_from_json(
      R"({"schema":"namesake.diff/1.0","functions":[{"symbol":"s"},{"a":{"mix":{"by_class":{"move":"many"}}}}]})");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "not a report of namesake diff: functions[1] a mix by_class should be a whole number");
}

TEST(Json, a_number_beyond_any_count_is_refused_before_it_can_overflow) {
  for (const char* number :
       {"9223372036854775807", "18446744073709551615", "-9223372036854775808", "1.5"}) {
    auto bad = difference_from_json(
        std::string(R"({"schema":"namesake.diff/1.0","functions":[{"a":{"registers":)") + number +
        "}}]}");
    EXPECT_FALSE(bad) << number;
  }
}

TEST(Json, another_schema_is_refused_and_a_later_minor_version_is_read) {
  auto other = difference_from_json(R"({"schema":"namesake.trace/1.0"})");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("namesake.trace/1.0"), std::string::npos);
  EXPECT_FALSE(difference_from_json("[1, 2"));
  EXPECT_FALSE(difference_from_json("17"));
  EXPECT_FALSE(difference_from_json(R"({"schema":"namesake.diff/2.0"})"));
  auto later = difference_from_json(R"({"schema":"namesake.diff/1.7","news":[1],"command":"c"})");
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->command, "c");
}

TEST(Json, a_row_of_no_known_change_is_refused) {
  for (const char* row : {R"(["?","a","b"])", R"(["","a","b"])", R"([0])", R"([-4])",
                          R"(["-","a"])", R"({})", R"([" ",1,2])"}) {
    EXPECT_FALSE(difference_from_json(
        std::string(R"({"schema":"namesake.diff/1.0","functions":[{"sass":[)") + row + "]}]}"))
        << row;
  }
}

}  // namespace
}  // namespace namesake::report
