// As much of PTX as the stand-in understands: functions and their statements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stand_in {

struct Function {
  std::string symbol;
  bool entry = false;
  bool pragma = false;               // holds .pragma "mma_throughput"
  std::vector<std::string> marks;    // those asked for that its body holds
  std::vector<uint64_t> statements;  // a hash each, the same whatever the functions are called
};

struct Module {
  int major = 0, minor = 0;  // .version
  std::vector<Function> functions;
  std::string failure;       // "line 3: …" where it is no module
};

// `marks` are words whose presence in a body is told.
Module read_module(std::string_view text, const std::vector<std::string>& marks = {});

uint64_t mixed(uint64_t hash, std::string_view text);
uint64_t mixed(uint64_t hash, uint64_t value);

}  // namespace stand_in
