// The question `namesake scan` asks: which kernels a binary carries, and where a trigger stands in
// their symbols.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/scan.h"
#include "study/containers.h"
#include "util/error.h"

namespace namesake::study {

struct ScanRequest {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> denied;         // texts looked for beside the known triggers
  std::string kernel_glob;                 // on symbol or readable name; empty: all
  std::vector<std::string> architectures;  // "sm_90a"; empty: all
  // Register counts, and every place a trigger stands in: not on the page, and half of the time.
  bool detailed = true;
  Limits limits;
  int workers = 1;
  std::function<void(std::string_view)> progress;
  std::function<bool()> stop;
};

// A file that cannot be read whole is a problem in the report, never the end of the scan.
Result<report::Scan> scan(const ScanRequest& request);

// PTX in the files that defines a kernel the request's glob matches.
struct CarriedPtx {
  std::string container, options, target;
  std::string kernel;  // its symbol
  std::string text;    // its module, without the other kernels
};
// The one for the newest target of `architectures` (or of all); an error where none is carried.
Result<CarriedPtx> find_ptx(const ScanRequest& request);

}  // namespace namesake::study
