// What the portable kernel is launched with.
#pragma once

#include "../problem.h"
#include "../split.h"

namespace namesake::attention::sm80 {

struct Launch {
  Problem problem;
  int32_t tiles_per_head = 0;  // of query rows; each is done once for each part of the keys
  Partials partials;           // where the keys are divided
  bool aligned = false;        // every row of q, k, v and o starts at a multiple of 16 bytes
};

}  // namespace namesake::attention::sm80
