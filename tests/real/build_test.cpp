// Builds with many compilers at once: every function is counted, whatever runs beside what.
#include "real.h"

namespace namesake::real {
namespace {

class RealBuild : public Real {
 protected:
  void SetUp() override {
    NEED_TOOL(nvcc, nvcc, "13.0");
    nvcc_ = nvcc;
    for (std::string name : {"one", "two", "three"}) {
      sources_.push_back(write(name + ".cu", gather("gather_" + name) + gather("other_" + name)));
    }
  }

  // Whether a program is there; a test without it says so.
  bool has(const std::string& program) {
    auto done = run({.arguments = {program, "--version"}});
    return done && done->ok();
  }

  // Each file's first kernel has changed against a build without namesake, and the second has not.
  void expect_first_kernels_treated(const std::string& plain, const std::string& treated, const std::string& suffix) {
    for (std::string name : {"one", "two", "three"}) {
      auto before = code_of(path(plain + "/" + name + suffix)), after = code_of(path(treated + "/" + name + suffix));
      ASSERT_EQ(after.size(), 2u);
      for (const auto& [symbol, code] : after) {
        EXPECT_EQ(code != before[symbol], symbol.find("gather_") != std::string::npos) << symbol;
      }
    }
  }

  std::string nvcc_;
  std::vector<std::string> sources_;
};

TEST_F(RealBuild, MakeWithThreeJobs) {
  if (!has("make")) GTEST_SKIP() << "no make; to run this test: apt-get install make";
  std::string file = write("Makefile", "all: $(OUT)/one.cubin $(OUT)/two.cubin $(OUT)/three.cubin\n$(OUT)/%.cubin: %.cu\n\t" + nvcc_ +
                                           " -cubin -arch=sm_90 $< -o $@\n");
  for (std::string out : {"plain", "treated"}) fs::create_directory(path(out));
  must({"make", "-j3", "-s", "OUT=plain"});
  Completed done = treated_run({"--strict", "--treat", "gather_*"}, {"make", "-j3", "-s", "OUT=treated"});
  expect_first_kernels_treated("plain", "treated", ".cubin");
  EXPECT_TRUE(says(done, "3 treated, 3 left, 0 unseen\n"));
}

TEST_F(RealBuild, CMakeWithNinjaForTwoArchitectures) {
  if (!has("cmake") || !has("ninja")) GTEST_SKIP() << "no cmake or no ninja; to run this test: apt-get install cmake ninja-build";
  // Custom commands: CMake's own support for CUDA wants to link a program, which wheels cannot.
  write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(three NONE)\nforeach(name one two three)\n"
                          "  add_custom_command(OUTPUT ${name}.fatbin COMMAND " + nvcc_ + " -fatbin --threads 2 -gencode=arch=compute_80,code=sm_80"
                          " -gencode=arch=compute_90,code=sm_90 ${CMAKE_SOURCE_DIR}/${name}.cu -o ${name}.fatbin\n"
                          "    DEPENDS ${name}.cu)\n  list(APPEND all ${name}.fatbin)\nendforeach()\nadd_custom_target(all_of_it ALL DEPENDS ${all})\n");
  Completed done = treated_run({"--strict", "--treat", "gather_*"},
                               {"sh", "-c", "cmake -G Ninja -S . -B build >/dev/null && ninja -C build -j 3 >/dev/null"});
  EXPECT_TRUE(says(done, "6 treated, 6 left, 0 unseen\n"));
}

TEST_F(RealBuild, ASecondBuildThatHasNothingToDoSaysSo) {
  if (!has("make")) GTEST_SKIP() << "no make; to run this test: apt-get install make";
  write("Makefile", "one.cubin: one.cu\n\t" + nvcc_ + " -cubin -arch=sm_90 $< -o $@\n");
  treated_run({"--treat", "*"}, {"make", "-s"});
  EXPECT_TRUE(says(treated_run({"--treat", "*"}, {"make", "-s"}), "0 treated, 0 left, 0 unseen, nothing assembled"));
}

}  // namespace
}  // namespace namesake::real
