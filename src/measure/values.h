// Numbers as elements of a type: the way into memory, where gpu/equality.h has the way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "gpu/equality.h"

namespace namesake::measure {

bool is_floating(gpu::Element type);

// The element nearest to the value, ties to even, as bits with the low bytes first. Beyond the
// type's range: an infinity, NaN where it has none (e4m3); the nearest end for whole numbers.
uint64_t bits_of(double value, gpu::Element type);

// What a floating type is made of.
struct FloatShape {
  int exponent_bits = 0, mantissa_bits = 0;
  bool has_infinity = true;
};
FloatShape shape_of(gpu::Element type);

}  // namespace namesake::measure
