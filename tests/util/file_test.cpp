#include "util/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

}  // namespace
}  // namespace namesake
