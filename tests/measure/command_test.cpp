// `namesake measure` as people and scripts meet it, with a stand-in for the driver.
#include <gtest/gtest.h>

#include <filesystem>

#include "report/measurement_pages.h"
#include "stand_in_kernel.h"
#include "util/file.h"
#include "util/subprocess.h"

using namespace namesake;

namespace {

class MeasureCommand : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("measure-command"));

  Completed call(std::vector<std::string> arguments, bool gpu = true) {
    Command command;
    command.arguments = std::move(arguments);
    command.arguments.insert(command.arguments.begin(),
                             {NAMESAKE_BINARY_DIR "/namesake", "measure"});
    command.environment = {
        "NAMESAKE_KERNELS=" NAMESAKE_SOURCE_DIR "/kernels", "XDG_CACHE_HOME=" + path("cache"),
        "COLUMNS=100",
        std::string("NAMESAKE_DRIVER=") + (gpu ? FAKE_DRIVER : "libno-such-driver.so"),
        "NAMESAKE_NVML=" FAKE_NVML};
    auto done = run(command);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Completed();
  }

  std::string path(const std::string& name) const { return (folder.path() / name).string(); }

  std::string launch_file() {
    EXPECT_TRUE(write_file(path("double.toml"), stand_in::kLaunchFile));
    return path("double.toml");
  }
  std::string cubin(const std::string& name, const std::string& deeds) {
    EXPECT_TRUE(write_file(path(name), stand_in::cubin_that(deeds)));
    return path(name);
  }
};

TEST_F(MeasureCommand, WithoutAGpuSaysOneSentenceAndEndsWithTwo) {
  const Completed done = call(
      {launch_file(), "--a", cubin("a.cubin", "us=500"), "--b", cubin("b.cubin", "us=400")}, false);
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_TRUE(done.out.empty());
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  EXPECT_NE(done.err.find("this needs an NVIDIA GPU and its driver"), std::string::npos);
}

TEST_F(MeasureCommand, TwoCubinsAreTimedAndTheReportComesInThreeForms) {
  const Completed done =
      call({launch_file(), "--a", cubin("a.cubin", "us=500"), "--b", cubin("b.cubin", "us=400"),
            "--seconds", "0.2", "--json", path("m.json"), "--html", path("m.html")});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_NE(done.out.find("faster"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("✓ results equal bit for bit on 5 of 5 sets of inputs"),
            std::string::npos)
      << done.out;
  const auto measurement = report::measurement_from_json(*read_file(path("m.json")));
  ASSERT_TRUE(measurement) << measurement.error().message;
  EXPECT_EQ(measurement->a.label, "a.cubin");
  EXPECT_NEAR(measurement->kernels.at(0).warm()->time.ratio, 0.8, 0.01);
  EXPECT_NE(read_file(path("m.html"))->find("</html>"), std::string::npos);
}

TEST_F(MeasureCommand, AVerdictThatWasAskedForEndsWithOne) {
  const Completed done = call({launch_file(), "--a", cubin("a.cubin", "us=500"), "--b",
                               cubin("b.cubin", "us=400 flip"), "--seconds", "0.1", "--repeats",
                               "2", "--fail-on", "refused"});
  EXPECT_EQ(done.exit_status, 1) << done.err;
}

TEST_F(MeasureCommand, SaysWhatIsMissingOrWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls = {
      {{path("absent.toml")}, "absent.toml"},
      {{launch_file(), "--a", "one.cubin"}, "name two cubins, with --a and with --b"},
      {{launch_file(), "--a", "one.cubin", "--b", "two.cubin"}, "one.cubin"},
      {{launch_file(), "--a", cubin("a.cubin", ""), "--b", cubin("b.cubin", ""), "--size", "m=3"},
       "has no size m; it has n"},
      {{launch_file(), "--a", cubin("a.cubin", ""), "--b", cubin("b.cubin", ""), "--size",
        "n=many"},
       "is no size: write a name and a whole number"},
      {{launch_file(), "--a", cubin("a.cubin", ""), "--b", cubin("b.cubin", ""), "--device", "3"},
       "there is no GPU 3: the driver shows 1"},
      {{launch_file(), "--a", cubin("a.cubin", ""), "--b", cubin("b.cubin", ""), "--kernel",
        "gemm*"},
       "no kernel matches \"gemm*\""},
      {{folder.path().string() + "/cache-of-nothing"}, "cache-of-nothing"},
  };
  for (const auto& [arguments, said] : calls) {
    const Completed done = call(arguments);
    EXPECT_EQ(done.exit_status, 2) << said;
    EXPECT_NE(done.err.find(said), std::string::npos) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

// The stand-in driver runs nothing of these kernels; what is looked at is what was made for it to
// run.
TEST_F(MeasureCommand, MakesBothBuildsByRealAssemblersAndTellsOneCodeFromTwo) {
  const Completed done = call({NAMESAKE_SOURCE_DIR "/kernels/sgemm.toml",
                               NAMESAKE_SOURCE_DIR "/kernels/saxpy.toml", "--assembler", "12.9.86",
                               "--time-only", "--seconds", "0.05", "--json", path("m.json")});
  if (done.err.find("namesake toolchain add") != std::string::npos)
    GTEST_SKIP()
        << "no ptxas 12.9.86 at hand: ./test fetches it, or type: namesake toolchain add 12.9.86";
  ASSERT_EQ(done.exit_status, 0) << done.err;
  const auto measurement = report::measurement_from_json(*read_file(path("m.json")));
  ASSERT_TRUE(measurement) << measurement.error().message;
  ASSERT_EQ(measurement->kernels.size(), 2u);
  for (const report::KernelMeasurement& kernel : measurement->kernels) {
    EXPECT_EQ(kernel.assembler, "12.9.86");
    EXPECT_EQ(kernel.finding == report::Finding::same_code, kernel.symbol == "saxpy_vector")
        << kernel.symbol;
    EXPECT_EQ(kernel.a.identity == kernel.b.identity, kernel.symbol == "saxpy_vector");
    ASSERT_FALSE(kernel.a.edits.empty());
    EXPECT_NE(kernel.a.edits[0].find(".version 9.0 lowered to 8.8"), std::string::npos);
  }
}

TEST_F(MeasureCommand, TheDriversAssemblerIsNamedWhereAssemblersAre) {
  const Completed done = call({NAMESAKE_SOURCE_DIR "/kernels/saxpy.toml", "--assembler", "jit",
                               "--time-only", "--seconds", "0.05", "--json", path("m.json")});
  ASSERT_EQ(done.exit_status, 0) << done.err;
  const auto measurement = report::measurement_from_json(*read_file(path("m.json")));
  ASSERT_TRUE(measurement) << measurement.error().message;
  ASSERT_EQ(measurement->kernels.size(), 1u);
  EXPECT_EQ(measurement->kernels[0].assembler, "driver JIT");
}

TEST_F(MeasureCommand, WhatWasMeasuredOnceIsReportedAgainWithoutAGpu) {
  const std::string a = cubin("a.cubin", "us=500"), b = cubin("b.cubin", "us=400");
  const Completed first =
      call({launch_file(), "--a", a, "--b", b, "--seconds", "0.1", "--json", path("m.json")});
  ASSERT_EQ(first.exit_status, 0) << first.err;
  const Completed again =
      call({"--from", path("m.json"), "--html", path("again.html"), "--fail-on", "faster"}, false);
  EXPECT_EQ(again.exit_status, 1) << again.err;
  EXPECT_EQ(again.out.substr(0, again.out.find("\nnext:")),
            first.out.substr(0, first.out.find("\nnext:")));
  EXPECT_NE(read_file(path("again.html"))->find("</html>"), std::string::npos);
  ASSERT_TRUE(write_file(path("other.json"), "{\"schema\": \"namesake.diff/1.0\"}"));
  const Completed other = call({"--from", path("other.json")}, false);
  EXPECT_EQ(other.exit_status, 2);
  EXPECT_NE(other.err.find("other.json"), std::string::npos) << other.err;
}

TEST_F(MeasureCommand, WritesAFirstLaunchFileOnceAndNotOverAnother) {
  std::filesystem::copy_file(NAMESAKE_SOURCE_DIR "/kernels/ptx/saxpy.ptx", path("mine.ptx"));
  EXPECT_EQ(call({"--new", path("mine.ptx")}, false).exit_status, 0);
  EXPECT_NE(read_file(path("mine.toml"))->find("entry = \"saxpy_vector\""), std::string::npos);
  const Completed again = call({"--new", path("mine.ptx")}, false);
  EXPECT_EQ(again.exit_status, 2);
  EXPECT_NE(again.err.find("mine.toml exists already"), std::string::npos);
}

TEST_F(MeasureCommand, AnInterruptEndsItAndTheProcessThatHoldsTheGpu) {
  Command command;
  command.arguments = {"sh",
                       "-c",
                       "\"$0\" \"$@\" & pid=$!; sleep 1; kill -INT $pid; wait $pid; echo status $?",
                       NAMESAKE_BINARY_DIR "/namesake",
                       "measure",
                       launch_file(),
                       "--a",
                       cubin("a.cubin", "us=1000 hang"),
                       "--b",
                       cubin("b.cubin", "us=900"),
                       "--launch-limit",
                       "100"};
  command.environment = {"NAMESAKE_DRIVER=" FAKE_DRIVER, "NAMESAKE_NVML=" FAKE_NVML,
                         "XDG_CACHE_HOME=" + path("cache")};
  command.timeout = std::chrono::seconds(20);
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->timed_out);
  EXPECT_NE(done->out.find("status 130"), std::string::npos) << done->out << done->err;
}

}  // namespace
