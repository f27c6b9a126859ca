// The kernels of one head_dim and element type, full and causal; the build compiles this file once
// for each, side by side.
#if NAMESAKE_FP8
#include "fp8.cuh"
#define NAMESAKE_FORWARD forward8
#else
#include "kernel.cuh"
#define NAMESAKE_FORWARD forward
#endif
#include "kernels.h"

namespace namesake::attention::sm90 {

template <bool kCausal>
using Instance = Shape<DType::NAMESAKE_DTYPE, NAMESAKE_HEAD_DIM, kCausal>;

template <>
const void* kernel_of<NAMESAKE_HEAD_DIM, DType::NAMESAKE_DTYPE>(bool causal) {
  return causal ? reinterpret_cast<const void*>(&NAMESAKE_FORWARD<Instance<true>>)
                : reinterpret_cast<const void*>(&NAMESAKE_FORWARD<Instance<false>>);
}

}  // namespace namesake::attention::sm90
