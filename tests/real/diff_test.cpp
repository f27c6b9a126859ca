// `namesake diff` with real assemblers and a real front end.
#include "real.h"

#include <nlohmann/json.hpp>
#include <set>

namespace namesake::real {
namespace {

class RealDiff : public Real {
 protected:
  nlohmann::json diff(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kTool, "-q", "diff", "--json", "-"});
    Completed done = must(std::move(arguments));
    peak_kilobytes_ = done.peak_kilobytes;
    return nlohmann::json::parse(done.out);
  }

  static void expect_controls_hold(const nlohmann::json& difference) {
    EXPECT_FALSE(difference["controls"].empty());
    for (const auto& control : difference["controls"]) EXPECT_NE(control["outcome"], "failed") << control.dump(1);
  }

  static std::string verdict(const nlohmann::json& difference) {
    EXPECT_EQ(difference["functions"].size(), 1u);
    return difference["functions"][0]["verdict"];
  }

  // One small kernel that reacts, so many times in one module; each has constants of its own.
  std::string many(int count) {
    std::string text = *read_file(kKernels + "/ptx/gather.ptx");
    size_t entry = text.find(".visible .entry");
    std::string module = text.substr(0, entry), kernel = text.substr(entry);
    auto replaced = [](std::string in, const std::string& what, const std::string& by) {
      for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + by.size())) in.replace(at, what.size(), by);
      return in;
    };
    for (int i = 0; i < count; ++i) {
      std::string one = replaced(kernel, "gather_rows", fmt::format("gather_{:05}", i));
      one = replaced(one, "$L__BB0", fmt::format("$L__BB{}", i));
      module += replaced(one, ", 4;", fmt::format(", {};", 4 + 4 * (i % 200)));
    }
    return write(fmt::format("many_{}.ptx", count), module);
  }

  int64_t peak_kilobytes_ = 0;
};

TEST_F(RealDiff, OfCudaSourceStudiesTheFrontEndToo) {
  NEED_TOOL(nvcc, nvcc, "13.0");
  NEED_TOOL(ptxas, ptxas, "13.0");
  auto found = diff({kKernels + "/gather.cu", "--arch", "sm_90,sm_100", "--assembler", ptxas});
  expect_controls_hold(found);
  ASSERT_EQ(found["functions"].size(), 2u);
  for (const auto& function : found["functions"]) EXPECT_EQ(function["verdict"], "different");
  std::set<std::string> studied;
  for (const auto& half : found["front_end"]) {
    studied.insert(half["architecture"]);
    EXPECT_FALSE(half["ptx_differs"].get<bool>()) << "this kernel has no load that the front end could remove";
  }
  EXPECT_EQ(studied, (std::set<std::string>{"sm_90", "sm_100"}));
}

TEST_F(RealDiff, OfTwoReleasesLowersThePtxAndProvesThatItIsHarmless) {
  NEED_TOOL(older, ptxas, "12.9");
  NEED_TOOL(newer, ptxas, "13.0");
  auto found = diff({kKernels + "/ptx/gather.ptx", "--arch", "sm_90", "--a", older, "--b", newer});
  expect_controls_hold(found);
  EXPECT_TRUE(found.dump().find("lowered to 8.8") != std::string::npos);
  EXPECT_TRUE(found.dump().find("lowering .version changes no code") != std::string::npos);
}

TEST_F(RealDiff, OfThePragmaShowsTheEffectOfTheName) {
  NEED_TOOL(ptxas, ptxas, "13.5");
  auto by_pragma = diff({kKernels + "/ptx/gather.ptx", "--assembler", ptxas, "--b", "pragma"});
  auto by_name = diff({kKernels + "/ptx/gather.ptx", "--assembler", ptxas, "--a", "natural", "--b", "renamed"});
  auto by_answer = diff({kKernels + "/ptx/gather.ptx", "--assembler", ptxas});
  for (const auto& found : {by_pragma, by_name, by_answer}) {
    expect_controls_hold(found);
    EXPECT_EQ(verdict(found), "different");
    EXPECT_EQ(found["functions"][0]["b"]["mix"], by_answer["functions"][0]["b"]["mix"]);
  }
}

TEST_F(RealDiff, OfThePragmaInAnAssemblerThatDoesNotKnowItSaysSo) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  Completed done = namesake({"-q", "diff", kKernels + "/ptx/gather.ptx", "--assembler", ptxas, "--b", "pragma"});
  EXPECT_TRUE(says(done, "needs ptxas 13.3 or newer"));
}

TEST_F(RealDiff, AtO2TheNameChangesNothing) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  auto found = diff({kKernels + "/ptx/gather.ptx", "--assembler", ptxas, "--opt", "2"});
  expect_controls_hold(found);
  EXPECT_EQ(verdict(found), "same");
}

TEST_F(RealDiff, O2GivesTheCodeOfUntreatedO3) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  EXPECT_EQ(verdict(diff({kKernels + "/ptx/gather.ptx", "--assembler", ptxas, "--a", "untreated", "--b", "untreated,O2"})), "same");
}

TEST_F(RealDiff, TheLotteryIsSeenToBeOne) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  auto found = diff({kKernels + "/ptx/tcgen05_lottery.ptx", "--arch", "sm_100a", "--assembler", ptxas, "--draws", "16"});
  EXPECT_EQ(verdict(found), "lottery");
  const auto& function = found["functions"][0];
  EXPECT_GT(function["a"]["draws"].size() + function["b"]["draws"].size(), 2u);
  EXPECT_GE(function["a"]["draws_made"].get<int>(), 16);
}

TEST_F(RealDiff, ACrashOfTheTreatedBuildIsAFindingAndNoError) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  auto found = diff({kKernels + "/ptx/tcgen05_crash.ptx", "--arch", "sm_100a", "--assembler", ptxas});
  EXPECT_EQ(verdict(found), "failed");
  EXPECT_NE(found["functions"][0].dump().find("signal 11"), std::string::npos);
}

// Namesake's own work beside that of the compilers it starts, and whether it stays in proportion.
TEST_F(RealDiff, OfTwoThousandKernelsTakesLinearTimeLittleMemoryAndLittleOfItsOwn) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  std::map<int, double> own, all;
  for (int count : {500, 2000}) {
    auto found = diff({many(count), "--assembler", ptxas, "--no-controls", "--no-cache", "--draws", "1"});
    ASSERT_EQ(found["functions"].size(), static_cast<size_t>(count));
    own[count] = found["tool_seconds"];
    all[count] = found["child_seconds"];
    std::printf("%d kernels: %.2f s of our own beside %.2f s of compilers, at most %ld MB\n", count, own[count], all[count], peak_kilobytes_ / 1024);
  }
  EXPECT_LT(own[2000], own[500] * 4 * 1.5 + 0.1) << "linear would be four times as much";
  EXPECT_LT(own[2000], all[2000] * 0.1);
  EXPECT_LT(peak_kilobytes_, 1 << 20);
}

}  // namespace
}  // namespace namesake::real
