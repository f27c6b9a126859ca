// A machine of our own for a test: a home, a store, a cache and a PATH, and stand-ins to put there.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "toolchain/toolchain.h"
#include "util/file.h"

namespace namesake::toolchain {

class Scene : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(TemporaryFolder::make("scene").value());
    set("HOME", root() / "home");
    set("XDG_CACHE_HOME", root() / "cache");
    set("NAMESAKE_TOOLCHAINS", root() / "store");
    set("PATH", (root() / "bin").string() + ":/usr/bin:/bin");
    for (const char* name : {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"}) set(name, "");
    std::filesystem::create_directories(root() / "bin");
    std::filesystem::create_directories(root() / "home");
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

  const std::filesystem::path& root() const { return folder_->path(); }

  void set(const std::string& name, const std::filesystem::path& value) {
    const char* old = std::getenv(name.c_str());
    before_.try_emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

  // A stand-in ptxas in that folder, which says it is of that version.
  std::filesystem::path put_ptxas(const std::filesystem::path& folder, const std::string& version,
                                  const std::string& settings = "") {
    namespace fs = std::filesystem;
    fs::create_directories(folder);
    fs::copy_file(fs::path(NAMESAKE_BINARY_DIR) / "stand_in" / "ptxas", folder / "ptxas",
                  fs::copy_options::overwrite_existing);
    EXPECT_TRUE(write_file(folder / "settings", "version=" + version + " " + settings));
    return folder / "ptxas";
  }

  void put_script(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(root() / "bin" / name, "#!/bin/sh\n" + text, true));
  }

 private:
  std::optional<TemporaryFolder> folder_;
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace namesake::toolchain
