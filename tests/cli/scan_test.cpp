// `namesake scan` as scripts meet it. No toolchain is needed, and cuobjdump least of all.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "util/file.h"
#include "util/subprocess.h"

namespace namesake {
namespace {

const std::string kFixtures = NAMESAKE_SOURCE_DIR "/tests/cubin/fixtures/";
constexpr int kDone = 0, kVerdict = 1, kError = 2;

Completed scan(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  Command command;
  command.arguments = {NAMESAKE_BINARY_DIR "/namesake", "scan"};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment = {"COLUMNS=100", "PATH=/nonexistent"};
  for (std::string& variable : environment) command.environment.push_back(std::move(variable));
  auto done = run(command);
  EXPECT_TRUE(done) << done.error().message;
  return done ? *done : Completed();
}

TEST(ScanCommand, a_library_with_kernels_is_done_well) {
  Completed done = scan({kFixtures + "speed.fatbin"});
  EXPECT_EQ(done.exit_status, kDone) << done.err;
  EXPECT_NE(done.out.find("18 of 24 kernels carry a trigger"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("next: namesake scan"), std::string::npos);
}

TEST(ScanCommand, a_denied_text_is_a_verdict_only_where_it_is_found) {
  EXPECT_EQ(scan({kFixtures + "speed.fatbin", "--deny", "cutlass"}).exit_status, kVerdict);
  EXPECT_EQ(scan({kFixtures + "speed.fatbin", "--deny", "absent"}).exit_status, kDone);
  EXPECT_EQ(scan({kFixtures + "speed.fatbin", "--deny", "absent,internal"}).exit_status, kVerdict);
}

// As from a script's variable that is not set.
TEST(ScanCommand, an_empty_denied_text_is_an_error_and_no_clean_bill) {
  EXPECT_EQ(scan({kFixtures + "speed.fatbin", "--deny", ""}).exit_status, kError);
}

TEST(ScanCommand, what_could_not_be_read_is_no_clean_bill) {
  EXPECT_EQ(scan({"/nonexistent/lib.so"}).exit_status, kError);
  EXPECT_EQ(
      scan({kFixtures + "speed.fatbin", "/nonexistent/lib.so", "--deny", "absent"}).exit_status,
      kError);
  EXPECT_EQ(
      scan({kFixtures + "speed.fatbin", "/nonexistent/lib.so", "--deny", "cutlass"}).exit_status,
      kVerdict);
  EXPECT_EQ(scan({}).exit_status, kError);
}

TEST(ScanCommand, json_on_stdout_is_all_of_stdout) {
  Completed done = scan({kFixtures + "none.fatbin", "--json", "-"});
  auto json = nlohmann::json::parse(done.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["schema"], "namesake.scan/1.0");
  EXPECT_EQ(json["functions"].size(), 24u);
}

TEST(ScanCommand, a_list_has_a_line_for_each_kernel) {
  Completed done = scan({kFixtures + "none.fatbin", "--list", "--arch", "sm_80"});
  EXPECT_NE(done.out.find("cutlass_like<4>"), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("sm_90a"), std::string::npos);
}

TEST(ScanCommand, a_pipe_is_read_as_a_file_is) {
  Command command;
  command.arguments = {
      "/bin/sh", "-c",
      "cat '" + kFixtures + "none.fatbin' | " NAMESAKE_BINARY_DIR "/namesake scan /dev/stdin"};
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_NE(done->out.find("of 24 kernels"), std::string::npos) << done->out << done->err;
}

TEST(ScanCommand, explaining_a_kernel_without_ptx_or_none_is_an_error_with_a_reason) {
  Completed done = scan(
      {NAMESAKE_SOURCE_DIR "/tests/sass/fixtures/stencil.sm_90.cubin", "--explain", "*stencil*"});
  EXPECT_EQ(done.exit_status, kError);
  EXPECT_NE(done.err.find("machine code alone"), std::string::npos) << done.err;
  EXPECT_EQ(scan({kFixtures + "none.fatbin", "--explain", "nothing"}).exit_status, kError);
}

}  // namespace
}  // namespace namesake
