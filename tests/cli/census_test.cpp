// The next release as whoever keeps a ledger meets it: one command, and five lines to read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "../report/golden.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake {
namespace {
namespace fs = std::filesystem;

// Two releases whose differences are planted, and a kernel for each of them.
class Releases : public testing::Test {
 protected:
  Releases() {
    fs::create_directories(folder / "kernels");
    for (const char* name : {"matmul", "softmax", "reduce", "gather", "scatter", "copy"}) {
      std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " +
                         std::string(name) + "()\n{\n.reg .b32 %r<9>;\nis_" + name + ";\n";
      for (int i = 0; i < 12; ++i) text += fmt::format("add.s32 %r1, %r1, {}{};\n", name, i);
      EXPECT_TRUE(
          write_file(folder / "kernels" / (std::string(name) + ".ptx"), text + "ret;\n}\n"));
    }
    release("14.0.10", "react=none react@is_matmul=all react@is_softmax=all");
    release("14.1.20",
            "react=none react@is_matmul=all react@is_reduce=all code@is_gather=1 "
            "spill@is_scatter=always:96 crash@is_copy=always");
  }

  void release(const std::string& version, const std::string& settings) {
    fs::path bin = folder / "toolchains" / version / "nvidia" / "cu14" / "bin";
    fs::create_directories(bin);
    fs::copy_file(NAMESAKE_BINARY_DIR "/stand_in/ptxas", bin / "ptxas");
    std::string lines = "version=" + version + "\n";
    for (std::string_view word : split(settings, ' ')) lines += std::string(word) + "\n";
    EXPECT_TRUE(write_file(bin / "settings", lines));
  }

  Completed census(std::vector<std::string> arguments) {
    Command command;
    command.arguments = {NAMESAKE_BINARY_DIR "/namesake", "census", "--ledger", "census.sqlite"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment = {"NAMESAKE_TOOLCHAINS=" + (folder / "toolchains").string(),
                           "XDG_CACHE_HOME=" + folder.string(), "COLUMNS=100"};
    command.folder = folder;
    auto done = run(command);
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_TRUE(done && done->exit_status == 0) << done->err;
    return done ? *done : Completed();
  }

 private:
  TemporaryFolder owner_ = std::move(*TemporaryFolder::make("namesake-census"));

 protected:
  fs::path folder = owner_.path();
};

TEST_F(Releases, AnUpdateSaysInFiveLinesWhatTheNewOneChanged) {
  census({"--kernels", "kernels", "--arch", "sm_90", "--assembler", "14.0.10"});
  std::string said = census({"update", "14.1.20"}).out;
  // The first line ends with times.
  size_t times = said.find(" in "), end = said.find('\n');
  ASSERT_LT(times, end);
  said.replace(times, end - times, " in …");
  report::expect_golden("census_update.txt", said);
}

TEST_F(Releases, AReleaseThatChangesNothingIsToldSo) {
  release("14.2.30", "react=none react@is_matmul=all react@is_softmax=all");
  census({"--kernels", "kernels", "--arch", "sm_90", "--assembler", "14.0.10"});
  std::string said = census({"update", "14.2.30"}).out;
  EXPECT_NE(said.find("since 14.0.10, none began to react, none ceased"), std::string::npos)
      << said;
  EXPECT_NE(said.find("0 of 6 builds have other code"), std::string::npos) << said;
}

}  // namespace
}  // namespace namesake
