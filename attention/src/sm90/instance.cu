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

template <bool kCausal, bool kAhead = false>
using Instance = Shape<DType::NAMESAKE_DTYPE, NAMESAKE_HEAD_DIM, kCausal, kAhead>;

template <>
const void* kernel_of<NAMESAKE_HEAD_DIM, DType::NAMESAKE_DTYPE>(bool causal) {
  return causal ? reinterpret_cast<const void*>(&NAMESAKE_FORWARD<Instance<true>>)
                : reinterpret_cast<const void*>(&NAMESAKE_FORWARD<Instance<false>>);
}

#if NAMESAKE_FP8 && NAMESAKE_HEAD_DIM == 256
template <>
const void* ahead_kernel_of<DType::NAMESAKE_DTYPE>(bool causal) {
  return causal ? reinterpret_cast<const void*>(&NAMESAKE_FORWARD<Instance<true, true>>)
                : reinterpret_cast<const void*>(&NAMESAKE_FORWARD<Instance<false, true>>);
}
#endif

}  // namespace namesake::attention::sm90
