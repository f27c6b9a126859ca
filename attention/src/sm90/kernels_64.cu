// The kernels for head_dim 64.
#include "kernel_table.cuh"

namespace namesake::attention::sm90 {

const void* kernel_function_64(const TileConfig& tile) { return find_kernel<64>(tile); }

}  // namespace namesake::attention::sm90
