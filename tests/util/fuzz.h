// What a fuzz target holds to: where it does not hold, the process ends, and the fuzzer keeps the
// input.
#pragma once

#include <cstdlib>

inline void require(bool holds) {
  if (!holds) std::abort();
}
