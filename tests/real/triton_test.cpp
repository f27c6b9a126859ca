// `namesake run` around Triton, which compiles in Python, assembles by a ptxas of its own and keeps what it made in
// a cache whose key does not know of treatments.
#include "real.h"

namespace namesake::real {
namespace {

class RealTriton : public Real {
 protected:
  void SetUp() override {
    std::string given = environment("NAMESAKE_TRITON_PYTHON"), own = NAMESAKE_BINARY_DIR "/triton";
    python_ = given.empty() ? own + "/bin/python" : given;
    if (given.empty() && !fs::exists(python_) && environment("NAMESAKE_TEST_TRITON") == "1") {
      must({"python3", "-m", "venv", own});
      must({python_, "-m", "pip", "install", "-q", "triton==3.6.0"});
    }
    if (!fs::exists(python_)) {
      GTEST_SKIP() << "no Triton (a wheel of 190 MB); to run this test, set NAMESAKE_TEST_TRITON=1, or "
                      "NAMESAKE_TRITON_PYTHON to a python that has triton 3.6.0";
    }
  }

  std::vector<std::string> application(int target, const std::string& output) {
    return {python_, kHere + "/triton_matmul.py", std::to_string(target), path(output)};
  }

  static int registers(const std::string& file) {
    auto bytes = read_file(file);
    auto module = cubin::parse(*bytes, file);
    return module && module->functions.size() == 1 ? module->functions[0].registers : -1;
  }

  std::string python_;
};

TEST_F(RealTriton, TheCacheOfATreatedRunDoesNotReachANaturalOne) {
  Completed treated = treated_run({"--treat", "*"}, application(80, "treated"));
  EXPECT_TRUE(says(treated, "1 treated, 0 left, 0 unseen\n"));
  EXPECT_TRUE(says(treated, "Triton"));
  must(application(80, "natural"));
  Completed again = treated_run({"--treat", "*"}, application(80, "again"));
  EXPECT_TRUE(says(again, "0 treated, 0 left, 0 unseen, nothing assembled"));
  auto code = [&](const std::string& folder) { return code_of(path(folder + "/matmul.cubin")); };
  EXPECT_NE(code("treated"), code("natural"));
  EXPECT_EQ(code("treated"), code("again"));
}

TEST_F(RealTriton, WithSharedCachesItWouldReachIt) {
  treated_run({"--shared-caches", "--treat", "*"}, application(80, "treated"));
  must(application(80, "natural"));
  EXPECT_EQ(code_of(path("treated/matmul.cubin")), code_of(path("natural/matmul.cubin")))
      << "else the test before this one shows nothing";
}

TEST_F(RealTriton, TheMatmulForSm90GoesFrom163To128Registers) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  must(application(80, "made"));
  std::vector<std::string> command = {ptxas, "-arch=sm_90", path("made/matmul.ptx"), "-o", path("natural.cubin")};
  must(command);
  command.back() = path("treated.cubin");
  treated_run({"--treat", "*"}, command);
  EXPECT_EQ(registers(path("natural.cubin")), 163);
  EXPECT_EQ(registers(path("treated.cubin")), 128);
}

}  // namespace
}  // namespace namesake::real
