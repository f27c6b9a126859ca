// The kernels for head_dim 256.
#include "kernel_table.cuh"

namespace namesake::attention::sm90 {

const void* kernel_function_256(const TileConfig& tile) { return find_kernel<256>(tile); }

}  // namespace namesake::attention::sm90
