// What is answered to whom.
#include "targets.h"

namespace namesake::session {
namespace {

constexpr const char* kTwo = ".target sm_90\n.entry _ZN2ns6kernelILi3EEEvv\n.entry plain_cutlass\n";

std::string assembled(const std::string& ptx, const std::vector<Rule>& rules,
                      const std::vector<std::string>& options = {}) {
  Input input(ptx);
  std::vector<std::string> arguments = {target("ptxas"), input.path(), "-o", input.output()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  run_hooked(arguments, {.rules = rules});
  return input.assembled();
}

TEST(Answer, is_the_truth_without_rules) {
  EXPECT_EQ(assembled(kTwo, {}), "_ZN2ns6kernelILi3EEEvv neutral\nplain_cutlass treated\n");
}

TEST(Answer, is_yes_where_a_rule_treats) {
  EXPECT_EQ(assembled(kTwo, {treat("*")}),
            "_ZN2ns6kernelILi3EEEvv treated\nplain_cutlass treated\n");
}

TEST(Answer, is_no_where_a_rule_untreats) {
  EXPECT_EQ(assembled(kTwo, {untreat("*")}),
            "_ZN2ns6kernelILi3EEEvv neutral\nplain_cutlass neutral\n");
}

TEST(Answer, is_decided_by_the_first_rule_that_fits) {
  EXPECT_EQ(assembled(kTwo, {leave("plain*"), untreat("*")}),
            "_ZN2ns6kernelILi3EEEvv neutral\nplain_cutlass treated\n");
}

TEST(Answer, follows_a_glob_on_the_symbol) {
  EXPECT_EQ(assembled(kTwo, {treat("_ZN2ns*")}),
            "_ZN2ns6kernelILi3EEEvv treated\nplain_cutlass treated\n");
}

TEST(Answer, follows_a_readable_name_and_a_glob_on_it) {
  for (const char* pattern : {"ns::kernel", "ns::*", "*::k?rnel"}) {
    EXPECT_EQ(assembled(".target sm_90\n.entry _ZN2ns6kernelILi3EEEvv\n.entry _ZN2ns4moreEv\n",
                        {leave("ns::more"), treat(pattern)}),
              "_ZN2ns6kernelILi3EEEvv treated\n_ZN2ns4moreEv neutral\n")
        << pattern;
  }
}

TEST(Answer, depends_on_the_architecture_where_the_rule_does) {
  std::string ptx = ".target sm_80\n.entry k\n.target sm_90a\n.entry k\n.target sm_90\n.entry k\n";
  EXPECT_EQ(assembled(ptx, {treat("*", "sm_90a")}), "k neutral\nk treated\nk neutral\n");
}

TEST(Answer, goes_by_what_is_assembled_for_and_not_by_the_older_target_of_the_text) {
  EXPECT_EQ(assembled(".target sm_80\n.entry k\n", {treat("*", "sm_90")}, {"-arch=sm_90"}),
            "k treated\n");
  EXPECT_EQ(assembled(".target sm_80\n.entry k\n", {treat("*", "sm_80")}, {"-arch=sm_90"}),
            "k neutral\n");
}

TEST(Answer, is_natural_and_says_so_where_the_architecture_is_unknown) {
  Input input(".target sm_80\n.target sm_90\n.entry k\n");
  auto hooked = run_hooked({target("ptxas"), "--split", "2", input.path(), "-o", input.output()},
                           {.rules = {treat("*", "sm_90")}});
  EXPECT_EQ(input.assembled(), "k neutral\n");
  auto tests = asked(hooked.recording, "cutlass");
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].reason, Reason::architecture_unknown);
  EXPECT_EQ(tests[0].architecture, "");
}

TEST(Answer, takes_the_architecture_of_the_process_for_threads_that_never_ask) {
  EXPECT_EQ(assembled(".target sm_90\n.entry k\n", {treat("*", "sm_90")}, {"--split", "3"}),
            "k treated\n");
}

TEST(Answer, keeps_threads_with_different_architectures_apart) {
  auto hooked = run_hooked({target("host"), "load=" + target("libnvrtc.so"),
                            "target_threads=sm_80,sm_90,sm_90a,sm_100a,sm_120"},
                           {.rules = {treat("*", "sm_90a"), treat("*", "sm_120")}});
  auto tests = asked(hooked.recording, "cutlass");
  ASSERT_EQ(tests.size(), 5u);
  for (const NameTest& test : tests) {
    EXPECT_EQ(test.name, "kernel_" + test.architecture);
    EXPECT_EQ(test.given, test.architecture == "sm_90a" || test.architecture == "sm_120");
  }
}

TEST(Answer, to_an_application_is_the_truth) {
  auto hooked = run_hooked({target("host"), "load=" + target("libnvrtc.so"), "own=cutlass_gemm",
                            "own=sgemm", "target=sm_90", "name=sgemm", "own=sgemm"},
                           {.rules = {treat("*")}});
  EXPECT_EQ(hooked.out(), "own yes\nown no\nsgemm treated\nown no\n");
  EXPECT_EQ(asked(hooked.recording, "cutlass").size(), 1u);
}

TEST(Answer, to_an_assembler_linked_into_an_application_needs_its_name) {
  Input input(".target sm_90\n.entry k\n");
  std::vector<std::string> command = {target("linked"), input.path(), "-o", input.output()};
  run_hooked(command, {.rules = {treat("*")}});
  EXPECT_EQ(input.assembled(), "k neutral\n");
  auto seen = run_hooked(command, {.rules = {treat("*")}, .more_assemblers = {{"linked"}}});
  EXPECT_EQ(input.assembled(), "k treated\n");

  // With the call site, only that call counts.
  auto tests = asked(seen.recording, "cutlass");
  ASSERT_EQ(tests.size(), 1u);
  uint64_t site = tests[0].call_site;
  run_hooked(command,
             {.rules = {treat("*")}, .more_assemblers = {{target("linked"), false, site + 1}}});
  EXPECT_EQ(input.assembled(), "k neutral\n");
  run_hooked(command, {.rules = {treat("*")},
                       .more_assemblers = {{target("linked"), false, site + 1},
                                           {target("linked"), false, site}}});
  EXPECT_EQ(input.assembled(), "k treated\n");
}

TEST(Answer, is_natural_for_another_assembler_than_the_rule_was_made_for) {
  uint64_t ptxas = *assembler_identity(target("ptxas"));
  uint64_t nvrtc = *assembler_identity(target("libnvrtc.so"));
  ASSERT_NE(ptxas, nvrtc);
  Rule rule = treat("*");
  rule.assembler = ptxas;
  EXPECT_EQ(assembled(".target sm_90\n.entry k\n", {rule}), "k treated\n");
  rule.assembler = nvrtc;
  Input input(".target sm_90\n.entry k\n");
  auto hooked =
      run_hooked({target("ptxas"), input.path(), "-o", input.output()}, {.rules = {rule}});
  EXPECT_EQ(input.assembled(), "k neutral\n");
  ASSERT_EQ(asked(hooked.recording, "cutlass").size(), 1u);
  EXPECT_EQ(asked(hooked.recording, "cutlass")[0].reason, Reason::other_assembler);
}

TEST(Answer, covers_a_trigger_of_the_users) {
  Rule rule = treat("*");
  rule.needle = "spill";
  Input input(".target sm_90\n.entry my_cutlass\n");
  run_hooked({target("ptxas"), input.path(), "-o", input.output()}, {.rules = {rule}});
  EXPECT_EQ(input.assembled(), "my_cutlass treated\nmy_cutlass spills 6144\n");
}

TEST(Answer, goes_to_nvlink_too) {
  Input input(".target sm_90\n.entry k\n");
  run_hooked({target("nvlink"), input.path(), "-o", input.output()}, {.rules = {treat("k")}});
  EXPECT_EQ(input.assembled(), "k treated\n");
}

TEST(Record, holds_the_whole_test) {
  Input input(".target sm_90a\n.entry some_kernel\n");
  auto hooked = run_hooked({target("ptxas"), input.path(), "-o", input.output()},
                           {.rules = {leave("other"), treat("some*")}});
  auto tests = asked(hooked.recording, "cutlass");
  ASSERT_EQ(tests.size(), 1u);
  const NameTest& test = tests[0];
  EXPECT_EQ(test.name, "some_kernel");
  EXPECT_EQ(test.name_length, 11u);
  EXPECT_EQ(test.image, std::filesystem::canonical(target("ptxas")));
  EXPECT_EQ(test.assembler, *assembler_identity(target("ptxas")));
  EXPECT_EQ(test.architecture, "sm_90a");
  EXPECT_TRUE(test.program);
  EXPECT_FALSE(test.truth);
  EXPECT_TRUE(test.given);
  EXPECT_EQ(test.reason, Reason::rule);
  EXPECT_EQ(test.rule, 1);
  EXPECT_GT(test.call_site, 0u);
  EXPECT_LT(test.call_site, std::filesystem::file_size(target("ptxas")));
  EXPECT_EQ(asked(hooked.recording, "sm_").size(), 2u);  // of the target and of the word behind it
  ASSERT_EQ(hooked.recording.processes.size(), 1u);
  EXPECT_TRUE(hooked.recording.processes[0].assembler);
  EXPECT_TRUE(hooked.recording.processes[0].ended);
}

TEST(Record, holds_names_of_any_length_whole) {
  std::string name(70000, 'n');
  Input input(".target sm_90\n.entry " + name + "\n.entry short\n.entry " + name + "_two\n");
  auto hooked = run_hooked({target("ptxas"), input.path(), "-o", input.output()}, {});
  auto tests = asked(hooked.recording, "cutlass");
  ASSERT_EQ(tests.size(), 3u);
  EXPECT_EQ(tests[0].name, name);
  EXPECT_EQ(tests[1].name, "short");
  EXPECT_EQ(tests[2].name, name + "_two");
}

TEST(Record, tells_names_beyond_what_is_kept_by_length_and_hash) {
  std::string name(300000, 'n');
  Input input(".target sm_90\n.entry " + name + "a\n.entry " + name + "b\n");
  auto hooked = run_hooked({target("ptxas"), input.path(), "-o", input.output()}, {});
  auto tests = asked(hooked.recording, "cutlass");
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].name_length, 300001u);
  EXPECT_EQ(tests[0].name.size(), 262144u);
  EXPECT_NE(tests[0].name_hash, tests[1].name_hash);
}

TEST(Record, holds_names_that_are_not_ascii) {
  Input input(".target sm_90\n.entry k\xc3\xa4\xff\n");
  auto hooked =
      run_hooked({target("ptxas"), input.path(), "-o", input.output()}, {.rules = {treat("k*")}});
  ASSERT_EQ(asked(hooked.recording, "cutlass").size(), 1u);
  EXPECT_EQ(asked(hooked.recording, "cutlass")[0].name, "k\xc3\xa4\xff");
}

TEST(Record, holds_tests_for_other_texts_only_when_wanted) {
  Input input(".target sm_90\n.entry k_cutlass\n");
  std::vector<std::string> command = {target("ptxas"), input.path(), "-o", input.output()};
  EXPECT_TRUE(asked(run_hooked(command, {}).recording, "crash").empty());
  auto tests = asked(run_hooked(command, {.other_texts = true}).recording, "crash");
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].name, "k_cutlass");
  EXPECT_EQ(tests[0].reason, Reason::observed);
}

TEST(Record, is_left_out_when_not_wanted_while_answers_are_given) {
  Input input(".target sm_90\n.entry k\n");
  Hook hook = make_hook({.rules = {treat("*")}, .record = false});
  Command command;
  command.arguments = {target("ptxas"), input.path(), "-o", input.output()};
  command.environment = hook.variables();
  ASSERT_TRUE(run(command)->ok());
  EXPECT_EQ(input.assembled(), "k treated\n");
  EXPECT_FALSE(std::filesystem::exists(hook.folder() / "rings"));
}

TEST(Record, one_hook_serves_many_children) {
  Hook hook = make_hook({.rules = {treat("*")}});
  for (int i = 0; i < 20; i++) {
    Input input(".target sm_90\n.entry k\n");
    Command command;
    command.arguments = {target("ptxas"), input.path(), "-o", input.output()};
    command.environment = hook.variables();
    ASSERT_TRUE(run(command)->ok());
  }
  auto recording = hook.recording();
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(asked(*recording, "cutlass").size(), 20u);
  EXPECT_EQ(recording->processes.size(), 20u);
}

}  // namespace
}  // namespace namesake::session
