// What processes launched, as they left it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ab/notes.h"
#include "report/live.h"
#include "util/cursor.h"
#include "util/error.h"

namespace namesake::ab {

struct Block {
  uint32_t shape = 0;
  int kind = 0;  // ns_block_kind
  bool b_first = false;
  std::array<double, 4> milliseconds{};
  double a() const;
  double b() const;
};

struct LaunchShape {
  uint32_t kernel = 0;
  std::array<int64_t, 3> grid{}, block{};
  int64_t shared_bytes = 0, launches = 0;
  uint32_t attributes = 0;
};

struct LaunchedKernel {
  uint64_t image = 0, symbol_hash = 0;
  std::string symbol;  // its first characters
  int state = 0, error = 0;
  int64_t launches = 0, of_b = 0, captured = 0, cooperative = 0, not_resident = 0, failed = 0;
  int64_t checked = 0, differing = 0, unrepeatable = 0, unchecked = 0;
  int why_unchecked = 0;
};

struct Record {
  uint32_t process = 0;
  std::string device;
  int driver = 0, major = 0, minor = 0;
  int64_t unknown = 0, timed = 0, lost = 0, contexts_ended = 0;
  std::vector<LaunchedKernel> kernels;
  std::vector<LaunchShape> shapes;
  std::vector<Block> blocks;
};

Result<Record> parse_record(Bytes file);

// All that was launched and noted in a live folder; what cannot be understood is told in `damaged`.
struct Launched {
  std::vector<Record> records;
  std::map<std::pair<uint64_t, uint64_t>, Note> notes;  // by image and the symbol's hash
  std::vector<std::string> damaged;
};
Launched read_launched(const std::filesystem::path& live);

}  // namespace namesake::ab
