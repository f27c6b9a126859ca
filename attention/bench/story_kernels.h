// The kernels compiled once more with a name that the assembler reacts to: the build renames their
// namespace (-Dsm90=sm90_cutlass), so that the symbol holds the word and no source line is touched.
// The library's own are the untreated ones.
#pragma once

#include "namesake/attention.h"

namespace namesake::attention::sm90_cutlass {

template <int kHeadDim, DType kType>
const void* kernel_of(bool causal);

template <>
const void* kernel_of<64, DType::fp16>(bool causal);
template <>
const void* kernel_of<64, DType::e4m3>(bool causal);
template <>
const void* kernel_of<128, DType::fp16>(bool causal);
template <>
const void* kernel_of<128, DType::e4m3>(bool causal);

}  // namespace namesake::attention::sm90_cutlass

namespace namesake::attention::sm80_cutlass {

template <int kHeadDim, int kDType>
const void* kernel_function();

template <>
const void* kernel_function<64, static_cast<int>(DType::fp16)>();
template <>
const void* kernel_function<128, static_cast<int>(DType::fp16)>();

}  // namespace namesake::attention::sm80_cutlass
