// Fail open: a treatment that goes wrong leaves the natural run, and nothing else, to be seen.
#include "session/guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include "targets.h"

namespace namesake::session {
namespace {

Settings guarded(std::optional<int64_t> spill_limit = std::nullopt, unsigned seconds = 60) {
  return {.rules = {treat("*")}, .guard = Guard{target("guard"), seconds, spill_limit}};
}

struct Assembled {
  Hooked hooked;
  std::string output;
};

Assembled assemble(const std::string& names, const Settings& settings) {
  Input input(".target sm_90\n" + names);
  Assembled result;
  result.hooked = run_hooked({target("ptxas"), "-v", input.path(), "-o", input.output()}, settings);
  result.output = input.assembled();
  return result;
}

void expect_natural(const Assembled& result, const std::string& output, const std::string& reason) {
  EXPECT_EQ(result.hooked.completed.exit_status, 0);
  EXPECT_EQ(result.hooked.completed.signal, 0);
  EXPECT_EQ(result.output, output);
  ASSERT_EQ(result.hooked.recording.fallbacks.size(), 1u);
  EXPECT_EQ(result.hooked.recording.fallbacks[0].reason, reason);
  EXPECT_EQ(result.hooked.recording.fallbacks[0].program,
            std::filesystem::canonical(target("ptxas")));
  for (const NameTest& test : asked(result.hooked.recording, "cutlass")) {
    EXPECT_EQ(test.discarded, test.reason == Reason::rule);
    EXPECT_EQ(test.discarded, test.given);
  }
}

TEST(Guard, passes_on_a_treated_run_that_went_well) {
  auto result = assemble(".entry k\n", guarded());
  EXPECT_EQ(result.output, "k treated\n");
  EXPECT_EQ(result.hooked.completed.exit_status, 0);
  EXPECT_EQ(result.hooked.completed.out, "ptxas info on stdout\n");
  EXPECT_EQ(result.hooked.completed.err, "ptxas info: 1 functions\n");
  EXPECT_TRUE(result.hooked.recording.fallbacks.empty());
  auto tests = asked(result.hooked.recording, "cutlass");
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_FALSE(tests[0].discarded);
}

TEST(Guard, runs_naturally_after_a_crash) {
  auto result = assemble(".entry k\n.entry crash\n", guarded());
  expect_natural(result, "k neutral\ncrash neutral\n", "signal 11 (Segmentation fault)");
  EXPECT_EQ(result.hooked.completed.err, "ptxas info: 2 functions\n");
}

TEST(Guard, runs_naturally_after_a_hang) {
  expect_natural(assemble(".entry hang\n", guarded(std::nullopt, 1)), "hang neutral\n",
                 "no end within 1 s");
}

TEST(Guard, runs_naturally_where_only_the_treated_run_gives_up) {
  expect_natural(assemble(".entry fail\n", guarded()), "fail neutral\n", "exit status 4");
}

TEST(Guard, runs_naturally_where_the_treated_code_spills_beyond_the_bound) {
  expect_natural(assemble(".entry spill\n", guarded(64)), "spill neutral\n",
                 "spills 6144 bytes, 64 are allowed");
}

TEST(Guard, keeps_treated_code_that_spills_within_the_bound_or_without_one) {
  EXPECT_EQ(assemble(".entry spill\n", guarded(6144)).output, "spill treated\nspill spills 6144\n");
  EXPECT_EQ(assemble(".entry spill\n", guarded()).output, "spill treated\nspill spills 6144\n");
}

TEST(Guard, shows_an_error_of_both_runs_once) {
  auto hooked = run_hooked({target("ptxas"), "missing.ptx", "-o", "/dev/null"}, guarded());
  EXPECT_EQ(hooked.completed.exit_status, 255);
  EXPECT_EQ(hooked.completed.err, "ptxas fatal: cannot open files\n");
}

TEST(Guard, leaves_natural_what_can_be_read_only_once) {
  Hook hook = make_hook(guarded());
  Input input("");
  Command command;
  command.arguments = {target("ptxas"), "/dev/stdin", "-o", input.output()};
  command.environment = hook.variables();
  command.input = ".target sm_90\n.entry k\n";
  ASSERT_TRUE(run(command)->ok());
  EXPECT_EQ(input.assembled(), "k neutral\n");
  auto recording = hook.recording();
  ASSERT_EQ(recording->fallbacks.size(), 1u);
  EXPECT_EQ(recording->fallbacks[0].reason, "its input /dev/stdin can be read only once");
}

TEST(Guard, that_cannot_be_started_leaves_the_run_natural_and_says_so) {
  Settings settings = guarded();
  settings.guard->helper = "/nowhere/namesake";
  auto result = assemble(".entry k\n", settings);
  EXPECT_EQ(result.output, "k neutral\n");
  ASSERT_EQ(result.hooked.recording.processes.size(), 1u);
  EXPECT_TRUE(result.hooked.recording.processes[0].unguarded);
}

TEST(Guard, does_not_stand_before_assemblers_that_are_not_treated) {
  Settings settings = guarded();
  settings.rules = {untreat("*")};
  auto result = assemble(".entry k_cutlass\n", settings);
  EXPECT_EQ(result.output, "k_cutlass neutral\n");
  EXPECT_EQ(result.hooked.recording.processes.size(), 1u);
}

TEST(Guard, does_not_stand_before_assemblers_inside_an_application) {
  auto hooked = run_hooked(
      {target("host"), "load=" + target("libnvrtc.so"), "target=sm_90", "name=k"}, guarded());
  EXPECT_EQ(hooked.out(), "k treated\n");
}

TEST(Guard, keeps_the_process_number_that_the_caller_knows) {
  Input input(".target sm_90\n.entry k\n");
  auto hooked = run_hooked({"sh", "-c", "echo $$; exec \"$0\" \"$@\"", target("ptxas"),
                            input.path(), "-o", input.output()},
                           guarded());
  EXPECT_EQ(input.assembled(), "k treated\n");
  auto number = static_cast<uint32_t>(std::stoul(hooked.out()));
  bool found = false;
  for (const Process& process : hooked.recording.processes) {
    found |= process.id == number && process.guarded;
  }
  EXPECT_TRUE(found);
}

TEST(Guard, ends_with_its_child_when_told_to) {
  Hook hook = make_hook(guarded());
  Input input(".target sm_90\n.entry hang\n");
  std::vector<std::string> variables = hook.variables();
  pid_t child = ::fork();
  if (child == 0) {
    for (std::string& each : variables) ::putenv(each.data());
    ::execl(target("ptxas").c_str(), "ptxas", input.path().c_str(), "-o", input.output().c_str(),
            nullptr);
    ::_exit(127);
  }
  // Until the treated run has begun to hang.
  for (int i = 0; i < 500 && asked(*hook.recording(), "cutlass").empty(); i++) ::usleep(10000);
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_TRUE(hook.recording()->fallbacks.empty());
}

TEST(Output, is_read_from_every_form_of_the_option) {
  EXPECT_EQ(output_of({"ptxas", "-o", "a.cubin", "x.ptx"}), "a.cubin");
  EXPECT_EQ(output_of({"ptxas", "--output-file", "a.cubin"}), "a.cubin");
  EXPECT_EQ(output_of({"ptxas", "--output-file=a.cubin"}), "a.cubin");
  EXPECT_EQ(output_of({"ptxas", "x.ptx"}), "");
  EXPECT_EQ(output_of({"ptxas", "-o"}), "");
}

}  // namespace
}  // namespace namesake::session
