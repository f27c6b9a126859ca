// Basic blocks of a function, and the loops they form.
#pragma once

#include <cstdint>
#include <vector>

#include "sass/sass.h"

namespace namesake::sass {

struct Block {
  uint32_t first = 0, last = 0;  // instruction indices, inclusive
  std::vector<uint32_t>
      successors;  // block numbers; what falls through first, then in address order
};

struct Graph {
  std::vector<Block> blocks;  // in address order, trailing padding left out
  std::vector<uint32_t>
      roots;  // where control may enter: the first block, called parts, what nothing reaches
};
Graph control_flow(const Function& function);

// Natural loops, one for each header, outer before inner.
std::vector<Loop> find_loops(const Function& function);

}  // namespace namesake::sass
