#include "assembly/cache.h"

#include <gtest/gtest.h>

#include "assembly/outcome.h"
#include "util/file.h"

namespace namesake::assembly {
namespace {

class Caches : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-cache"));
  static Outcome outcome() {
    Outcome outcome;
    outcome.addresses_fixed = true;
    outcome.wall_seconds = 0.25;
    outcome.data = hash_bytes("data");
    FunctionCode code;
    code.identity = hash_bytes("code");
    code.code = std::string("\0\xff code", 7);
    code.registers = 40;
    code.indirect_branches = {{16, {32, 48}}};
    code.relocations = {{8, 2, -4, "table"}};
    outcome.functions.emplace("kernel", code);
    return outcome;
  }
};

TEST_F(Caches, GiveBackWhatTheyWereGiven) {
  Cache cache(folder.path(), "salt");
  cache.remember("key", outcome());
  auto found = cache.find("key");
  ASSERT_TRUE(found);
  const FunctionCode& code = found->functions.at("kernel");
  EXPECT_EQ(code.identity, hash_bytes("code"));
  EXPECT_EQ(code.code, outcome().functions.at("kernel").code);
  EXPECT_EQ(code.registers, 40);
  EXPECT_EQ(code.indirect_branches.at(0).targets, (std::vector<uint32_t>{32, 48}));
  EXPECT_EQ(code.relocations.at(0).target, "table");
  EXPECT_EQ(code.relocations.at(0).addend, -4);
  EXPECT_EQ(found->data, hash_bytes("data"));
  EXPECT_EQ(found->wall_seconds, 0.25);
}

TEST_F(Caches, AnotherKeyOrSaltIsAMiss) {
  Cache(folder.path(), "salt").remember("key", outcome());
  EXPECT_FALSE(Cache(folder.path(), "salt").find("other"));
  EXPECT_FALSE(Cache(folder.path(), "other").find("key"));
}

TEST_F(Caches, FailuresAreNotRemembered) {
  Outcome failed = outcome();
  failed.failure = "killed";
  Cache cache(folder.path(), "salt");
  cache.remember("key", failed);
  EXPECT_FALSE(cache.find("key"));
}

TEST_F(Caches, ADamagedEntryIsAMiss) {
  Cache cache(folder.path(), "salt");
  cache.remember("key", outcome());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    std::string content = *read_file(entry.path());
    for (size_t size : {size_t{0}, size_t{1}, content.size() / 2, content.size() - 1}) {
      ASSERT_TRUE(write_file(entry.path(), content.substr(0, size)));
      EXPECT_FALSE(cache.find("key")) << size;
    }
  }
}

TEST_F(Caches, PruningRemovesTheOldestFirst) {
  Cache cache(folder.path(), "salt");
  cache.remember("old", outcome());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) std::filesystem::last_write_time(entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  cache.remember("new", outcome());
  uint64_t total = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) total += entry.file_size();
  }
  cache.prune(total - 1);
  EXPECT_FALSE(cache.find("old"));
  EXPECT_TRUE(cache.find("new"));
}

TEST(NoCache, WithoutAFolderNothingIsRemembered) {
  Cache cache({}, "salt");
  cache.remember("key", Outcome());
  EXPECT_FALSE(cache.find("key"));
}

TEST(Outcome, BytesThatNestWithoutEndAreNone) {
  EXPECT_FALSE(decoded_outcome(std::string(1 << 20, '\x81')));
  EXPECT_FALSE(decoded_code(std::string(1 << 20, '\x81')));
}

}  // namespace
}  // namespace namesake::assembly
