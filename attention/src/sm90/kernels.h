// The compiled kernels, by tile.
#pragma once

#include "tile.h"

namespace namesake::attention::sm90 {

// The kernel's handle for cudaLaunchKernel; null where no kernel was compiled for this tile.
const void* kernel_function(const TileConfig& tile);

// One per translation unit, so that they compile side by side.
const void* kernel_function_64(const TileConfig& tile);
const void* kernel_function_128(const TileConfig& tile);
const void* kernel_function_256(const TileConfig& tile);

}  // namespace namesake::attention::sm90
