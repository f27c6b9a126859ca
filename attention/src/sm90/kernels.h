// The compiled kernels: handles for cudaLaunchKernel.
#pragma once

namespace namesake::attention::sm90 {

template <int kHeadDim, bool kBf16>
const void* kernel_of(bool causal);

// Each defined by instance.cu.
template <>
const void* kernel_of<64, false>(bool causal);
template <>
const void* kernel_of<64, true>(bool causal);
template <>
const void* kernel_of<128, false>(bool causal);
template <>
const void* kernel_of<128, true>(bool causal);
template <>
const void* kernel_of<256, false>(bool causal);
template <>
const void* kernel_of<256, true>(bool causal);

}  // namespace namesake::attention::sm90
