// Statements to instruction words that every GPU since sm_75 has.
#pragma once

#include <cstdint>
#include <string>

#include "module.h"

namespace stand_in {

// What a function's code depends on, besides its statements.
struct Choice {
  uint64_t architecture = 0;
  int opt_level = 3;
  bool treated = false;
  uint64_t variant = 0;      // of a lottery, or the name's length
  int spill_bytes = 0;
};

struct Code {
  std::string bytes;
  int registers = 0;
};

Code generate(const Function& function, const Choice& choice);

}  // namespace stand_in
