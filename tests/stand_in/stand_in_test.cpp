// The stand-in must itself be what the tests that use it believe.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "cubin/cubin.h"
#include "ptx/ptx.h"
#include "toolchain/toolchain.h"
#include "util/file.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

std::string a_kernel(const std::string& symbol, int statements) {
  std::string text = ".visible .entry " + symbol + "(.param .u64 " + symbol + "_param_0) {\n";
  text += "  ld.param.u64 %rd1, [" + symbol + "_param_0];\n";
  for (int i = 1; i < statements; ++i) {
    text += "  add.f32 %f" + std::to_string(i) + ", %f1, 1.0;\n";
  }
  return text + "}\n";
}

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";
const std::string kLarge = kHead + a_kernel("neutralname", 40);

class StandIn : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(TemporaryFolder::make("stand-in").value());
    fs::copy_file(fs::path(NAMESAKE_BINARY_DIR) / "stand_in" / "ptxas", folder_->path() / "ptxas");
  }

  Assembly assembled(const std::string& settings, const std::string& text,
                     const std::string& architecture = "sm_90", int opt_level = 3) {
    EXPECT_TRUE(write_file(folder_->path() / "settings", settings));
    Tool tool;
    tool.path = folder_->path() / "ptxas";
    Job job;
    job.ptx = text;
    job.architecture = architecture;
    job.opt_level = opt_level;
    if (settings.starts_with("hang=")) job.timeout = std::chrono::seconds(1);
    Result<Assembly> assembly = assemble(tool, job);
    EXPECT_TRUE(assembly) << assembly.error().message;
    return assembly ? *assembly : Assembly{};
  }

  // The code of the module's only function.
  std::string code(const std::string& settings, const std::string& text,
                   const std::string& architecture = "sm_90", int opt_level = 3) {
    Assembly assembly = assembled(settings, text, architecture, opt_level);
    Result<cubin::Module> module = cubin::parse(assembly.cubin, "stand-in");
    EXPECT_TRUE(module) << assembly.failure;
    if (!module || module->functions.empty()) return "no code";
    return std::string(module->functions[0].code);
  }

  static std::string named(const std::string& name) {
    ptx::Module module = ptx::parse(kLarge, "large.ptx").value();
    return ptx::rename(module, {{"neutralname", name}}).value().text;
  }

  std::optional<TemporaryFolder> folder_;
};

TEST_F(StandIn, GivesOneCodeForAllNeutralNames) {
  EXPECT_EQ(code("", named("anothername")), code("", kLarge));
}

TEST_F(StandIn, GivesOtherCodeWhereTheNameHoldsTheTrigger) {
  EXPECT_NE(code("", named("incutlassin")), code("", kLarge));
}

TEST_F(StandIn, SmallFunctionsDoNotReact) {
  EXPECT_EQ(code("", kHead + a_kernel("cutlasskernel", 3)), code("", kHead + a_kernel("neutralkernel", 3)));
}

TEST_F(StandIn, NothingReactsBelowTheThirdLevel) {
  EXPECT_EQ(code("", named("incutlassin"), "sm_90", 2), code("", kLarge));
}

TEST_F(StandIn, ReadsOtherTriggersAndOtherWaysToLook) {
  EXPECT_NE(code("trigger=flash,gemm", named("myflashname")), code("", kLarge));
  EXPECT_NE(code("trigger=flash,gemm", named("mygemmmname")), code("", kLarge));
  EXPECT_EQ(code("trigger=flash", named("incutlassin")), code("", kLarge));
  EXPECT_EQ(code("trigger=flash match=prefix", named("myflashname")), code("", kLarge));
  EXPECT_NE(code("trigger=flash match=prefix", named("flashnameee")), code("", kLarge));
  EXPECT_EQ(code("trigger=flash match=exact", named("flashnameee")), code("", kLarge));
  EXPECT_NE(code("trigger=flash match=exact", named("flash")), code("", kLarge));
  EXPECT_NE(code("bypass=yes", named("incutlassin")), code("", kLarge));
}

TEST_F(StandIn, PlantedTriggersMatchAsTold) {
  auto reacts = [&](const std::string& plant, const std::string& name, const std::string& architecture = "sm_90") {
    return code("trigger=none plant=" + plant, named(name), architecture) != code("trigger=none", kLarge, architecture);
  };
  EXPECT_TRUE(reacts("flash", "myflashname"));
  EXPECT_TRUE(reacts("flash/prefix", "flashnameee"));
  EXPECT_FALSE(reacts("flash/prefix", "myflashname"));
  EXPECT_TRUE(reacts("flash/suffix", "nameeeflash"));
  EXPECT_FALSE(reacts("flash/suffix", "myflashname"));
  EXPECT_TRUE(reacts("flash/exact", "flash"));
  EXPECT_FALSE(reacts("flash/exact", "flashnameee"));
  EXPECT_FALSE(reacts("flash", "myFLASHname"));
  EXPECT_TRUE(reacts("flash/substring/any", "myFLASHname"));
  EXPECT_TRUE(reacts("flash/substring/same/add.f32", "myflashname"));
  EXPECT_FALSE(reacts("flash/substring/same/mul.f32", "myflashname"));
  EXPECT_TRUE(reacts("flash/substring/same//sm_90", "myflashname"));
  EXPECT_FALSE(reacts("flash/substring/same//sm_80", "myflashname"));
  EXPECT_TRUE(reacts("gemm,flash", "myflashname"));
}

TEST_F(StandIn, ThePragmaTreatsFromItsReleaseOn) {
  ptx::Module module = ptx::parse(kLarge, "large.ptx").value();
  std::string marked = ptx::with_pragma(module, "mma_throughput", {"neutralname"}).text;
  EXPECT_EQ(code("version=13.3.73", marked), code("", named("incutlassin")));
  EXPECT_EQ(code("version=13.0.88", marked), code("", kLarge));
}

TEST_F(StandIn, CodeDependsOnTheArchitecture) {
  EXPECT_NE(code("", kLarge, "sm_90"), code("", kLarge, "sm_100a"));
}

TEST_F(StandIn, CodeMayDependOnTheLengthOfTheName) {
  EXPECT_EQ(code("length=yes", named("anothername")), code("length=yes", kLarge));
  EXPECT_NE(code("length=yes", named("short")), code("length=yes", kLarge));
}

TEST_F(StandIn, SaysRegistersAndSpillsAsItsCubinDoes) {
  Assembly assembly = assembled("spill=treated:96", named("incutlassin"));
  ASSERT_EQ(assembly.functions.count("incutlassin"), 1u) << assembly.diagnostics;
  const FunctionReport& report = assembly.functions["incutlassin"];
  EXPECT_EQ(report.spill_store_bytes, 96);
  EXPECT_EQ(report.stack_bytes, 96);
  cubin::Module module = cubin::parse(assembly.cubin, "stand-in").value();
  EXPECT_EQ(module.functions[0].registers, report.registers);
  EXPECT_EQ(module.functions[0].frame_bytes, report.stack_bytes);
  EXPECT_EQ(assembled("spill=treated:96", kLarge).functions["neutralname"].spill_store_bytes, 0);
}

TEST_F(StandIn, CrashesAndHangsWhereTold) {
  EXPECT_TRUE(assembled("crash=treated", named("incutlassin")).crashed);
  EXPECT_TRUE(assembled("crash=treated", kLarge).ok());
  EXPECT_TRUE(assembled("hang=always", kLarge).timed_out);
}

TEST_F(StandIn, RefusesAsPtxasDoes) {
  EXPECT_EQ(assembled("", kLarge, "sm_9").failure, "Value 'sm_9' is not defined for option 'gpu-name'");
  EXPECT_EQ(assembled("reads=7.8", kLarge).failure,
            "line 1: Unsupported .version 8.0; current version is '7.8'");
  EXPECT_EQ(assembled("fail=Whatever", kLarge).failure, "line 1: Whatever");
  EXPECT_EQ(assembled("", "no ptx").failure, "line 1: Missing .version directive at start of file");
}

TEST_F(StandIn, ALotteryDrawsSeveralCodesWithRandomisationOn) {
  std::set<std::string> codes;
  ASSERT_TRUE(write_file(folder_->path() / "settings", std::string("lottery=3")));
  Tool tool;
  tool.path = folder_->path() / "ptxas";
  Job job;
  job.ptx = kLarge;
  job.architecture = "sm_90";
  job.fixed_addresses = false;
  for (int i = 0; i < 40; ++i) codes.insert(assemble(tool, job).value().cubin);
  EXPECT_EQ(codes.size(), 3u);
  job.fixed_addresses = true;
  Assembly first = assemble(tool, job).value();
  if (!first.addresses_fixed) GTEST_SKIP() << "personality() is refused here; run outside the sandbox";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(assemble(tool, job).value().cubin, first.cubin);
}

TEST_F(StandIn, MakesTwentyThousandFunctionsInSeconds) {
  std::string text = kHead;
  for (int i = 0; i < 20000; ++i) text += a_kernel("kernel" + std::to_string(i), 8);
  Tool tool;
  tool.path = folder_->path() / "ptxas";
  Job job;
  job.ptx = text;
  job.architecture = "sm_90";
  Assembly assembly = assemble(tool, job).value();
  ASSERT_TRUE(assembly.ok()) << assembly.failure;
  EXPECT_EQ(assembly.functions.size(), 20000u);
  EXPECT_EQ(cubin::parse(assembly.cubin, "stand-in").value().functions.size(), 20000u);
  EXPECT_LT(assembly.cpu_seconds, 10);
}

}  // namespace
}  // namespace namesake::toolchain
