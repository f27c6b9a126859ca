// "Is this the only text?": words used as names, and triggers that no call betrays.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/probe.h"
#include "study/probe_kernel.h"
#include "study/probe_program.h"
#include "util/error.h"

namespace namesake::study {

struct ProbeRequest {
  std::vector<Program> programs;
  std::vector<ProbeKernel> kernels;
  std::vector<std::string> architectures;
  std::vector<std::string> words;  // the user's
  std::vector<std::filesystem::path>
      dictionaries;  // files whose texts are taken; empty: the program's own
  bool inside = true, names = true;
  std::filesystem::path journal_folder;  // empty: nothing is remembered
  int workers = 1;
  std::chrono::milliseconds timeout{10000};  // of one assembly, and more for a large module
  std::function<bool()> stop;
  std::function<void(std::string_view)> progress;
};

Result<report::Probe> probe(const ProbeRequest& request);

}  // namespace namesake::study
