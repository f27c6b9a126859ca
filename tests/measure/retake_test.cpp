#include "measure/retake.h"

#include <gtest/gtest.h>

#include "measure/assemblers.h"
#include "report/measurement_pages.h"
#include "util/file.h"

namespace namesake::measure {
namespace {

class Retaking : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-retake"));

  std::string at(const std::string& name) const { return (folder.path() / name).string(); }

  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder.path() / name, text));
  }

  // Beside the policy: two sizes of one launch file.
  void put_evidence(const std::string& launch_file) {
    report::Measurement measurement;
    for (int64_t m : {1024, 4096}) {
      report::KernelMeasurement kernel;
      kernel.symbol = "gemm";
      kernel.launch_file = launch_file;
      kernel.sizes = {{"m", m}};
      measurement.kernels.push_back(kernel);
    }
    put("tuned.json", report::to_json(measurement));
  }

  policy::Policy policy(const std::string& assembler, const std::string& evidence) {
    std::string text = "format = 1\n[measured]\nassembler = \"" + assembler +
                       "\"\n[[function]]\nsymbol = \"gemm\"\ntreatment = \"treated\"\n" + evidence;
    auto policy = policy::parse(text, at("tuned.toml"));
    EXPECT_TRUE(policy) << policy.error().message;
    return *policy;
  }

  std::vector<toolchain::Tool> tools = {
      {toolchain::Kind::nvcc, "/n", "13.0.88", "cuda_13.0/1", "given", {}},
      {toolchain::Kind::ptxas, "/a", "13.5.37", "cuda_13.5/1", "given", {}},
      {toolchain::Kind::ptxas, "/b", "13.0.88", "cuda_13.0/1", "given", {}},
      {toolchain::Kind::ptxas, "/c", "13.0.88", "cuda_13.0/1", "PATH", {}}};
};

TEST_F(Retaking, NamesTheLaunchFilesOfTheEvidenceBySizes) {
  put_evidence("gemm.toml");
  put("gemm.toml", "");
  auto retake = retake_of(policy("13.0.88", "evidence = { file = \"tuned.json\" }\n"), tools);
  ASSERT_TRUE(retake) << retake.error().message;
  ASSERT_EQ(retake->launch_files.size(), 2u);
  EXPECT_EQ(retake->launch_files.at({{"m", 1024}}).front().string(), at("gemm.toml"));
}

TEST_F(Retaking, TakesOneAssemblerOfTheBuildThatWasMeasured) {
  put_evidence("gemm.toml");
  put("gemm.toml", "");
  auto retake = retake_of(policy("13.0.88", "evidence = { file = \"tuned.json\" }\n"), tools);
  ASSERT_EQ(retake->assemblers.size(), 1u);
  EXPECT_EQ(retake->assemblers[0].path, "/b");
  EXPECT_TRUE(retake->notes.empty());
}

TEST_F(Retaking, SaysWhichAssemblerIsNotAtHand) {
  put_evidence("gemm.toml");
  put("gemm.toml", "");
  auto retake = retake_of(policy("12.9.86", "evidence = { file = \"tuned.json\" }\n"), tools);
  EXPECT_TRUE(retake->assemblers.empty());
  ASSERT_EQ(retake->notes.size(), 1u);
  EXPECT_NE(retake->notes[0].find("toolchain add 12.9.86"), std::string::npos);
}

TEST_F(Retaking, APolicyForEveryAssemblerIsCheckedWithTheNewest) {
  std::vector<std::string> notes;
  auto chosen = assemblers_of(policy("any", ""), tools, notes);
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].version, "13.5.37");
}

TEST(TritonsAssembler, IsTheOneThatTritonRunsForTheGpu) {
  std::vector<toolchain::Tool> tools = {
      {toolchain::Kind::ptxas, "/new/ptxas", "13.5.37", "", "PATH", {}},
      {toolchain::Kind::ptxas, "/t/ptxas-blackwell", "12.9.86", "", "triton", {}},
      {toolchain::Kind::ptxas, "/t/ptxas", "12.8.93", "", "triton", {}}};
  EXPECT_EQ(triton_assembler(tools, "sm_90")->version, "12.8.93");
  EXPECT_EQ(triton_assembler(tools, "sm_100")->version, "12.9.86");
  EXPECT_EQ(triton_assembler(tools, "sm_120")->version, "12.9.86");
}

TEST(TritonsAssembler, OfAnOlderTritonIsTheOnlyOne) {
  std::vector<toolchain::Tool> tools = {
      {toolchain::Kind::ptxas, "/t/ptxas", "12.4.131", "", "triton", {}}};
  EXPECT_EQ(triton_assembler(tools, "sm_100")->version, "12.4.131");
  EXPECT_FALSE(triton_assembler({}, "sm_90"));
}

TEST_F(Retaking, NamesTheEvidenceThatIsMissing) {
  auto retake = retake_of(policy("13.0.88", "evidence = { file = \"tuned.json\" }\n"), tools);
  ASSERT_FALSE(retake);
  EXPECT_NE(retake.error().message.find("tuned.json"), std::string::npos);
}

TEST_F(Retaking, NamesTheLaunchFileThatIsMissing) {
  put_evidence("gone.toml");
  auto retake = retake_of(policy("13.0.88", "evidence = { file = \"tuned.json\" }\n"), tools);
  ASSERT_FALSE(retake);
  EXPECT_NE(retake.error().message.find("gone.toml"), std::string::npos);
}

TEST_F(Retaking, WantsFilesWhereAPolicyHasNoEvidence) {
  auto retake = retake_of(policy("any", ""), tools);
  ASSERT_FALSE(retake);
  EXPECT_NE(retake.error().message.find("--check"), std::string::npos);
}

TEST_F(Retaking, RefusesEvidenceThatIsNoMeasurement) {
  put("tuned.json", "{\"schema\": \"namesake.diff/1.0\"}");
  EXPECT_FALSE(retake_of(policy("13.0.88", "evidence = { file = \"tuned.json\" }\n"), tools));
}

}  // namespace
}  // namespace namesake::measure
