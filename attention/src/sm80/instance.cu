// One of the portable kernel's instances: NAMESAKE_HEAD_DIM and NAMESAKE_BF16 say which.
#include "kernel.cuh"
#include "kernels.h"

namespace namesake::attention::sm80 {

#if NAMESAKE_BF16
using Element = __nv_bfloat16;
constexpr DType kDType = DType::bf16;
#else
using Element = __half;
constexpr DType kDType = DType::fp16;
#endif

template <>
const void* kernel_function<NAMESAKE_HEAD_DIM, static_cast<int>(kDType)>() {
  return reinterpret_cast<const void*>(&forward<Element, NAMESAKE_HEAD_DIM>);
}

}  // namespace namesake::attention::sm80
