// Attention on the CPU in double precision: the oracle the GPU kernels are held to, and what runs
// where there is no GPU.
#pragma once

#include "../problem.h"

namespace namesake::attention::reference {

// Lengths and scales lie in host memory, so they can be checked: packed lengths rise from 0 to the
// totals, none exceeds its maximum.
Status check(const Problem& problem);

void forward(const Problem& problem);

}  // namespace namesake::attention::reference
