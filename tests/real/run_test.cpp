// `namesake run` around NVIDIA's own compilers: whatever the build looks like, the functions chosen get
// the code of the renamed kernel, all others that of the plain build.
#include "real.h"

namespace namesake::real {
namespace {

class RealRun : public Real {
 protected:
  // The cubin that nvcc makes of one source for one architecture.
  std::string plain(const std::string& nvcc, const std::string& source, const std::string& architecture) {
    std::string cubin = path("plain_" + architecture + ".cubin");
    must({nvcc, "-cubin", "-arch=" + architecture, source, "-o", cubin});
    return cubin;
  }
};

TEST_F(RealRun, APolicyTreatsOneKernelOnOneOfTwoArchitecturesBuiltAtOnce) {
  NEED_TOOL(nvcc, nvcc, "13.0");
  std::string source = write("two.cu", gather("gather_neutral") + gather("gather_otherwise"));
  std::string renamed = write("named.cu", gather("gather_cutlass") + gather("gather_otherwise"));
  std::string policy = write("p.toml",
                             "format = 1\n[measured]\nassembler = \"any\"\n[[function]]\nname = \"gather_neutral\"\n"
                             "architecture = \"sm_90\"\ntreatment = \"treated\"\n");
  // One nvcc, two assemblers at a time; --keep leaves their cubins.
  fs::create_directory(path("kept"));
  Completed done = treated_run({"--policy", policy},
                               {nvcc, "-fatbin", "--threads", "2", "-gencode=arch=compute_80,code=sm_80",
                                "-gencode=arch=compute_90,code=sm_90", "--keep", "--keep-dir", path("kept"), source, "-o", path("two.fatbin")});
  std::map<std::string, fs::path> kept;
  for (const auto& entry : fs::directory_iterator(path("kept"))) {
    if (entry.path().extension() == ".cubin") kept[entry.path().string().find("90") != std::string::npos ? "sm_90" : "sm_80"] = entry.path();
  }
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(code_of(kept["sm_80"]), code_of(plain(nvcc, source, "sm_80")));
  auto natural = code_of(plain(nvcc, source, "sm_90")), named = code_of(plain(nvcc, renamed, "sm_90"));
  auto decided = code_of(kept["sm_90"]);
  ASSERT_EQ(decided.size(), 2u);
  EXPECT_EQ(decided.begin()->second, named.begin()->second);
  EXPECT_NE(decided.begin()->second, natural.begin()->second);
  EXPECT_EQ(decided.rbegin()->second, natural.rbegin()->second);
  EXPECT_TRUE(says(done, "1 treated, 3 left, 0 unseen"));
}

TEST_F(RealRun, TreatingEqualsRenaming) {
  NEED_TOOL(nvcc, nvcc, "13.0");
  std::string named = plain(nvcc, write("named.cu", gather("gather_cutlass")), "sm_80");
  treated_run({"--treat", "gather*"}, {nvcc, "-cubin", "-arch=sm_80", write("k.cu", gather("gather_neutral")), "-o", path("k.cubin")});
  EXPECT_EQ(code_of(path("k.cubin")).begin()->second, code_of(named).begin()->second);
}

TEST_F(RealRun, UntreatingAKernelInNamespaceCutlassGivesTheCodeOfANeutralOne) {
  NEED_TOOL(nvcc, nvcc, "13.0");
  std::string inside = write("in.cu", "namespace cutlass {\n" + gather("gather_rows") + "}\n");
  std::string neutral = plain(nvcc, write("n.cu", "namespace balsams {\n" + gather("gather_rows") + "}\n"), "sm_80");
  Completed done = treated_run({"--untreat", "cutlass::*"}, {nvcc, "-cubin", "-arch=sm_80", inside, "-o", path("in.cubin")});
  auto untreated = code_of(path("in.cubin"));
  ASSERT_EQ(untreated.count("_ZN7cutlass11gather_rowsEPKfPKiPfi"), 1u) << "its symbol stays what it was";
  EXPECT_EQ(untreated.begin()->second, code_of(neutral).begin()->second);
  EXPECT_NE(untreated.begin()->second, code_of(plain(nvcc, inside, "sm_80")).begin()->second);
  EXPECT_TRUE(says(done, "1 treated, 0 left, 0 unseen"));
}

TEST_F(RealRun, APolicyForAnotherAssemblerIsVoidAndSaysSo) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  std::string policy = write("p.toml",
                             "format = 1\n[measured]\nassembler = \"11.0.1\"\n[[function]]\nname = \"*\"\ntreatment = \"treated\"\n");
  must({ptxas, "-arch=sm_80", kKernels + "/ptx/gather.ptx", "-o", path("plain.cubin")});
  Completed done = namesake({"run", "--policy", policy, "--", ptxas, "-arch=sm_80", kKernels + "/ptx/gather.ptx", "-o", path("k.cubin")});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_TRUE(says(done, "11.0.1"));
  EXPECT_TRUE(says(done, "void"));
  EXPECT_EQ(code_of(path("k.cubin")), code_of(path("plain.cubin")));
}

TEST_F(RealRun, APolicyForAnAssemblerAtHandIsVoidInEveryOtherAndSaysSo) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  const std::string measured = tool(toolchain::Kind::ptxas, "12.9").version;
  if (measured.empty()) GTEST_SKIP() << how_to_get("ptxas", "12.9");
  std::string policy = write("p.toml", "format = 1\n[measured]\nassembler = \"" + measured +
                                           "\"\n[[function]]\nname = \"*\"\ntreatment = \"treated\"\n");
  must({ptxas, "-arch=sm_80", kKernels + "/ptx/gather.ptx", "-o", path("plain.cubin")});
  Completed done = treated_run({"--policy", policy}, {ptxas, "-arch=sm_80", kKernels + "/ptx/gather.ptx", "-o", path("k.cubin")});
  EXPECT_TRUE(says(done, "0 treated, 1 left"));
  EXPECT_TRUE(says(done, ptxas + " is not what the policy was measured with"));
  EXPECT_EQ(code_of(path("k.cubin")), code_of(path("plain.cubin")));
}

// Compiled apart, linked by nvlink: device functions are asked about too.
TEST_F(RealRun, ABuildOfSeparateFilesIsTreatedFileByFile) {
  NEED_TOOL(nvcc, nvcc, "13.0");
  std::string root = "NAMESAKE_CUDA_ROOT=" + fs::path(nvcc).parent_path().parent_path().string();
  must({"sh", kHere + "/rdc/build.sh", path("plain")}, {root});
  Completed done = must({kTool, "run", "--treat", "*row_times*", "--", "sh", kHere + "/rdc/build.sh", path("treated")}, {root});
  for (std::string file : {"/linked_sm80.cubin", "/linked_sm90.cubin"}) {
    auto before = code_of(path("plain") + file), after = code_of(path("treated") + file);
    ASSERT_EQ(after.size(), 3u);
    for (const auto& [symbol, code] : after) {
      EXPECT_EQ(code != before[symbol], symbol.find("row_times") != std::string::npos) << symbol;
    }
  }
  // Left are two kernels, and the entry that ptxas invents for a file that has none.
  EXPECT_TRUE(says(done, "2 treated, 6 left, 0 unseen"));
}

TEST_F(RealRun, LinkTimeOptimisationIsTreatedInTheLinker) {
  NEED_TOOL(nvcc, nvcc, "13.0");
  std::string root = "NAMESAKE_CUDA_ROOT=" + fs::path(nvcc).parent_path().parent_path().string();
  Completed plain = call({"sh", kHere + "/rdc/build.sh", path("plain"), "dlto"}, {root});
  if (plain.exit_status == 77) GTEST_SKIP() << plain.out;
  ASSERT_TRUE(plain.ok()) << plain.out << plain.err;
  Completed done = must({kTool, "run", "--treat", "separate_matvec", "--", "sh", kHere + "/rdc/build.sh", path("treated"), "dlto"}, {root});
  for (std::string file : {"/linked_sm80.cubin", "/linked_sm90.cubin"}) {
    auto before = code_of(path("plain") + file), after = code_of(path("treated") + file);
    ASSERT_EQ(after.size(), 2u) << "the device function is inlined across files";
    EXPECT_NE(after["separate_matvec"], before["separate_matvec"]);
    EXPECT_EQ(after["separate_scale"], before["separate_scale"]);
  }
  EXPECT_TRUE(says(done, "2 treated, 2 left, 0 unseen"));
}

}  // namespace
}  // namespace namesake::real
