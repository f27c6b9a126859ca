// The process beside the application that makes its other builds.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "ab/builds.h"
#include "util/error.h"

namespace namesake::ab {

class Service {
 public:
  // Serves FOLDER/live until its end. `seconds` from the first image on, launches no longer
  // alternate; 0: they always do.
  static Result<Service> start(const std::filesystem::path& folder, const Settings& settings,
                               const std::string& kernels, double seconds);
  Service(Service&& other) noexcept : process_(other.process_) { other.process_ = -1; }
  Service& operator=(Service&&) = delete;
  ~Service();

  // Is it still there? It ends with this object and not before, unless it was killed.
  bool alive() const;

 private:
  explicit Service(pid_t process) : process_(process) {}
  pid_t process_;
};

}  // namespace namesake::ab
