// What is recorded survives the process, and recording never harms it.
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>

#include "targets.h"

namespace namesake::session {
namespace {

Hooked host(const std::vector<std::string>& steps, const Settings& settings = {}) {
  std::vector<std::string> command = {target("host"), "load=" + target("libnvrtc.so")};
  command.insert(command.end(), steps.begin(), steps.end());
  return run_hooked(command, settings);
}

size_t names_in(const Hooked& hooked) {
  return asked(hooked.recording, "cutlass").size();
}

TEST(Survival, records_outlive_a_kill) {
  auto hooked = host({"target=sm_90", "name=k", "kill=9"});
  EXPECT_EQ(hooked.completed.signal, 9);
  EXPECT_EQ(names_in(hooked), 1u);
  ASSERT_EQ(hooked.recording.processes.size(), 1u);
  EXPECT_FALSE(hooked.recording.processes[0].ended);
}

TEST(Survival, records_outlive_a_crash_and_an_exit_without_destructors) {
  EXPECT_EQ(names_in(host({"target=sm_90", "name=k", "kill=11"})), 1u);
  EXPECT_EQ(names_in(host({"target=sm_90", "name=k", "_exit=3"})), 1u);
}

TEST(Survival, an_orderly_end_is_told_from_a_crash) {
  EXPECT_TRUE(host({"target=sm_90", "exit=5"}).recording.processes[0].ended);
  EXPECT_FALSE(host({"target=sm_90", "_exit=5"}).recording.processes[0].ended);
}

TEST(Survival, closing_every_descriptor_changes_nothing) {
  EXPECT_EQ(names_in(host({"close", "target=sm_90", "name=k", "close", "name=l"})), 2u);
}

TEST(Survival, a_forked_child_has_a_ring_of_its_own) {
  auto hooked = host({"target=sm_90", "name=before", "fork", "name=behind", "kill=9"});
  std::map<std::string, uint32_t> process;
  for (const NameTest& test : asked(hooked.recording, "cutlass")) process[test.name] = test.process;
  ASSERT_EQ(process.size(), 2u);
  EXPECT_NE(process["before"], process["behind"]);
  EXPECT_EQ(hooked.recording.processes.size(), 2u);
}

TEST(Survival, errno_is_left_alone) {
  EXPECT_EQ(host({"target=sm_90", "errno"}).out(), "errno kept\n");
}

TEST(Survival, a_file_size_limit_costs_records_and_nothing_else) {
  auto hooked = host({"limit", "target=sm_90", "name=k"}, {.rules = {treat("*")}});
  EXPECT_EQ(hooked.completed.signal, 0);
  EXPECT_EQ(hooked.completed.exit_status, 0);
  EXPECT_EQ(hooked.out(), "k treated\n");
  EXPECT_EQ(hooked.recording.lost, 2u);
}

TEST(Survival, a_run_folder_that_vanished_costs_records_and_nothing_else) {
  Hook hook = make_hook({.rules = {treat("*")}});
  std::filesystem::remove_all(hook.folder() / "rings");
  std::filesystem::remove(hook.folder() / "table");
  Command command;
  command.arguments = {target("host"), "load=" + target("libnvrtc.so"), "target=sm_90", "name=k"};
  command.environment = hook.variables();
  auto completed = run(command);
  EXPECT_TRUE(completed->ok());
  EXPECT_EQ(completed->out, "k treated\n");
}

TEST(Survival, without_a_control_file_everything_is_natural) {
  Hook hook = make_hook({.rules = {treat("*")}});
  std::filesystem::remove(hook.folder() / "control");
  Command command;
  command.arguments = {target("host"), "load=" + target("libnvrtc.so"), "target=sm_90", "name=k"};
  command.environment = hook.variables();
  auto completed = run(command);
  EXPECT_TRUE(completed->ok());
  EXPECT_EQ(completed->out, "k neutral\n");
}

TEST(Survival, a_full_disk_costs_records_and_nothing_else) {
  auto place = TemporaryFolder::make("namesake-test");
  // Room for the library, the control file and the table, not for many rings.
  if (::mount("none", place->path().c_str(), "tmpfs", 0, "size=4700k") != 0) {
    GTEST_SKIP() << "cannot mount a small tmpfs; run as root in a mount namespace of its own";
  }
  ::setenv("XDG_RUNTIME_DIR", place->path().c_str(), 1);
  {
    Hook hook = make_hook({.rules = {treat("*")}});
    EXPECT_EQ(hook.folder().parent_path(), place->path());
    Command command;
    command.arguments = {target("host"), "load=" + target("libnvrtc.so"), "target=sm_90",
                         "threads=4,3000", "name=k"};
    command.environment = hook.variables();
    auto completed = run(command);
    EXPECT_TRUE(completed->ok()) << completed->how_it_ended();
    EXPECT_EQ(completed->out, "k treated\n");
    auto recording = hook.recording();
    ASSERT_TRUE(recording.has_value());
    EXPECT_GT(recording->lost, 0u);
    EXPECT_EQ(recording->lost + recording->tests.size(), 12002u);
  }
  ::unsetenv("XDG_RUNTIME_DIR");
  ::umount2(place->path().c_str(), MNT_DETACH);
}

TEST(Survival, threads_lose_nothing) {
  auto hooked = host({"target=sm_90", "threads=8,2000"});
  std::set<std::string> names;
  for (const NameTest& test : asked(hooked.recording, "cutlass")) names.insert(test.name);
  EXPECT_EQ(names.size(), 16000u);
  EXPECT_EQ(names_in(hooked), 16000u);
  EXPECT_EQ(hooked.recording.lost, 0u);
  EXPECT_EQ(hooked.recording.unfinished, 0u);
}

// Threads of a process, forks in their midst whose children close all descriptors, ask, and are
// killed or leave: every question whose answer was received is on record.
TEST(Survival, threads_forks_and_kills_lose_nothing) {
  Hook hook = make_hook({});
  constexpr int kProcesses = 12;
  for (int i = 0; i < kProcesses; i++) {
    Command command;
    std::string end = i % 3 == 0 ? "kill=9" : i % 3 == 1 ? "_exit=0" : "exit=0";
    command.arguments = {target("host"),  "load=" + target("libnvrtc.so"),
                         "target=sm_90",  "threads=8,500",
                         "fork",          "close",
                         "threads=8,500", "fork",
                         "threads=4,100", end};
    command.environment = hook.variables();
    ASSERT_TRUE(run(command).has_value());
  }
  auto recording = hook.recording();
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(asked(*recording, "cutlass").size(), kProcesses * (4000u + 4000u + 400u));
  EXPECT_EQ(recording->processes.size(), kProcesses * 3u);
  EXPECT_EQ(recording->lost, 0u);
  EXPECT_EQ(recording->unfinished, 0u);
  EXPECT_TRUE(recording->damaged.empty());
}

// A kill in the middle of the threads' work: what was recorded before is whole, at most one record
// a thread is unfinished, and each thread's records are its first ones without a gap.
TEST(Survival, a_kill_at_any_moment_leaves_whole_records) {
  for (int i = 0; i < 20; i++) {
    Hook hook = make_hook({});
    std::vector<std::string> variables = hook.variables();
    pid_t child = ::fork();
    if (child == 0) {
      for (std::string& each : variables) ::putenv(each.data());
      std::string load = "load=" + target("libnvrtc.so");
      ::execl(target("host").c_str(), "host", load.c_str(), "target=sm_90", "threads=8,100000",
              nullptr);
      ::_exit(127);
    }
    ::usleep(20000 + i * 3000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    auto recording = hook.recording();
    ASSERT_TRUE(recording.has_value());
    EXPECT_LE(recording->unfinished, 8u);
    std::map<uint32_t, std::set<int>> by_thread;
    for (const NameTest& test : asked(*recording, "cutlass")) {
      by_thread[test.thread].insert(std::stoi(test.name.substr(test.name.rfind('_') + 1)));
    }
    for (const auto& [thread, numbers] : by_thread) {
      EXPECT_EQ(*numbers.begin(), 0);
      EXPECT_EQ(numbers.size(), static_cast<size_t>(*numbers.rbegin()) + 1);
    }
  }
}

}  // namespace
}  // namespace namesake::session
