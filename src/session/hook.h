// A hook ready for use: the library and the control file in a folder of their own.
//
// The light way to hook a process: make one Hook per way of answering, add its variables to the
// environment of as many children as you like. With `record` off nothing but the answers happens.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "session/control.h"
#include "session/records.h"
#include "util/error.h"
#include "util/file.h"

namespace namesake::session {

// preload sees every call bound the normal way; audit (glibc only) also those under RTLD_DEEPBIND,
// in namespaces of dlmopen, and by dlsym on libc's handle.
enum class Via { preload, audit };

class Hook {
 public:
  static Result<Hook> make(const Settings& settings, Via via = Via::preload);

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path library() const { return folder() / "namesake.so"; }

  // Variables to add to a child's environment. Other preloads are kept behind ours; a sanitizer's
  // runtime, whether already preloaded or needed by `target`, stays first, as it insists to be.
  // `more` are libraries to stand behind ours.
  std::vector<std::string> variables(const std::filesystem::path& target = {},
                                     const std::vector<std::filesystem::path>& more = {}) const;

  // Library, rules and settings as one key: what is compiled under this hook may be reused only
  // under a hook with the same.
  const std::string& key() const { return key_; }

  // Leaves the folder behind, for processes that live on.
  void keep() { folder_.keep(); }

  // What has been recorded so far; complete once the processes have ended.
  Result<Recording> recording() const { return read_recording(folder()); }

 private:
  Hook(TemporaryFolder folder, Via via, std::string key)
      : folder_(std::move(folder)), via_(via), key_(std::move(key)) {}
  TemporaryFolder folder_;
  Via via_;
  std::string key_;
};

}  // namespace namesake::session
