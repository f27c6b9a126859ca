// What the tests with real compilers share: the tools at hand, or a skip that says how to get them, and
// `namesake` as a person types it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cubin/cubin.h"
#include "toolchain/toolchain.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::real {
namespace fs = std::filesystem;

inline const std::string kTool = NAMESAKE_BINARY_DIR "/namesake";
inline const std::string kKernels = NAMESAKE_SOURCE_DIR "/kernels";
inline const std::string kHere = NAMESAKE_SOURCE_DIR "/tests/real";

// The tool of a version, with all that it needs beside it; an empty path where it is absent.
inline toolchain::Tool tool(toolchain::Kind kind, std::string_view version) {
  static const std::vector<toolchain::Tool> tools = toolchain::find_tools();
  auto found = toolchain::choose(tools, kind, version);
  return found ? *found : toolchain::Tool();
}

inline std::string how_to_get(std::string_view kind, std::string_view version) {
  std::string package = kind == "ptxas" ? "" : std::string(kind) + "-";
  return fmt::format("no {} {}; to get it, run ./quickstart or: namesake toolchain add {}{}", kind, version, package, version);
}

#define NEED_TOOL(variable, kind, version)                                            \
  const std::string variable = tool(toolchain::Kind::kind, version).path.string(); \
  if (variable.empty()) GTEST_SKIP() << how_to_get(#kind, version)

// One folder a test, with homes and caches of its own.
class Real : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-real"));

  std::string path(const std::string& name) const { return (folder.path() / name).string(); }

  std::string write(const std::string& name, std::string_view content, bool executable = false) {
    EXPECT_TRUE(write_file(path(name), content, executable));
    return path(name);
  }

  Completed call(std::vector<std::string> arguments, const std::vector<std::string>& more = {},
                 std::chrono::seconds timeout = std::chrono::minutes(5)) const {
    Command command;
    command.arguments = std::move(arguments);
    command.folder = folder.path();
    command.environment = {"NAMESAKE_KERNELS=" + kKernels, "XDG_CACHE_HOME=" + path("cache"),
                           "XDG_STATE_HOME=" + path("state"), "HOME=" + path("home"), "COLUMNS=120"};
    command.environment.insert(command.environment.end(), more.begin(), more.end());
    command.timeout = timeout;
    auto done = run(command);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Completed();
  }

  Completed namesake(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) const {
    arguments.insert(arguments.begin(), kTool);
    return call(std::move(arguments), more);
  }

  // A command that must succeed.
  Completed must(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) const {
    Completed done = call(arguments, more);
    EXPECT_TRUE(done.ok()) << quoted(arguments) << ": " << done.how_it_ended() << "\n" << done.out << done.err;
    return done;
  }

  // `namesake run OPTIONS -- COMMAND`, which must succeed.
  Completed treated_run(const std::vector<std::string>& options, const std::vector<std::string>& command) const {
    std::vector<std::string> arguments = {kTool, "run"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return must(std::move(arguments));
  }

  // The machine code of each function of a cubin, by symbol, as its size and hash.
  static std::map<std::string, std::string> code_of(const std::string& file) {
    std::map<std::string, std::string> code;
    auto bytes = read_file(file);
    EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
    if (!bytes) return code;
    auto module = cubin::parse(*bytes, file);
    EXPECT_TRUE(module) << (module ? "" : module.error().message);
    if (!module) return code;
    for (const cubin::Function& function : module->functions) code[function.symbol] = fmt::format("{} bytes, {}", function.code.size(), hash_bytes(function.code).hex());
    return code;
  }
};

inline testing::AssertionResult says(const Completed& done, std::string_view text) {
  if ((done.out + done.err).find(text) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "does not say \"" << text << "\" but:\n" << done.out << done.err;
}

// The smallest kernel of the bundled ones that reacts, under another name.
inline std::string gather(const std::string& name) {
  return "__global__ void " + name +
         "(const float* table, const int* index, float* out, int width) {\n"
         "  for (int i = threadIdx.x; i < width; i += blockDim.x)\n"
         "    out[blockIdx.x * width + i] = table[index[blockIdx.x] * width + i];\n}\n";
}

}  // namespace namesake::real
