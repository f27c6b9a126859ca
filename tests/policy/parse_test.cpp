#include <gtest/gtest.h>

#include <filesystem>

#include "policy/policy.h"
#include "util/file.h"

namespace namesake::policy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWhole = R"(format = 1
[measured]
assembler = "13.0.88"
build = "cuda_13.0.r13.0/compiler.36424714_0"
gpu = "NVIDIA H200"
[limits]
spill_bytes = 16
timeout_seconds = 60
[[function]]
symbol = "_Z5sgemm*"
architecture = "sm_90"
treatment = "treated"
evidence = { file = "sgemm.json", ratio = 0.756, interval = [0.753, 0.759] }
[[function]]
name = "mine::*"
assembler = "any"
treatment = "untreated"
)";

TEST(Parse, ReadsEveryField) {
  Result<Policy> policy = parse(kWhole, "p.toml");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->measured.version, "13.0.88");
  EXPECT_EQ(policy->gpu, "NVIDIA H200");
  EXPECT_EQ(policy->spill_bytes, 16);
  EXPECT_EQ(policy->timeout_seconds, 60);
  ASSERT_EQ(policy->rules.size(), 2u);
  const Rule& first = policy->rules[0];
  EXPECT_EQ(first.symbol, "_Z5sgemm*");
  EXPECT_EQ(first.architecture, "sm_90");
  EXPECT_EQ(first.treatment, Treatment::treated);
  EXPECT_EQ(first.line, 9);
  ASSERT_TRUE(first.evidence);
  EXPECT_EQ(first.evidence->file, "sgemm.json");
  EXPECT_EQ(first.evidence->ratio, 0.756);
}

TEST(Parse, ARuleHoldsForTheAssemblerOfThePolicyUnlessItNamesOne) {
  Policy policy = parse(kWhole, "p.toml").value();
  EXPECT_EQ(policy.rules[0].assembler, policy.measured);
  EXPECT_EQ(policy.rules[1].assembler, Assembler{});
}

// Each errors/*.toml has what is said about it beside it, as errors/*.txt.
TEST(Parse, SaysWhatIsWrongAndWhere) {
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(NAMESAKE_TEST_DIR "/errors")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    std::string name = entry.path().filename().string();
    Result<Policy> policy = parse(read_file(entry.path()).value(), name);
    std::string said = (policy ? "(accepted)" : policy.error().message) + "\n";
    fs::path golden = fs::path(entry.path()).replace_extension(".txt");
    if (!environment("NAMESAKE_UPDATE_GOLDEN").empty()) {
      ASSERT_TRUE(write_file(golden, said));
    }
    EXPECT_EQ(said, read_file(golden).value_or("no " + golden.string())) << name;
    EXPECT_FALSE(policy) << name;
  }
  EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace namesake::policy
