// The kernels of one head_dim and element type, full and causal; the build compiles this file once
// for each, side by side.
#include "kernel.cuh"
#include "kernels.h"

namespace namesake::attention::sm90 {

template <>
const void* kernel_of<NAMESAKE_HEAD_DIM, NAMESAKE_BF16>(bool causal) {
  constexpr DType kType = NAMESAKE_BF16 ? DType::bf16 : DType::fp16;
  return causal ? reinterpret_cast<const void*>(&forward<Shape<kType, NAMESAKE_HEAD_DIM, true>>)
                : reinterpret_cast<const void*>(&forward<Shape<kType, NAMESAKE_HEAD_DIM, false>>);
}

}  // namespace namesake::attention::sm90
