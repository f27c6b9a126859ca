// Putting the parts of split.h together.
#pragma once

#include <cuda_runtime_api.h>

#include "split.h"

namespace namesake::attention {

// Writes o, and LSE where it is wanted, from the partials of all parts.
cudaError_t combine(const Problem& problem, const Partials& partials, cudaStream_t stream);

// Whether combine can take the problem: its rows must fit one launch.
bool combine_fits(const Problem& problem);

}  // namespace namesake::attention
