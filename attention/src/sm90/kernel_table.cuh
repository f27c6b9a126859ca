// Instantiates the kernel for both element types and both masks of one head_dim.
#pragma once

#include "kernel.cuh"
#include "kernels.h"

namespace namesake::attention::sm90 {

template <int kHeadDim>
const void* find_kernel(const TileConfig& tile) {
  auto if_tile = [&]<DType kType, bool kCausal>() -> const void* {
    using S = Shape<kType, kHeadDim, kCausal>;
    return tile == S::kTile ? reinterpret_cast<const void*>(&forward<S>) : nullptr;
  };
  if (auto f = if_tile.template operator()<DType::fp16, false>()) return f;
  if (auto f = if_tile.template operator()<DType::fp16, true>()) return f;
  if (auto f = if_tile.template operator()<DType::bf16, false>()) return f;
  return if_tile.template operator()<DType::bf16, true>();
}

}  // namespace namesake::attention::sm90
