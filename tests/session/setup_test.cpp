// Before a run: folders, rules, what is in the way.
#include <elf.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "session/elf.h"
#include "session/folder.h"
#include "session/preflight.h"
#include "session/suspects.h"
#include "targets.h"

namespace namesake::session {
namespace {

namespace fs = std::filesystem;

TEST(Folder, with_a_path_that_the_loader_cannot_read_is_unfit) {
  auto folder = TemporaryFolder::make("namesake-test");
  EXPECT_EQ(why_unfit(folder->path()), "");
  for (const char* name : {"with space", "with:colon", "with$dollar"}) {
    fs::create_directory(folder->path() / name);
    EXPECT_NE(why_unfit(folder->path() / name).find("LD_PRELOAD"), std::string::npos) << name;
  }
  EXPECT_NE(why_unfit("relative"), "");
  EXPECT_NE(why_unfit(folder->path() / "absent"), "");
}

TEST(Folder, mounted_noexec_is_passed_over) {
  auto folder = TemporaryFolder::make("namesake-test");
  auto other = TemporaryFolder::make("namesake-test");
  if (::mount("none", folder->path().c_str(), "tmpfs", MS_NOEXEC, "size=1m") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs; run as root in a mount namespace of its own";
  }
  EXPECT_NE(why_unfit(folder->path()).find("noexec"), std::string::npos);
  auto made = make_run_folder({folder->path(), other->path()});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->path().parent_path(), other->path());
  ::umount2(folder->path().c_str(), MNT_DETACH);
}

TEST(Folder, that_cannot_be_found_is_reported_with_every_reason) {
  auto made = make_run_folder({"/nowhere/at/all", "relative"});
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("/nowhere/at/all does not exist"), std::string::npos);
  EXPECT_NE(made.error().message.find("relative is no absolute path"), std::string::npos);
}

TEST(Folder, goes_away_with_its_hook) {
  fs::path folder;
  {
    Hook hook = make_hook({});
    folder = hook.folder();
    EXPECT_TRUE(fs::exists(hook.library()));
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST(Rules, that_the_hook_cannot_follow_are_refused_with_a_cure) {
  auto refusal = [](const Rule& rule) {
    auto control = encode_control({.rules = {rule}}, "/run");
    return control ? "" : control.error().message;
  };
  EXPECT_NE(refusal(treat("ns::kernel<128>")).find("without template arguments"),
            std::string::npos);
  EXPECT_NE(refusal(treat("")).find("empty pattern"), std::string::npos);
  EXPECT_NE(refusal(treat("*", "sm90")).find("sm_90"), std::string::npos);
  EXPECT_EQ(refusal(treat("ns::*", "sm_100a")), "");
}

TEST(Rules, and_settings_make_the_key) {
  EXPECT_EQ(make_hook({.rules = {treat("*")}}).key(), make_hook({.rules = {treat("*")}}).key());
  EXPECT_NE(make_hook({.rules = {treat("*")}}).key(), make_hook({.rules = {untreat("*")}}).key());
  EXPECT_NE(make_hook({}).key(), make_hook({.all_tests = true}).key());
}

TEST(Architecture, is_packed_and_unpacked) {
  for (const char* text : {"sm_80", "sm_90a", "sm_100f", "sm_120"}) {
    auto packed = pack_architecture(text);
    ASSERT_TRUE(packed.has_value());
    EXPECT_EQ(unpack_architecture(*packed), text);
  }
  for (const char* text : {"", "sm_", "sm_x", "compute_90", "sm_-1", "sm_9999999"}) {
    EXPECT_FALSE(pack_architecture(text).has_value()) << text;
  }
}

std::vector<Obstacle> obstacles(const std::string& program, Via via = Via::preload) {
  std::vector<Obstacle> result;
  for (const Finding& finding : examine_program(program, via)) result.push_back(finding.obstacle);
  return result;
}
using Obstacles = std::vector<Obstacle>;

TEST(Preflight, finds_nothing_against_an_ordinary_program) {
  EXPECT_EQ(obstacles("sh"), Obstacles{});
  EXPECT_EQ(obstacles(target("ptxas")), Obstacles{});
}

TEST(Preflight, names_what_is_missing_or_no_program) {
  EXPECT_EQ(obstacles("no-such-command-anywhere"), Obstacles{Obstacle::not_found});
  EXPECT_EQ(obstacles("/etc/passwd"), Obstacles{Obstacle::not_executable});
}

TEST(Preflight, names_a_static_program) {
  EXPECT_EQ(obstacles(target("ptxas-static")), Obstacles{Obstacle::static_program});
}

TEST(Preflight, names_a_sanitized_program) {
  EXPECT_EQ(obstacles(target("ptxas-sanitized")), Obstacles{Obstacle::sanitizer});
  EXPECT_EQ(obstacles(target("ptxas-sanitized"), Via::audit), Obstacles{});
}

TEST(Preflight, follows_a_script_to_its_interpreter) {
  auto folder = TemporaryFolder::make("namesake-test");
  auto script = [&](const std::string& line) {
    std::string path = (folder->path() / "script").string();
    EXPECT_TRUE(write_file(path, line + "\nexit\n", true).has_value());
    return path;
  };
  EXPECT_EQ(obstacles(script("#!/bin/sh")), Obstacles{});
  EXPECT_EQ(obstacles(script("#!/usr/bin/env sh")), Obstacles{});
  EXPECT_EQ(obstacles(script("#!" + target("ptxas-static"))), Obstacles{Obstacle::static_program});
  EXPECT_EQ(obstacles(script("#!/nowhere/python")), Obstacles{Obstacle::not_found});
}

TEST(Preflight, names_a_setuid_program_and_one_for_another_machine) {
  auto folder = TemporaryFolder::make("namesake-test");
  std::string copy = (folder->path() / "program").string();
  std::string bytes = *read_file(target("ptxas"));
  ASSERT_TRUE(write_file(copy, bytes, true).has_value());
  ::chmod(copy.c_str(), 04755);
  EXPECT_EQ(obstacles(copy), Obstacles{Obstacle::privileged});
  ::chmod(copy.c_str(), 0755);
  bytes[EI_CLASS] = ELFCLASS32;
  ASSERT_TRUE(write_file(copy, bytes, true).has_value());
  EXPECT_EQ(obstacles(copy), Obstacles{Obstacle::foreign_machine});
}

TEST(Preflight, names_an_assembler_that_cannot_ask_through_libc) {
  EXPECT_TRUE(examine_assembler(target("ptxas")).empty());
  EXPECT_TRUE(examine_assembler(target("libnvrtc.so")).empty());
  auto findings = examine_assembler("/bin/true");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].obstacle, Obstacle::no_strstr);
}

TEST(Preflight, of_the_system_leaves_no_trace_in_this_process) {
  for (const Finding& finding : examine_system()) EXPECT_FALSE(finding.fatal) << finding.sentence;
}

TEST(Suspects, are_kept_and_become_rules_for_that_library_alone) {
  auto folder = TemporaryFolder::make("namesake-test");
  fs::path file = folder->path() / "state" / "suspects";
  EXPECT_TRUE(load_suspects(file).empty());
  Suspect one{"_Z1kv", "sm_90a", 0xabcdef}, two{"plain*name", "", 1};
  ASSERT_TRUE(add_suspects(file, {one}).has_value());
  ASSERT_TRUE(add_suspects(file, {two, one}).has_value());
  EXPECT_EQ(load_suspects(file), (std::vector<Suspect>{one, two}));
  auto rules = rules_against(load_suspects(file));
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].treatment, Treatment::natural);
  EXPECT_EQ(rules[0].architecture, "sm_90a");
  EXPECT_EQ(rules[0].assembler, 0xabcdefu);
  EXPECT_EQ(rules[1].pattern, "plain?name");
}

TEST(Suspects, in_a_damaged_file_are_skipped) {
  auto folder = TemporaryFolder::make("namesake-test");
  fs::path file = folder->path() / "suspects";
  ASSERT_TRUE(write_file(file, "rubbish\n0 sm_bad x\n000000000000000a sm_90 good\n\n").has_value());
  EXPECT_EQ(load_suspects(file), (std::vector<Suspect>{{"good", "sm_90", 10}}));
}

}  // namespace
}  // namespace namesake::session
