// The compiled kernels, one object file each (instance.cu).
#pragma once

namespace namesake::attention::sm80 {

// Defined for head_dim 64, 128, 256 and DType fp16, bf16.
template <int kHeadDim, int kDType>
const void* kernel_function();

}  // namespace namesake::attention::sm80
