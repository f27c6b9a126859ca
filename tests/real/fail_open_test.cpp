// A treatment can only help: where the treated assembler dies, hangs or spills too much, the natural run counts.
#include "real.h"

namespace namesake::real {
namespace {

class RealFailOpen : public Real {
 protected:
  std::vector<std::string> assembly(const std::string& ptxas, const std::string& kernel, const std::string& output) {
    return {ptxas, "-arch=sm_100a", kKernels + "/ptx/" + kernel + ".ptx", "-o", path(output)};
  }
};

TEST_F(RealFailOpen, TheKernelThatCrashesTheTreatedAssemblerIsAssembledNaturally) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  must(assembly(ptxas, "tcgen05_crash", "plain.cubin"));
  Completed done = treated_run({"--treat", "*"}, assembly(ptxas, "tcgen05_crash", "run.cubin"));
  EXPECT_EQ(code_of(path("run.cubin")), code_of(path("plain.cubin")));
  EXPECT_TRUE(says(done, "0 treated, 1 left"));
  EXPECT_TRUE(says(done, "ran naturally; of the treated run: signal 11"));
}

TEST_F(RealFailOpen, WithoutTheGuardThatKernelDoesCrashTheAssembler) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  std::vector<std::string> command = {"run", "--no-guard", "--treat", "*", "--"};
  for (const std::string& word : assembly(ptxas, "tcgen05_crash", "run.cubin")) command.push_back(word);
  EXPECT_EQ(namesake(command).signal, 11) << "else the test before this one shows nothing";
}

TEST_F(RealFailOpen, ATreatedAssemblerThatHangsIsAssembledNaturally) {
  fs::create_directory(path("bin"));
  fs::copy_file(NAMESAKE_BINARY_DIR "/stand_in/ptxas", path("bin/ptxas"));
  write("bin/settings", "version=13.5.37\nhang=treated\nreact=all\n");
  std::string ptx = write("k.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<9>;\nadd.s32 %r1, %r1, 1;\nret;\n}\n");
  Completed done = treated_run({"--treat", "*", "--timeout", "1"}, {path("bin/ptxas"), "-arch=sm_90", ptx, "-o", path("k.cubin")});
  EXPECT_EQ(code_of(path("k.cubin")).size(), 1u);
  EXPECT_TRUE(says(done, "ran naturally"));
  EXPECT_TRUE(says(done, "1 s"));
  EXPECT_LT(done.wall_seconds, 20);
}

TEST_F(RealFailOpen, ThePolicysSpillBoundDecidesWhetherTheTreatedCodeCounts) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  auto policy = [&](const std::string& bytes) {
    return write("p" + bytes + ".toml", "format = 1\n[measured]\nassembler = \"any\"\n[limits]\nspill_bytes = " + bytes +
                                            "\n[[function]]\nname = \"*\"\ntreatment = \"treated\"\n");
  };
  must(assembly(ptxas, "tcgen05_spill", "plain.cubin"));
  Completed within = treated_run({"--policy", policy("100000")}, assembly(ptxas, "tcgen05_spill", "within.cubin"));
  Completed beyond = treated_run({"--policy", policy("64")}, assembly(ptxas, "tcgen05_spill", "beyond.cubin"));
  EXPECT_TRUE(says(within, "1 treated, 0 left"));
  EXPECT_NE(code_of(path("within.cubin")), code_of(path("plain.cubin")));
  EXPECT_TRUE(says(beyond, "0 treated, 1 left"));
  EXPECT_TRUE(says(beyond, "the policy allows 64"));
  EXPECT_EQ(code_of(path("beyond.cubin")), code_of(path("plain.cubin")));
}

}  // namespace
}  // namespace namesake::real
