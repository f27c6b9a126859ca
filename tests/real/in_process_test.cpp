// NVRTC and nvJitLink inside an application, with threads that assemble for three architectures at once.
#include "real.h"

namespace namesake::real {
namespace {

// The applications print "thread architecture bytes hash": for each architecture its one code.
std::map<std::string, std::string> codes(const std::string& lines) {
  std::map<std::string, std::string> codes;
  for (std::string_view line : split(lines, '\n')) {
    auto words = split(line, ' ');
    if (words.size() != 4) continue;
    std::string architecture(words[1]), code = std::string(words[2]) + " " + std::string(words[3]);
    auto [found, fresh] = codes.try_emplace(architecture, code);
    if (!fresh && found->second != code) found->second = "several codes";
  }
  return codes;
}

class RealInProcess : public Real {
 protected:
  const std::vector<std::string> kArchitectures = {"sm_80", "sm_90", "sm_120"};

  std::vector<std::string> application(const std::string& program, const std::string& library, const std::string& input) {
    std::vector<std::string> command = {NAMESAKE_BINARY_DIR "/tests/" + program, library, input};
    command.insert(command.end(), kArchitectures.begin(), kArchitectures.end());
    command.insert(command.end(), {"--threads", "3"});
    return command;
  }

  // Cubins hold their symbols, so codes of two names cannot be compared by their hashes: one name,
  // treated as a whole and by its own text.
  void expect_treated_where_asked(const std::vector<std::string>& command) {
    auto plain = codes(must(command).out);
    ASSERT_EQ(plain.size(), 3u);
    Completed all = treated_run({"--treat", "gather*"}, command);
    EXPECT_TRUE(says(all, "3 treated, 0 left, 0 unseen\n"));
    auto treated = codes(all.out);
    for (const std::string& architecture : kArchitectures) EXPECT_NE(treated[architecture], plain[architecture]) << architecture;

    std::string policy = write("p.toml",
                               "format = 1\n[measured]\nassembler = \"any\"\n[[function]]\nname = \"gather*\"\n"
                               "architecture = \"sm_90\"\ntreatment = \"treated\"\n");
    Completed one = treated_run({"--policy", policy}, command);
    EXPECT_TRUE(says(one, "1 treated, 2 left, 0 unseen\n"));
    auto chosen = codes(one.out);
    EXPECT_EQ(chosen["sm_80"], plain["sm_80"]);
    EXPECT_EQ(chosen["sm_90"], treated["sm_90"]);
    EXPECT_EQ(chosen["sm_120"], plain["sm_120"]);
  }
};

TEST_F(RealInProcess, NvrtcTreatsEachArchitectureAsThePolicySays) {
  NEED_TOOL(library, nvrtc, "13.0");
  expect_treated_where_asked(application("nvrtc_app", library, write("k.cu", gather("gather_rows"))));
}

TEST_F(RealInProcess, NvJitLinkTreatsEachArchitectureAsThePolicySays) {
  NEED_TOOL(library, nvjitlink, "13.0");
  expect_treated_where_asked(application("nvjitlink_app", library, kKernels + "/ptx/gather.ptx"));
}

TEST_F(RealInProcess, TreatedByNvrtcEqualsRenamed) {
  NEED_TOOL(library, nvrtc, "13.0");
  auto code = [&](const std::string& name, const std::string& option) {
    std::string cubin = path(name + ".cubin");
    treated_run({option, "gather*"}, {kTool, "assemble-in-process", "nvrtc", library, "sm_80", write(name + ".cu", gather(name)), "-o", cubin});
    return code_of(cubin).begin()->second;
  };
  std::string renamed = path("gather_cutlass.cubin");
  must({kTool, "assemble-in-process", "nvrtc", library, "sm_80", write("gather_cutlass.cu", gather("gather_cutlass")), "-o", renamed});
  EXPECT_EQ(code("gather_neutral", "--treat"), code_of(renamed).begin()->second);
  EXPECT_EQ(code("gather_cutlass", "--untreat"), code("gather_neutral", "--untreat"));
  EXPECT_NE(code("gather_neutral", "--treat"), code("gather_neutral", "--untreat"));
}

TEST_F(RealInProcess, AnApplicationsOwnSearchGetsTheTruthInTheSameProcess) {
  NEED_TOOL(library, nvrtc, "13.0");
  std::string program = path("asks_too");
  Completed built = call({"cc", "-fno-builtin", kHere + "/asks_too.c", "-o", program, "-ldl"});
  if (!built.ok()) GTEST_SKIP() << "no C compiler: " << built.err;
  Completed done = treated_run({"--treat", "*"}, {program, library});
  EXPECT_TRUE(says(done, "before: not found, found\n"));
  EXPECT_TRUE(says(done, "after: not found, found\n"));
  EXPECT_TRUE(says(done, "1 treated, 0 left, 0 unseen\n"));
}

TEST_F(RealInProcess, AnApplicationsOwnSearchGetsTheTruthWhereNothingIsAssembled) {
  const std::string program = NAMESAKE_BINARY_DIR "/tests/own_strstr";
  EXPECT_TRUE(says(treated_run({"--treat", "*"}, {program, "a_neutral_name"}), "not found\n"));
  EXPECT_TRUE(says(treated_run({"--untreat", "*"}, {program, "a_cutlass_name"}), "found at 2\n"));
}

}  // namespace
}  // namespace namesake::real
