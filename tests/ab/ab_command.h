// `namesake ab` on an application that launches kernels on a stand-in driver.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "report/live_pages.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake {

inline constexpr const char* kTargets = NAMESAKE_BINARY_DIR "/tests/ab_targets";

inline std::string kernel_text(const std::string& symbol, const std::string& before = "",
                               const std::string& within = "") {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n" + before +
                     ".visible .entry " + symbol + "(.param .u64 a)\n{\n .reg .b32 %r<10>;\n" +
                     within;
  for (const char* line :
       {"add.s32 %r1, %r2, %r3", "mul.lo.s32 %r2, %r1, %r3", "add.s32 %r3, %r2, %r1",
        "xor.b32 %r5, %r4, %r1", "mad.lo.s32 %r4, %r1, %r2, %r3", "add.s32 %r6, %r5, %r1",
        "sub.s32 %r7, %r6, %r5", "and.b32 %r8, %r7, %r6"})
    text += std::string(" ") + line + ";\n";
  return text + " ret;\n}\n";
}

struct Code {
  int64_t treated = 0, untreated = 0, captured_treated = 0, captured_untreated = 0;
  std::string treated_settings, untreated_settings;
};

class AbCommand : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("ab-command"));
  std::vector<std::string> environment;

  std::string path(const std::string& name) const { return (folder.path() / name).string(); }

  void SetUp() override { EXPECT_TRUE(write_file(path("kernel.ptx"), kernel_text("kernel"))); }

  // "dlsym", "module", and what the application is told beside its kernel.
  std::vector<std::string> application(const std::string& door, const std::string& holding,
                                       std::vector<std::string> more = {}) {
    std::vector<std::string> words = {std::string(kTargets) + "/application", door, holding,
                                      "ptxas=" NAMESAKE_BINARY_DIR "/stand_in/ptxas"};
    bool paced = false;
    for (const std::string& each : more)
      paced |= each.starts_with("launches=") || each.starts_with("sleep=");
    if (!paced) words.insert(words.end(), {"launches=600", "sleep=1500"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Completed call(std::vector<std::string> options, const std::vector<std::string>& command) {
    Command run_it;
    run_it.arguments = {NAMESAKE_BINARY_DIR "/namesake", "-q", "ab", "--json", path("out.json")};
    run_it.arguments.insert(run_it.arguments.end(), options.begin(), options.end());
    run_it.arguments.emplace_back("--");
    run_it.arguments.insert(run_it.arguments.end(), command.begin(), command.end());
    run_it.environment = environment;
    for (const std::string& each : {std::string("LD_LIBRARY_PATH=") + kTargets + "/driver",
                                    "FAKE_LOG=" + path("log"), "XDG_CACHE_HOME=" + path("cache"),
                                    "XDG_STATE_HOME=" + path("state"), std::string("COLUMNS=100")})
      run_it.environment.push_back(each);
    run_it.folder = folder.path();
    auto done = run(run_it);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Completed();
  }

  report::Live live() {
    auto text = read_file(path("out.json"));
    EXPECT_TRUE(text) << "no report";
    auto parsed = report::live_from_json(text.value_or("{}"));
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed ? *parsed : report::Live();
  }
  report::LiveKernel kernel() {
    report::Live all = live();
    EXPECT_EQ(all.kernels.size(), 1u);
    return all.kernels.empty() ? report::LiveKernel() : all.kernels.front();
  }

  // What the driver was asked to run.
  Code launched() {
    Code code;
    std::string text = read_file(path("log")).value_or("");
    for (std::string_view line : split(text, '\n')) {
      auto words = split(line, ' ');
      if (words.size() < 6) continue;
      bool treated = words[1] == "treated";
      (treated ? code.treated : code.untreated) += parse_integer(words[2]).value_or(0);
      (treated ? code.captured_treated : code.captured_untreated) +=
          parse_integer(words[3]).value_or(0);
      (treated ? code.treated_settings : code.untreated_settings) =
          std::string(words[4]) + " " + std::string(words[5]);
    }
    return code;
  }
};

}  // namespace namesake
