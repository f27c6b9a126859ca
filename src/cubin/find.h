// GPU code wherever it lies: fatbins and cubins inside any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/cursor.h"

namespace namesake::cubin {

struct Find {
  bool fatbin = false;  // else a cubin that stands by itself
  uint64_t offset = 0;
  Bytes bytes;          // from there to its end, or to the file's where it does not say
  std::string section;  // of the host program it lies in; "" where there is none
};

// In the order of the file; finds do not overlap.
std::vector<Find> find_code(Bytes file, int workers = 1);

}  // namespace namesake::cubin
