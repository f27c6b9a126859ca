// A diff over a stand-in assembler with a planted fault.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "session/hook.h"
#include "assembly/cache.h"
#include "study/diff.h"
#include "util/file.h"

namespace namesake::study {
using namespace assembly;

class StandIn : public testing::Test {
 protected:
  // A copy of the stand-in with these settings, as a tool.
  toolchain::Tool assembler(const std::string& settings, const std::string& version = "13.5.37") {
    namespace fs = std::filesystem;
    fs::path home = folder.path() / ("assembler" + std::to_string(++count_));
    fs::create_directories(home);
    fs::copy_file(NAMESAKE_BINARY_DIR "/stand_in/ptxas", home / "ptxas");
    std::string text = "version=" + version + "\n";
    for (char c : settings) text += c == ' ' ? '\n' : c;
    EXPECT_TRUE(write_file(home / "settings", text + "\n"));
    toolchain::Tool tool;
    tool.kind = toolchain::Kind::ptxas;
    tool.path = home / "ptxas";
    tool.version = version;
    tool.build = "stand-in";
    tool.source = "given";
    return tool;
  }

  // Two kernels: one of many statements, which reacts to its name, and one of few, which does not.
  std::filesystem::path sample(const std::string& version = "8.0") {
    std::string text = ".version " + version + "\n.target sm_90\n.address_size 64\n";
    text += ".visible .entry large_kernel(.param .u64 p)\n{\n.reg .b32 %r<9>;\n";
    for (int i = 0; i < 8; ++i) text += "add.s32 %r1, %r1, " + std::to_string(i) + ";\n";
    text += "ret;\n}\n.visible .entry small_kernel()\n{\nret;\n}\n";
    std::filesystem::path file = folder.path() / "sample.ptx";
    EXPECT_TRUE(write_file(file, text));
    return file;
  }

  DiffRequest request(const toolchain::Tool& tool) {
    DiffRequest request;
    request.inputs.files = {sample()};
    request.a.assembler = request.b.assembler = tool;
    request.a.treatment = Treatment::untreated;
    request.b.treatment = Treatment::treated;
    request.hooks = {natural_.variables(), treated_.variables(), untreated_.variables()};
    request.timeout = std::chrono::seconds(2);
    request.workers = 2;
    return request;
  }

  static session::Hook hook(session::Treatment treatment) {
    session::Settings settings;
    session::Rule rule;
    rule.treatment = treatment;
    settings.rules = {rule};
    settings.record = false;
    return std::move(*session::Hook::make(settings));
  }

  static const report::FunctionDifference& function(const report::Difference& difference, const std::string& symbol) {
    for (const report::FunctionDifference& function : difference.functions) {
      if (function.symbol == symbol) return function;
    }
    ADD_FAILURE() << symbol << " is missing";
    return difference.functions.at(0);
  }

  // The control whose name begins so.
  static const report::Control& control(const report::Difference& difference, const std::string& name) {
    for (const report::Control& control : difference.controls) {
      if (control.name.starts_with(name)) return control;
    }
    ADD_FAILURE() << "no control \"" << name << "\"";
    return difference.controls.at(0);
  }

  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-study"));

 private:
  session::Hook natural_ = hook(session::Treatment::natural), treated_ = hook(session::Treatment::treated),
                untreated_ = hook(session::Treatment::untreated);
  int count_ = 0;
};

}  // namespace namesake::study
