#include "session/run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "targets.h"

namespace namesake::session {
namespace {

class Run : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::make_unique<TemporaryFolder>(std::move(*TemporaryFolder::make("namesake-test")));
    options_.state = folder_->path() / "state";
    options_.cache = folder_->path() / "cache";
  }
  Outcome run_it(const std::vector<std::string>& command) {
    auto outcome = run(command, options_);
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().message);
    return outcome ? *outcome : Outcome{};
  }
  std::string text_file(const std::string& name, const std::string& content) {
    EXPECT_TRUE(write_file(folder_->path() / name, content).has_value());
    return (folder_->path() / name).string();
  }
  std::string out(const std::string& name = "out") const {
    return read_file(folder_->path() / name).value_or("");
  }
  std::string path(const std::string& name) const { return (folder_->path() / name).string(); }

  std::unique_ptr<TemporaryFolder> folder_;
  RunOptions options_;
};

TEST_F(Run, passes_the_commands_status_through) {
  EXPECT_EQ(run_it({"sh", "-c", "exit 7"}).exit_status, 7);
  EXPECT_EQ(run_it({"true"}).exit_status, 0);
}

TEST_F(Run, passes_the_commands_signal_through) {
  Outcome outcome = run_it({"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(outcome.signal, 9);
}

TEST_F(Run, ends_like_the_command) {
  Outcome outcome;
  outcome.exit_status = 42;
  EXPECT_EXIT(end_like(outcome), testing::ExitedWithCode(42), "");
  outcome.signal = SIGTERM;
  EXPECT_EXIT(end_like(outcome), testing::KilledBySignal(SIGTERM), "");
}

TEST_F(Run, tells_a_missing_command_from_one_that_cannot_be_run) {
  Outcome missing = run_it({"no-such-command-anywhere"});
  EXPECT_EQ(missing.exit_status, 127);
  EXPECT_NE(missing.not_started.find("no-such-command-anywhere"), std::string::npos);
  EXPECT_EQ(run_it({text_file("plain", "text")}).exit_status, 126);
}

TEST_F(Run, refuses_to_nest) {
  ::setenv("NAMESAKE_SESSION", "/some/run", 1);
  auto outcome = run({"true"}, options_);
  ::unsetenv("NAMESAKE_SESSION");
  ASSERT_FALSE(outcome.has_value());
  EXPECT_NE(outcome.error().message.find("/some/run"), std::string::npos);
}

TEST_F(Run, counts_treated_and_left_functions_once_each) {
  options_.settings.rules = {treat("a*"), untreat("b_cutlass")};
  std::string input =
      text_file("in.ptx", ".target sm_90\n.entry a\n.entry a\n.entry b_cutlass\n.entry c\n");
  Outcome outcome = run_it({target("ptxas"), input, "-o", path("out")});
  EXPECT_EQ(out(), "a treated\na treated\nb_cutlass neutral\nc neutral\n");
  EXPECT_EQ(outcome.counts.treated, 2u);
  EXPECT_EQ(outcome.counts.left, 1u);
  EXPECT_EQ(outcome.counts.unseen, 0u);
  EXPECT_FALSE(outcome.counts.nothing_assembled);
}

TEST_F(Run, says_when_nothing_was_assembled) {
  EXPECT_TRUE(run_it({"true"}).counts.nothing_assembled);
}

TEST_F(Run, reaches_the_whole_tree) {
  options_.settings.rules = {treat("*")};
  std::string input = text_file("in.ptx", ".target sm_90\n.entry k\n");
  Outcome outcome = run_it({"sh", "-c",
                            "for i in 1 2 3 4; do sh -c '\"$0\" \"$1\" -o \"$2\".'$i \"$0\" "
                            "\"$1\" \"$2\" & done; wait",
                            target("ptxas"), input, path("out")});
  for (const char* each : {"out.1", "out.2", "out.3", "out.4"}) EXPECT_EQ(out(each), "k treated\n");
  EXPECT_EQ(outcome.counts.treated, 4u);
}

TEST_F(Run, lists_assemblers_that_did_not_report) {
  std::string input = text_file("in.ptx", ".target sm_90\n.sleep 60\n.entry k\n");
  std::string cleared = "env -i " + target("ptxas") + " " + input + " -o " + path("a");
  std::string fixed = target("ptxas-static") + " " + input + " -o " + path("b");
  std::string host = "env -i " + target("host") + " load=" + target("libnvrtc.so") + " sleep=100";
  std::string seen = target("ptxas") + " " + input + " -o " + path("c");
  Outcome outcome = run_it({"sh", "-c", cleared + "; " + fixed + "; " + seen + "; " + host});
  ASSERT_TRUE(outcome.watched);
  std::vector<std::string> programs;
  for (const Unseen& each : outcome.unseen) {
    programs.push_back(std::filesystem::path(each.program).filename());
    EXPECT_EQ(!each.library.empty(), programs.back() == "host");
  }
  std::sort(programs.begin(), programs.end());
  EXPECT_EQ(programs, (std::vector<std::string>{"host", "ptxas", "ptxas-static"}));
  EXPECT_EQ(outcome.counts.unseen, 3u);
}

TEST_F(Run, moves_compile_caches_by_what_is_answered) {
  std::vector<std::string> command = {"sh", "-c", "echo \"$TRITON_CACHE_DIR\" > " + path("out")};
  options_.settings.rules = {treat("*")};
  run_it(command);
  std::string treated = out();
  EXPECT_EQ(treated.rfind(options_.cache.string(), 0), 0u);
  run_it(command);
  EXPECT_EQ(out(), treated);
  options_.settings.rules = {untreat("*")};
  Outcome outcome = run_it(command);
  EXPECT_NE(out(), treated);
  bool listed = false;
  for (const MovedCache& cache : outcome.moved_caches)
    listed |= cache.variable == "TRITON_CACHE_DIR";
  EXPECT_TRUE(listed);
}

TEST_F(Run, leaves_caches_alone_when_told_to) {
  options_.own_caches = false;
  Outcome outcome = run_it({"sh", "-c", "echo \"$CUDA_CACHE_PATH\" > " + path("out")});
  EXPECT_EQ(out(), environment("CUDA_CACHE_PATH") + "\n");
  EXPECT_TRUE(outcome.moved_caches.empty());
}

TEST_F(Run, fixes_addresses_or_says_that_it_could_not) {
  options_.fixed_addresses = true;
  std::vector<std::string> command = {"sh", "-c", "grep stack /proc/self/maps > " + path("out")};
  Outcome outcome = run_it(command);
  std::string first = out();
  run_it(command);
  if (!outcome.addresses_fixed) GTEST_SKIP() << "personality() is refused here: run unconfined";
  EXPECT_EQ(out(), first);
}

TEST_F(Run, passes_signals_that_it_is_sent_on) {
  std::string ready = path("ready");
  pid_t tool = ::fork();
  if (tool == 0) {
    auto outcome =
        run({"sh", "-c", "trap 'exit 42' TERM; : > " + ready + "; while :; do sleep 0.02; done"},
            options_);
    if (outcome) ::_exit(outcome->exit_status);
    ::_exit(125);
  }
  for (int i = 0; i < 500 && !std::filesystem::exists(ready); i++) ::usleep(10000);
  ::kill(tool, SIGTERM);
  int status = 0;
  ::waitpid(tool, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST_F(Run, names_what_lives_on) {
  Outcome outcome = run_it({"sh", "-c", "sleep 1 > /dev/null 2>&1 &"});
  ASSERT_EQ(outcome.still_running.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(outcome.kept_folder / "namesake.so"));
  std::filesystem::remove_all(outcome.kept_folder);
}

TEST_F(Run, leaves_natural_what_killed_a_process_before) {
  options_.settings.rules = {treat("*")};
  std::vector<std::string> command = {target("host"), "load=" + target("libnvrtc.so"),
                                      "target=sm_90", "name=fine", "name=crash"};
  Outcome first = run_it(command);
  EXPECT_EQ(first.signal, SIGSEGV);
  ASSERT_EQ(first.new_suspects.size(), 1u);
  EXPECT_EQ(first.new_suspects[0].name, "crash");
  EXPECT_EQ(first.new_suspects[0].architecture, "sm_90");

  Outcome second = run_it(command);
  EXPECT_EQ(second.signal, 0);
  EXPECT_EQ(second.left_natural.size(), 1u);
  EXPECT_EQ(second.counts.treated, 1u);
  EXPECT_EQ(second.counts.left, 1u);
  auto tests = asked(second.recording, "cutlass");
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].reason, Reason::rule);
  EXPECT_EQ(tests[1].reason, Reason::suspect);
}

TEST_F(Run, suspects_nobody_when_a_process_just_leaves) {
  options_.settings.rules = {treat("*")};
  for (const char* end : {"_exit=0", "_exit=1", "kill=15"}) {
    Outcome outcome =
        run_it({target("host"), "load=" + target("libnvrtc.so"), "target=sm_90", "name=k", end});
    EXPECT_TRUE(outcome.new_suspects.empty()) << end;
  }
}

}  // namespace
}  // namespace namesake::session
