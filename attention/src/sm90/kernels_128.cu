// The kernels for head_dim 128.
#include "kernel_table.cuh"

namespace namesake::attention::sm90 {

const void* kernel_function_128(const TileConfig& tile) { return find_kernel<128>(tile); }

}  // namespace namesake::attention::sm90
