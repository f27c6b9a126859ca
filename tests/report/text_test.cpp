#include "report/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "random_report.h"
#include "report/table.h"
#include "report/words.h"
#include "util/terminal.h"
#include "util/text.h"

namespace namesake::report {
namespace {

// The next command is exempt: it is there to be copied whole.
void assert_fits(const std::string& text, int width) {
  for (std::string_view line : split(text, '\n')) {
    if (line.find("next:") != std::string_view::npos) continue;
    if (display_width(line) > static_cast<size_t>(width)) RC_FAIL(std::string(line));
  }
}

TextStyle any_style() {
  TextStyle style;
  style.width = *rc::gen::inRange(kLeastWidth, 240);
  style.color = *rc::gen::arbitrary<bool>();
  style.verbose = *rc::gen::arbitrary<bool>();
  style.sass = *rc::gen::arbitrary<bool>();
  return style;
}

RC_GTEST_PROP(Text, no_line_of_a_difference_is_wider_than_asked, ()) {
  TextStyle style = any_style();
  assert_fits(to_text(random::difference(), style), style.width);
}

RC_GTEST_PROP(Text, no_line_of_a_trace_is_wider_than_asked, ()) {
  TextStyle style = any_style();
  assert_fits(to_text(random::trace(), style), style.width);
}

RC_GTEST_PROP(Text, without_colour_there_is_no_control_character_but_the_line_break, ()) {
  TextStyle style = any_style();
  style.color = false;
  for (const std::string& text :
       {to_text(random::difference(), style), to_text(random::trace(), style)}) {
    for (unsigned char c : text) RC_ASSERT(c == '\n' || (c >= 0x20 && c != 0x7f));
  }
}

FunctionDifference sgemm() {
  FunctionDifference f;
  f.symbol = "_Z5sgemmPf";
  f.name = "sgemm";
  f.architecture = "sm_90";
  f.verdict = Verdict::different;
  f.a.registers = 163;
  f.b.registers = 128;
  f.a.mix = {100, {{"address", 40}, {"move", 60}}, {{"LEA", 40}, {"MOV", 60}}};
  f.b.mix = {112, {{"address", 52}, {"move", 60}}, {{"LEA", 52}, {"MOV", 60}}};
  f.a.hottest_loop = f.a.mix;
  f.b.hottest_loop = f.b.mix;
  return f;
}

Difference one(FunctionDifference function) {
  Difference d;
  d.a.label = "untreated";
  d.b.label = "treated";
  d.a.assembler = d.b.assembler = "13.0.88";
  d.architectures = {"sm_90"};
  d.functions = {std::move(function)};
  return d;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Text, a_failed_control_is_shouted_before_any_number_and_named_again_with_its_functions) {
  Difference d = one(sgemm());
  d.controls = {{"two neutral names give one code",
                 ControlOutcome::failed,
                 8,
                 1,
                 {"_Z5sgemmPf on sm_90: two codes"},
                 ""}};
  std::string text = to_text(d, {});
  ASSERT_TRUE(has(text, "CONTROL FAILED: two neutral names give one code (1 of 8)"));
  EXPECT_LT(text.find("CONTROL FAILED"), text.find("163 → 128"));
  EXPECT_TRUE(has(text, "✗ two neutral names give one code – FAILED for 1 of 8"));
  EXPECT_TRUE(has(text, "_Z5sgemmPf on sm_90: two codes"));
}

TEST(Text, a_function_that_failed_says_why_under_its_row) {
  FunctionDifference f = sgemm();
  f.verdict = Verdict::failed;
  f.b.failure = "ptxas 13.0.88 was killed by signal 11 (Segmentation fault)";
  EXPECT_TRUE(has(to_text(one(f), {}), "treated: ptxas 13.0.88 was killed by signal 11"));
}

TEST(Text, thousands_of_functions_become_counts_and_the_largest_changes) {
  Difference d = one(sgemm());
  for (int i = 0; i < 2000; ++i) {
    FunctionDifference f;
    f.symbol = "plain_" + std::to_string(i);
    f.architecture = "sm_90";
    d.functions.push_back(f);
  }
  std::string text = to_text(d, {});
  EXPECT_TRUE(has(text, "2,000"));
  EXPECT_TRUE(has(text, "sgemm"));
  EXPECT_FALSE(has(text, "plain_7"));
  EXPECT_LT(split(text, '\n').size(), 60u);
  TextStyle verbose;
  verbose.verbose = true;
  EXPECT_TRUE(has(to_text(d, verbose), "plain_7"));
}

TEST(Text, the_next_command_is_never_cut) {
  Difference d = one(sgemm());
  d.next_command = "namesake measure " + std::string(300, 'x') + ".ptx";
  TextStyle narrow;
  narrow.width = 40;
  EXPECT_TRUE(has(to_text(d, narrow), d.next_command));
}

TEST(Text, look_ups_in_tables_are_one_line) {
  Trace trace;
  trace.processes.resize(1);
  for (int i = 0; i < 500; ++i) {
    NameTest look_up;
    look_up.needle = "__cuda_" + std::to_string(i);
    look_up.look_up = true;
    trace.processes[0].tests.push_back(look_up);
  }
  std::string text = to_text(trace, {});
  EXPECT_TRUE(has(text, "500 look-ups in tables of 500 names"));
  EXPECT_FALSE(has(text, "__cuda_"));
}

TEST(Text, an_answer_given_against_the_name_shows_both) {
  Trace trace;
  trace.processes.resize(1);
  NameTest test;
  test.needle = "cutlass";
  test.given_answer = true;
  trace.processes[0].tests = {test};
  EXPECT_TRUE(has(to_text(trace, {}), "no → yes"));
}

TEST(Table, the_least_important_column_goes_first_and_a_list_loses_whole_items) {
  Table table(
      {{"name", false, 0, 6}, {"a", true, 1}, {"b", true, 2}, {"moves", false, 1, 8, true}});
  table.add({{"kernel"}, {"11"}, {"22"}, {"alpha +1, beta −2, gamma +3"}});
  EXPECT_EQ(table.text(60, false),
            "name     a   b  moves\nkernel  11  22  alpha +1, beta −2, gamma +3\n");
  EXPECT_EQ(table.text(27, false), "name     a   b  moves\nkernel  11  22  alpha +1, …\n");
  EXPECT_EQ(table.text(23, false), "name     a  moves\nkernel  11  alpha +1, …\n");
}

TEST(Table, a_column_in_which_nothing_is_said_takes_no_place) {
  Table table({{"name"}, {"spills", true, 1}});
  table.add({{"kernel"}, {""}});
  EXPECT_EQ(table.text(60, false), "name\nkernel\n");
}

TEST(Words, numbers_are_grouped_and_signed_with_a_true_minus) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-1000), "−1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(with_sign(12), "+12");
  EXPECT_EQ(percent_change(200, 150), "−25.0%");
  EXPECT_EQ(percent_change(0, 7), "new");
  EXPECT_EQ(change(163, 128), "163 → 128");
}

TEST(Words, what_could_paint_or_hide_is_made_visible) {
  EXPECT_EQ(plain("a\033[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(plain("a\xe2\x80\xae z"), "a\\u{202e} z");
  EXPECT_EQ(plain("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(plain("核 é →"), "核 é →");
}

}  // namespace
}  // namespace namesake::report
