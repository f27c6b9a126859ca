// The probe over the assembler at hand, told nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "study/probe.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::study {
namespace {

namespace fs = std::filesystem;

class RealProbe : public testing::Test {
 protected:
  void SetUp() override {
    auto ptxas = toolchain::choose(toolchain::find_tools(), toolchain::Kind::ptxas, "newest");
    if (!ptxas)
      GTEST_SKIP() << "no ptxas at hand; run ./quickstart or: namesake toolchain add newest";
    Program program;
    program.tool = *ptxas;
    request_.programs = {program};
    fs::path file = NAMESAKE_SOURCE_DIR "/kernels/probe/simt.ptx";
    request_.kernels = probe_kernels(read_file(file).value(), file).value();
    request_.architectures = {"sm_90"};
    request_.workers = 2;
  }

  std::vector<std::string> found() {
    report::Probe probed = probe(request_).value();
    texts_ = probed.programs[0].searches[0].inside;
    std::vector<std::string> result;
    for (const report::ProbeFinding& finding : probed.programs[0].findings)
      result.push_back(finding.text + " " + finding.match);
    return result;
  }

  ProbeRequest request_;
  int64_t texts_ = 0;
};

TEST_F(RealProbe, FindsCutlassAloneAmongAllTextsOfTheAssembler) {
  request_.names = false;
  EXPECT_EQ(found(), std::vector<std::string>{"cutlass substring"});
  EXPECT_GT(texts_, 20000);
}

TEST_F(RealProbe, FindsAReservedBeginning) {
  if (compare_versions(request_.programs[0].tool.version, "12.4") < 0)
    GTEST_SKIP() << "the prefix changes code since 12.4; type: namesake toolchain add newest";
  TemporaryFolder folder = TemporaryFolder::make("namesake-probe-real").value();
  ASSERT_TRUE(write_file(folder.path() / "nothing", std::string_view()));
  request_.dictionaries = {folder.path() / "nothing"};
  request_.words = {"kernel", "__cuda_uf_stub_of_mine", "__cuda_uf_stub_", "uf_stub"};
  EXPECT_EQ(found(), std::vector<std::string>{"__cuda_uf_stub_ prefix"});
}

}  // namespace
}  // namespace namesake::study
