// For each image that an application loads: where its code came from, and the builds to load beside
// it.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ab/builds.h"
#include "ab/notes.h"
#include "ab/requests.h"

namespace namesake::ab {

class Maker {
 public:
  // `kernels`: a glob on symbol or readable name; empty: all.
  Maker(Settings settings, std::string kernels, std::filesystem::path live)
      : settings_(std::move(settings)), kernels_(std::move(kernels)), live_(std::move(live)) {}

  // What assemblers and NVRTC were given: kept until code made of it is loaded.
  void learn(const ProgramRun& run);
  void learn(const NvrtcProgram& program);

  // Makes the builds and writes answers/HASH, its builds and its notes: one a kernel, and one
  // without a symbol for the image as a whole.
  Status answer(const ImageRequest& request);

 private:
  struct Loaded {
    std::string cubin;  // the code that runs on this device; "" for PTX
    std::string architecture;
    std::vector<std::string> symbols;
    std::map<std::string, std::string> identities;  // by symbol; empty for PTX
    std::vector<std::string> ptx;                   // texts beside it, the newest target first
    std::string options;                            // the fatbin says what the assembler was told
    std::string why;                                // "" or why nothing can be told of it
  };
  Loaded look_at(const ImageRequest& request) const;
  Source* find_source(const Loaded& loaded, const ImageRequest& request);
  Source* try_fatbin_ptx(const Loaded& loaded);
  size_t proven(Source& source, const Loaded& loaded) const;
  Note judge(const Source& source, const Loaded& loaded, const std::string& symbol,
             bool from_ptx) const;
  Status write(const ImageRequest& request, const Source* source,
               const std::vector<Note>& notes) const;
  std::string keep_ptx(const Source& source, uint64_t image) const;

  Settings settings_;
  std::string kernels_;
  std::filesystem::path live_;
  std::deque<Source> sources_;  // the newest first
};

}  // namespace namesake::ab
