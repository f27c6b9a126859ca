#include "element.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace namesake::attention::reference {
namespace {

struct Format {
  int mantissa_bits, exponent_bits;
  bool has_infinity = true;  // without it, NaN is all ones and the rest of that binade are numbers
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint16_t sign_bit() const { return static_cast<uint16_t>(1 << (mantissa_bits + exponent_bits)); }
  uint16_t exponent_mask() const {
    return static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  }
  uint16_t quiet_nan() const {
    return has_infinity ? static_cast<uint16_t>(exponent_mask() | 1 << (mantissa_bits - 1))
                        : static_cast<uint16_t>(sign_bit() - 1);
  }
  // The first code past the numbers.
  uint16_t past_numbers() const { return has_infinity ? exponent_mask() : quiet_nan(); }
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return {7, 8};
    case DType::e4m3:
      return {3, 4, false};
    case DType::e5m2:
      return {2, 5};
    default:
      return {10, 5};
  }
}

}  // namespace

double to_double(uint16_t bits, DType dtype) {
  const Format f = format_of(dtype);
  const uint16_t code = bits & (f.sign_bit() - 1);
  const int mantissa = code & ((1 << f.mantissa_bits) - 1), exponent = code >> f.mantissa_bits;
  double magnitude;
  if (code >= f.past_numbers()) {
    magnitude = f.has_infinity && mantissa == 0 ? std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - f.bias() - f.mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa | 1 << f.mantissa_bits, exponent - f.bias() - f.mantissa_bits);
  }
  return bits & f.sign_bit() ? -magnitude : magnitude;
}

uint16_t from_double(double value, DType dtype) {
  const Format f = format_of(dtype);
  const uint16_t sign = std::signbit(value) ? f.sign_bit() : 0;
  if (std::isnan(value)) return sign | f.quiet_nan();
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | f.past_numbers();
  // In units of the last place that this magnitude has in the format; nearbyint rounds to nearest
  // even.
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias());
  const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  // Counting units from the binade's first number; a carry into the next binade counts itself into
  // the exponent field.
  const double first = std::ldexp(1.0, f.mantissa_bits);
  const int64_t code = static_cast<int64_t>(exponent + f.bias() - 1) * static_cast<int64_t>(first) +
                       static_cast<int64_t>(units);
  if (code >= f.past_numbers()) return sign | f.past_numbers();
  return static_cast<uint16_t>(sign | code);
}

double largest(DType dtype) {
  return to_double(format_of(dtype).past_numbers() - 1, dtype);
}

uint16_t from_double_held(double value, DType dtype) {
  const double most = largest(dtype);
  return from_double(value > most ? most : value < -most ? -most : value, dtype);
}

double load(const void* tensor, int64_t element, DType dtype) {
  return to_double(is_fp8(dtype) ? static_cast<const uint8_t*>(tensor)[element]
                                 : static_cast<const uint16_t*>(tensor)[element],
                   dtype);
}

void store(void* tensor, int64_t element, DType dtype, double value) {
  if (is_fp8(dtype)) {
    static_cast<uint8_t*>(tensor)[element] = static_cast<uint8_t>(from_double_held(value, dtype));
  } else {
    static_cast<uint16_t*>(tensor)[element] = from_double(value, dtype);
  }
}

}  // namespace namesake::attention::reference
