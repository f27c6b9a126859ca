// `namesake tune` where there is no GPU: deciding from recorded measurements, and what it refuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/measurement_pages.h"
#include "util/file.h"
#include "util/subprocess.h"

namespace namesake {
namespace {

class Tune : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-tune"));

  std::string at(const std::string& name) const { return (folder.path() / name).string(); }
  std::string content(const std::string& name) const {
    return read_file(at(name)).value_or("no such file");
  }

  Completed call(std::vector<std::string> arguments) {
    Command command;
    command.arguments = std::move(arguments);
    command.arguments.insert(command.arguments.begin(), {NAMESAKE_BINARY_DIR "/namesake"});
    command.environment = {"NAMESAKE_KERNELS=" NAMESAKE_SOURCE_DIR "/kernels",
                           "NAMESAKE_DRIVER=" + at("no-driver.so"),
                           "XDG_CACHE_HOME=" + folder.path().string(),
                           "XDG_STATE_HOME=" + folder.path().string(), "COLUMNS=100"};
    command.folder = folder.path();
    auto done = run(command);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Completed();
  }

  report::KernelMeasurement kernel(const std::string& symbol, double low, double high) {
    report::KernelMeasurement kernel;
    kernel.symbol = kernel.name = symbol;
    kernel.file = symbol + ".cu";
    kernel.launch_file = symbol + ".toml";
    kernel.architecture = "sm_90";
    kernel.assembler = "13.5.37";
    kernel.assembler_build = "cuda_13.5.r13.5/compiler.1_0";
    kernel.finding = report::Finding::undecided;
    report::Timing timing;
    timing.caches = "warm";
    timing.time.ratio = (low + high) / 2;
    timing.time.interval = std::array<double, 2>{low, high};
    kernel.timings.push_back(timing);
    return kernel;
  }

  // One kernel that gains, one whose own name costs, one that stays.
  std::string recorded() {
    report::Measurement measurement;
    measurement.gpu.name = "NVIDIA H200";
    measurement.a.treatment = "untreated";
    measurement.b.treatment = "treated";
    measurement.kernels = {kernel("gemm", 0.90, 0.91), kernel("cutlass_body", 1.30, 1.31),
                           kernel("saxpy", 0.999, 1.001)};
    EXPECT_TRUE(write_file(folder.path() / "measured.json", report::to_json(measurement)));
    return at("measured.json");
  }
};

TEST_F(Tune, WithoutAGpuIsOneSentenceAndAnEnvironmentError) {
  Completed done = call({"tune", NAMESAKE_SOURCE_DIR "/kernels/sgemm.toml", "--assembler",
                         NAMESAKE_BINARY_DIR "/stand_in/ptxas"});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_EQ(done.out, "");
  EXPECT_NE(done.err.find("GPU"), std::string::npos) << done.err;
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
}

TEST_F(Tune, WritesAPolicyThatRunFollows) {
  Completed done = call({"tune", "--from", recorded(), "-o", at("tuned.toml")});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_NE(done.out.find("1 treated, 1 untreated, 1 natural"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("namesake run --policy"), std::string::npos);
  EXPECT_NE(content("tuned.toml").find("treatment = \"untreated\""), std::string::npos);
  EXPECT_NE(content("tuned.json").find("namesake.measure/1"), std::string::npos);
  Completed applied = call({"run", "--policy", at("tuned.toml"), "--", "true"});
  EXPECT_EQ(applied.exit_status, 0) << applied.err;
}

TEST_F(Tune, TheDefaultPolicyLiesInTheWorkingFolder) {
  call({"tune", "--from", recorded()});
  EXPECT_NE(content("tuned.toml").find("symbol = \"gemm\""), std::string::npos);
}

TEST_F(Tune, AsSourceWritesNoPolicyAndShowsTheLines) {
  Completed done = call({"tune", "--from", recorded(), "--as-source"});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_NE(done.out.find("#pragma nv_mma_throughput"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("-Xptxas -O2"), std::string::npos);
  EXPECT_EQ(content("tuned.toml"), "no such file");
}

TEST_F(Tune, JsonHoldsTheDecisionsAndItsSchema) {
  Completed done = call({"tune", "--from", recorded(), "--json", "-"});
  auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json["schema"], "namesake.tune/1.0");
  EXPECT_EQ(json["decisions"][0]["treatment"], "treated");
  EXPECT_EQ(json["decisions"][1]["treatment"], "untreated");
}

TEST_F(Tune, AHigherThresholdTreatsLess) {
  call({"tune", "--from", recorded(), "--threshold", "15", "-o", at("tuned.toml")});
  EXPECT_EQ(content("tuned.toml").find("treatment = \"treated\""), std::string::npos);
}

TEST_F(Tune, CheckingAPolicyWhoseEvidenceIsGoneNamesIt) {
  call({"tune", "--from", recorded(), "-o", at("tuned.toml")});
  std::filesystem::remove(at("tuned.json"));
  Completed done = call({"tune", "--check", at("tuned.toml")});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_NE(done.err.find("tuned.json"), std::string::npos) << done.err;
}

TEST_F(Tune, ARecordThatNoPolicyCanSayIsRefused) {
  report::Measurement measurement;
  measurement.a.treatment = "untreated";
  measurement.b.treatment = "treated";
  measurement.kernels = {kernel("line\nbreak", 0.90, 0.91)};
  ASSERT_TRUE(write_file(folder.path() / "x.json", report::to_json(measurement)));
  Completed done = call({"tune", "--from", at("x.json"), "-o", at("tuned.toml")});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_EQ(content("tuned.toml"), "no such file");
}

TEST_F(Tune, TheRecordedPoliciesAreWhatTheirMeasurementsSay) {
  for (const std::string name : {"tune-nvrtc", "tune-triton"}) {
    std::string recorded = NAMESAKE_SOURCE_DIR "/results/" + name;
    Completed done =
        call({"tune", "--from", recorded + ".json", "--threshold", "1", "-o", at(name + ".toml")});
    EXPECT_EQ(done.exit_status, 0) << done.err;
    EXPECT_EQ(content(name + ".toml"), read_file(recorded + ".toml").value_or("")) << name;
  }
}

TEST_F(Tune, CheckWritesNothing) {
  Completed done = call({"tune", "--check", at("tuned.toml"), "-o", at("other.toml")});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_EQ(content("other.toml"), "no such file");
}

TEST_F(Tune, RefusesWhatIsNoMeasurement) {
  ASSERT_TRUE(write_file(folder.path() / "x.json", "{\"schema\": \"namesake.diff/1.0\"}"));
  Completed done = call({"tune", "--from", at("x.json")});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_NE(done.err.find("x.json"), std::string::npos);
  EXPECT_EQ(content("tuned.toml"), "no such file");
}

}  // namespace
}  // namespace namesake
