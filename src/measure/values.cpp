#include "measure/values.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace namesake::measure {
namespace {

template <class T>
uint64_t whole(double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min()))
    return static_cast<uint64_t>(std::numeric_limits<T>::min());
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max()))
    return static_cast<uint64_t>(std::numeric_limits<T>::max());
  return static_cast<uint64_t>(static_cast<T>(rounded));
}

uint64_t small_float(double value, const FloatShape& shape) {
  const uint64_t sign =
      std::signbit(value) ? uint64_t{1} << (shape.exponent_bits + shape.mantissa_bits) : 0;
  const uint64_t top = (uint64_t{1} << shape.exponent_bits) - 1;
  const uint64_t infinity = top << shape.mantissa_bits;
  const uint64_t nan = shape.has_infinity ? infinity | uint64_t{1} << (shape.mantissa_bits - 1)
                                          : infinity | ((uint64_t{1} << shape.mantissa_bits) - 1);
  const uint64_t beyond = shape.has_infinity ? infinity : nan;
  if (std::isnan(value)) return sign | nan;
  if (std::isinf(value)) return sign | beyond;
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  const int bias = (1 << (shape.exponent_bits - 1)) - 1;
  // In units of the last place of the value's own binade, or of the denormals'. A carry out of the
  // mantissa runs into the exponent, which is just what rounding up to the next binade means.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double units = std::nearbyint(std::ldexp(magnitude, shape.mantissa_bits - exponent));
  const auto bits = static_cast<uint64_t>(units) +
                    (static_cast<uint64_t>(exponent + bias - 1) << shape.mantissa_bits);
  return sign | (bits >= beyond ? beyond : bits);
}

}  // namespace

bool is_floating(gpu::Element type) {
  switch (type) {
    case gpu::Element::kF64:
    case gpu::Element::kF32:
    case gpu::Element::kF16:
    case gpu::Element::kBF16:
    case gpu::Element::kE4M3:
    case gpu::Element::kE5M2:
      return true;
    default:
      return false;
  }
}

FloatShape shape_of(gpu::Element type) {
  switch (type) {
    case gpu::Element::kF64:
      return {11, 52};
    case gpu::Element::kF32:
      return {8, 23};
    case gpu::Element::kF16:
      return {5, 10};
    case gpu::Element::kBF16:
      return {8, 7};
    case gpu::Element::kE4M3:
      return {4, 3, false};
    case gpu::Element::kE5M2:
      return {5, 2};
    default:
      return {};
  }
}

uint64_t bits_of(double value, gpu::Element type) {
  switch (type) {
    case gpu::Element::kF64:
      return std::bit_cast<uint64_t>(value);
    case gpu::Element::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case gpu::Element::kS64:
      return whole<int64_t>(value);
    case gpu::Element::kU64:
      return whole<uint64_t>(value);
    case gpu::Element::kS32:
      return whole<int32_t>(value);
    case gpu::Element::kU32:
      return whole<uint32_t>(value);
    case gpu::Element::kS16:
      return whole<int16_t>(value);
    case gpu::Element::kU16:
      return whole<uint16_t>(value);
    case gpu::Element::kS8:
      return whole<int8_t>(value);
    case gpu::Element::kU8:
      return whole<uint8_t>(value);
    default:
      return small_float(value, shape_of(type));
  }
}

}  // namespace namesake::measure
