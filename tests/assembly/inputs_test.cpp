#include "assembly/inputs.h"

#include <gtest/gtest.h>

#include "util/file.h"

namespace namesake::assembly {
namespace {

TEST(AssemblesFor, NewerCardsReadOldTextButArchSpecificTextIsForOneCard) {
  EXPECT_TRUE(assembles_for("sm_80", "sm_90"));
  EXPECT_TRUE(assembles_for("sm_80", "sm_100a"));
  EXPECT_FALSE(assembles_for("sm_90", "sm_80"));
  EXPECT_TRUE(assembles_for("sm_90a", "sm_90a"));
  EXPECT_FALSE(assembles_for("sm_90a", "sm_90"));
  EXPECT_FALSE(assembles_for("sm_90a", "sm_100a"));
  EXPECT_TRUE(assembles_for("sm_100f", "sm_103a"));
  EXPECT_FALSE(assembles_for("sm_100f", "sm_120a"));
}

class Loading : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-inputs"));
  std::filesystem::path file(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(folder.path() / name, text));
    return folder.path() / name;
  }
  static std::string module(const std::string& target) {
    return ".version 8.0\n.target " + target + "\n.address_size 64\n.visible .entry _Z5sgemmiPf()\n{\nret;\n}\n.visible .entry saxpy()\n{\nret;\n}\n";
  }
};

TEST_F(Loading, TakesTheFilesOwnTargetWithoutAWish) {
  InputRequest request{.files = {file("x.ptx", module("sm_86"))}};
  auto inputs = load(request);
  ASSERT_TRUE(inputs) << inputs.error().message;
  ASSERT_EQ(inputs->units.size(), 1u);
  EXPECT_EQ(inputs->units[0].architecture, "sm_86");
  EXPECT_EQ(inputs->units[0].kernels.size(), 2u);
}

TEST_F(Loading, AGlobSpeaksOfSymbolAndReadableName) {
  for (const char* glob : {"sgemm", "_Z5sgemm*", "sgemm(int, float*)"}) {
    InputRequest request{.files = {file("x.ptx", module("sm_80"))}, .kernel_glob = glob};
    auto inputs = load(request);
    ASSERT_TRUE(inputs) << glob << ": " << inputs.error().message;
    EXPECT_EQ(inputs->units[0].kernels, std::vector<std::string>{"_Z5sgemmiPf"}) << glob;
  }
}

TEST_F(Loading, WhoAsksForSm90OfSm90aTextGetsSm90a) {
  InputRequest request{.files = {file("x.ptx", module("sm_90a"))}, .architectures = {"sm_90"}};
  auto inputs = load(request);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ(inputs->units[0].architecture, "sm_90a");
}

TEST_F(Loading, WhatCannotBeAssembledIsLeftOutAndSaid) {
  InputRequest request{.files = {file("x.ptx", module("sm_90a")), file("y.ptx", module("sm_80"))}, .architectures = {"sm_80"}};
  auto inputs = load(request);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ(inputs->units.size(), 1u);
  ASSERT_EQ(inputs->notes.size(), 1u);
  EXPECT_NE(inputs->notes[0].find("x.ptx left out for sm_80"), std::string::npos);
}

TEST_F(Loading, BadInputIsOneSentenceThatNamesIt) {
  auto message = [](const InputRequest& request) {
    auto inputs = load(request);
    EXPECT_FALSE(inputs);
    return inputs ? std::string() : inputs.error().message;
  };
  EXPECT_NE(message({.files = {folder.path() / "none.ptx"}}).find("none.ptx"), std::string::npos);
  EXPECT_NE(message({.files = {file("empty.ptx", "")}}).find("empty.ptx"), std::string::npos);
  EXPECT_NE(message({.files = {file("elf.ptx", "\x7f" "ELF....")}}).find("ELF"), std::string::npos);
  EXPECT_NE(message({.files = {file("x.ptx", module("sm_80"))}, .architectures = {"hopper"}}).find("\"hopper\""), std::string::npos);
  EXPECT_NE(message({.files = {file("x.ptx", module("sm_80"))}, .kernel_glob = "nothing"}).find("\"nothing\""), std::string::npos);
  EXPECT_NE(message({.files = {file("x.cu", "")}}).find("toolchain add"), std::string::npos);
}

}  // namespace
}  // namespace namesake::assembly
