// What the hook's tests share: the stand-ins, and running one of them under a hook.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "session/hook.h"
#include "util/file.h"
#include "util/subprocess.h"

namespace namesake::session {

inline std::string target(const std::string& name) {
  return std::string(NAMESAKE_BINARY_DIR) + "/tests/targets/" + name;
}

inline Rule treat(const std::string& pattern, const std::string& architecture = "") {
  return {.pattern = pattern, .treatment = Treatment::treated, .architecture = architecture};
}
inline Rule untreat(const std::string& pattern) {
  return {.pattern = pattern, .treatment = Treatment::untreated};
}
inline Rule leave(const std::string& pattern) {
  return {.pattern = pattern, .treatment = Treatment::natural};
}

inline Hook make_hook(const Settings& settings, Via via = Via::preload) {
  auto hook = Hook::make(settings, via);
  if (!hook) {
    ADD_FAILURE() << hook.error().message;
    std::abort();
  }
  return std::move(*hook);
}

// The command under a hook, and what was recorded.
struct Hooked {
  Completed completed;
  Recording recording;
  std::string out() const { return completed.out; }
};

inline Hooked run_hooked(const std::vector<std::string>& arguments, const Settings& settings,
                         Via via = Via::preload, const std::vector<std::string>& more = {}) {
  Hook hook = make_hook(settings, via);
  Command command;
  command.arguments = arguments;
  command.environment = hook.variables(arguments[0]);
  command.environment.insert(command.environment.end(), more.begin(), more.end());
  auto completed = run(command);
  EXPECT_TRUE(completed.has_value());
  Hooked hooked;
  if (completed) hooked.completed = *completed;
  if (!settings.record) return hooked;
  auto recording = hook.recording();
  EXPECT_TRUE(recording.has_value()) << (recording ? "" : recording.error().message);
  if (recording) hooked.recording = std::move(*recording);
  return hooked;
}

// A folder with an input for the stand-in assembler.
class Input {
 public:
  explicit Input(const std::string& content)
      : folder_(std::move(*TemporaryFolder::make("namesake-test"))) {
    EXPECT_TRUE(write_file(path(), content).has_value());
  }
  std::string path() const { return (folder_.path() / "in.ptx").string(); }
  std::string output() const { return (folder_.path() / "out.cubin").string(); }
  std::string assembled() const { return read_file(output()).value_or("no output"); }
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

inline std::vector<NameTest> asked(const Recording& recording, const std::string& needle) {
  std::vector<NameTest> result;
  for (const NameTest& test : recording.tests) {
    if (test.needle == needle) result.push_back(test);
  }
  return result;
}

}  // namespace namesake::session
