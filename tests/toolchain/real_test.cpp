// With the real assemblers and front ends that this machine has.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "ptx/ptx.h"
#include "toolchain/toolchain.h"
#include "util/file.h"

namespace namesake::toolchain {
namespace {

constexpr std::string_view kHow = "none at hand; get one with: namesake toolchain add ";

std::vector<Tool> of_kind(Kind kind) {
  std::vector<Tool> tools;
  for (const Tool& tool : find_tools()) {
    bool known = false;
    for (const Tool& other : tools) known |= other.version == tool.version;
    if (tool.kind == kind && !known) tools.push_back(tool);
  }
  return tools;
}

Assembly assembled(const Tool& tool, const std::string& text, const std::string& architecture) {
  Job job;
  job.ptx = text;
  job.architecture = architecture;
  return assemble(tool, job).value();
}

std::string module_of(ptx::Version version, const std::string& target) {
  return fmt::format(".version {}.{}\n.target {}\n.address_size 64\n.entry k() {{ ret; }}\n", version.major,
                     version.minor, target);
}

TEST(RealAssemblers, ReadThePtxThatTheTableSaysAndNoNewer) {
  std::vector<Tool> tools = of_kind(Kind::ptxas);
  if (tools.empty()) GTEST_SKIP() << kHow << "newest";
  for (const Tool& tool : tools) {
    ptx::Version newest = ptx::newest_version_of(tool.version);
    Assembly read = assembled(tool, module_of(newest, "sm_80"), "sm_80");
    EXPECT_TRUE(read.ok()) << tool.version << ": " << read.failure;
    Assembly newer = assembled(tool, module_of({newest.major, newest.minor + 1}, "sm_80"), "sm_80");
    EXPECT_NE(newer.failure.find("Unsupported .version"), std::string::npos)
        << tool.version << ": " << newer.failure;
  }
}

TEST(RealAssemblers, KnowEachTargetFromTheVersionOfTheTableOn) {
  std::vector<Tool> tools = of_kind(Kind::ptxas);
  if (tools.empty()) GTEST_SKIP() << kHow << "newest";
  for (const std::string& target : ptx::known_targets()) {
    ptx::Version oldest = ptx::oldest_version_of(target).value();
    Assembly read = assembled(tools[0], module_of(oldest, target), target);
    if (read.failure.find("is not defined for option") != std::string::npos) continue;  // dropped since
    EXPECT_TRUE(read.ok()) << target << ": " << read.failure;
    if (oldest.minor == 0) continue;
    Assembly older = assembled(tools[0], module_of({oldest.major, oldest.minor - 1}, target), target);
    EXPECT_FALSE(older.ok()) << target << " exists before " << oldest.major << "." << oldest.minor;
  }
}

TEST(RealAssemblers, ReportRegistersAndSayTheFirstErrorWithItsLine) {
  std::vector<Tool> tools = of_kind(Kind::ptxas);
  if (tools.empty()) GTEST_SKIP() << kHow << "newest";
  for (const Tool& tool : tools) {
    Assembly good = assembled(tool, module_of({7, 0}, "sm_80"), "sm_80");
    ASSERT_EQ(good.functions.count("k"), 1u) << tool.version << ": " << good.diagnostics;
    EXPECT_GT(good.functions["k"].registers, 0);
    EXPECT_EQ(good.diagnostics, "");
    std::string bad = ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() {\n  nonsense;\n}\n";
    EXPECT_EQ(assembled(tool, bad, "sm_80").failure.substr(0, 8), "line 5: ") << tool.version;
  }
}

TEST(RealFrontEnd, CompilesAKernelAndSaysWhatIsWrongWithAnother) {
  std::vector<Tool> tools = of_kind(Kind::nvcc);
  if (tools.empty()) GTEST_SKIP() << kHow << "nvcc-newest";
  TemporaryFolder folder = TemporaryFolder::make("front-end").value();
  std::filesystem::path source = folder.path() / "k.cu";
  ASSERT_TRUE(write_file(source, std::string("__global__ void k(float* x) { x[threadIdx.x] = 1; }\n")));
  for (const Tool& tool : tools) {
    Result<std::string> text = compile_to_ptx(tool, {source, "sm_90a", {}, {}});
    ASSERT_TRUE(text) << tool.version << ": " << text.error().message;
    ptx::Module module = ptx::parse(*text, "k.ptx").value();
    EXPECT_EQ(module.target, "sm_90a");
    EXPECT_NE(module.find("_Z1kPf"), nullptr);
  }
  ASSERT_TRUE(write_file(source, std::string("__global__ void k() { nonsense; }\n")));
  std::string message = compile_to_ptx(tools[0], {source, "sm_90", {}, {}}).error().message;
  EXPECT_NE(message.find("does not compile with nvcc"), std::string::npos) << message;
  EXPECT_NE(message.find("\"nonsense\" is undefined"), std::string::npos) << message;
}

}  // namespace
}  // namespace namesake::toolchain
