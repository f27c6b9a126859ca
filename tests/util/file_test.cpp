#include "util/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace namesake {
namespace {
namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  TemporaryFolder folder = *TemporaryFolder::make("namesake-test");
};

TEST_F(Files, WhatIsWrittenIsReadBack) {
  std::string content(100'000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7);
  ASSERT_TRUE(write_file(folder.path() / "x", content));
  EXPECT_EQ(*read_file(folder.path() / "x"), content);
}

TEST_F(Files, WritingLeavesNoTemporaryFileBeside) {
  ASSERT_TRUE(write_file(folder.path() / "x", "1"));
  ASSERT_TRUE(write_file(folder.path() / "x", "2"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST_F(Files, WritingIntoAMissingFolderSaysWhichFile) {
  auto status = write_file(folder.path() / "no" / "x", "1");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("no/x"), std::string::npos);
}

TEST_F(Files, AFolderIsNoFile) {
  auto content = read_file(folder.path());
  ASSERT_FALSE(content);
  EXPECT_NE(content.error().message.find("folder"), std::string::npos);
}

TEST_F(Files, MoreThanTheLimitIsRefused) {
  ASSERT_TRUE(write_file(folder.path() / "x", std::string(101, 'x')));
  EXPECT_FALSE(read_file(folder.path() / "x", 100));
  EXPECT_TRUE(read_file(folder.path() / "x", 101));
}

TEST_F(Files, AnExecutableFileCanBeRun) {
  ASSERT_TRUE(write_file(folder.path() / "x", "#!/bin/sh\n", true));
  struct stat status {};
  ASSERT_EQ(::stat((folder.path() / "x").c_str(), &status), 0);
  EXPECT_TRUE(status.st_mode & S_IXUSR);
}

TEST(TemporaryFolders, GoAwayWithAllTheyHold) {
  fs::path path;
  {
    auto folder = TemporaryFolder::make("namesake-test");
    ASSERT_TRUE(folder);
    path = folder->path();
    std::ofstream(path / "x") << "x";
    TemporaryFolder moved = std::move(*folder);
    EXPECT_TRUE(fs::exists(path / "x"));
  }
  EXPECT_FALSE(fs::exists(path));
}

// A process that makes such a folder, is asked to start a program, and is then killed.
class Killed : public Files {
 protected:
  // The folder that is left, and, if it is wanted, the process that still uses it.
  fs::path leave(bool with_program, pid_t* program = nullptr) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_t maker = ::fork();
    if (maker == 0) {
      auto made = TemporaryFolder::make_swept("namesake-test", folder.path());
      if (made && write_file(made->path() / "x", "x")) {
        pid_t child = with_program ? ::fork() : -1;
        if (child == 0) {
          ::execlp("sleep", "sleep", "60", nullptr);
          ::_exit(127);
        }
        std::string line = made->path().string() + ' ' + std::to_string(child);
        if (::write(ends[1], line.data(), line.size()) > 0) ::kill(::getpid(), SIGKILL);
      }
      ::_exit(1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(maker, &status, 0), maker);
    EXPECT_TRUE(WIFSIGNALED(status));
    char line[4096] = {};
    EXPECT_GT(::read(ends[0], line, sizeof line - 1), 0);
    ::close(ends[0]);
    ::close(ends[1]);
    std::string_view told = line;
    if (program) *program = std::atoi(line + told.find(' '));
    return told.substr(0, told.find(' '));
  }
};

TEST_F(Killed, AFolderIsSweptByTheNextThatMakesOne) {
  fs::path left = leave(false);
  ASSERT_TRUE(fs::exists(left / "x"));
  auto next = TemporaryFolder::make_swept("namesake-test", folder.path());
  ASSERT_TRUE(next);
  EXPECT_TRUE(fs::exists(next->path()));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(Killed, AFolderThatAProgramStillUsesIsLeft) {
  pid_t program = -1;
  fs::path left = leave(true, &program);
  ASSERT_GT(program, 0);
  auto next = TemporaryFolder::make_swept("namesake-test", folder.path());
  EXPECT_TRUE(fs::exists(left / "x"));
  ::kill(program, SIGKILL);
}

TEST_F(Killed, WhatIsNotOfThatNameIsLeft) {
  for (const char* name : {"namesake-test-kept", "namesake-test-a", "other-abcdef"})
    fs::create_directory(folder.path() / name);
  auto next = TemporaryFolder::make_swept("namesake-test", folder.path());
  for (const char* name : {"namesake-test-kept", "namesake-test-a", "other-abcdef"})
    EXPECT_TRUE(fs::exists(folder.path() / name)) << name;
}

TEST(TemporaryFolders, OfALivingProcessAreLeftByOthers) {
  TemporaryFolder parent = *TemporaryFolder::make("namesake-test");
  auto mine = TemporaryFolder::make_swept("namesake-test", parent.path());
  ASSERT_TRUE(mine);
  pid_t other = ::fork();
  if (other == 0) {
    // By another way to the same place, as a process that has not swept there yet.
    auto theirs = TemporaryFolder::make_swept("namesake-test", parent.path() / ".");
    ::_exit(theirs && fs::exists(mine->path()) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(mine->path()));
}

}  // namespace
}  // namespace namesake
