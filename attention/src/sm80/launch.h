// What the portable kernel is launched with.
#pragma once

#include "../problem.h"

namespace namesake::attention::sm80 {

struct Launch {
  Problem problem;
  int32_t tiles_per_head = 0;
  bool aligned = false;  // every row of q, k, v and o starts at a multiple of 16 bytes
};

}  // namespace namesake::attention::sm80
