// The compiled kernels: handles for cudaLaunchKernel.
#pragma once

#include "../problem.h"

namespace namesake::attention::sm90 {

// Each defined by instance.cu.
template <int kHeadDim, DType kType>
const void* kernel_of(bool causal);

#define NAMESAKE_DECLARE_KERNELS(type)                  \
  template <>                                           \
  const void* kernel_of<64, DType::type>(bool causal);  \
  template <>                                           \
  const void* kernel_of<128, DType::type>(bool causal); \
  template <>                                           \
  const void* kernel_of<256, DType::type>(bool causal)

NAMESAKE_DECLARE_KERNELS(fp16);
NAMESAKE_DECLARE_KERNELS(bf16);
NAMESAKE_DECLARE_KERNELS(e4m3);
NAMESAKE_DECLARE_KERNELS(e5m2);

// The same where V is turned ahead.
template <DType kType>
const void* ahead_kernel_of(bool causal);
template <>
const void* ahead_kernel_of<DType::e4m3>(bool causal);
template <>
const void* ahead_kernel_of<DType::e5m2>(bool causal);

}  // namespace namesake::attention::sm90
