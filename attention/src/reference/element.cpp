#include "element.h"

#include <bit>
#include <cmath>
#include <limits>

namespace namesake::attention::reference {
namespace {

struct Format {
  int mantissa_bits, exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int exponent_mask() const { return (1 << exponent_bits) - 1; }
  uint16_t infinity() const { return static_cast<uint16_t>(exponent_mask() << mantissa_bits); }
};

Format format_of(DType dtype) {
  return dtype == DType::bf16 ? Format{7, 8} : Format{10, 5};
}

}  // namespace

double to_double(uint16_t bits, DType dtype) {
  const Format f = format_of(dtype);
  const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const int exponent = bits >> f.mantissa_bits & f.exponent_mask();
  double magnitude;
  if (exponent == f.exponent_mask()) {
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - f.bias() - f.mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa | 1 << f.mantissa_bits, exponent - f.bias() - f.mantissa_bits);
  }
  return bits >> 15 ? -magnitude : magnitude;
}

uint16_t from_double(double value, DType dtype) {
  const Format f = format_of(dtype);
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | f.infinity() | 1 << (f.mantissa_bits - 1);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | f.infinity();
  // In units of the last place that this magnitude has in the format; nearbyint rounds to nearest
  // even.
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias());
  const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  // Counting units from the binade's first number; a carry into the next binade counts itself into
  // the exponent field.
  const double first = std::ldexp(1.0, f.mantissa_bits);
  const int64_t code = static_cast<int64_t>(exponent + f.bias() - 1) * static_cast<int64_t>(first) +
                       static_cast<int64_t>(units);
  if (code >= f.infinity()) return sign | f.infinity();
  return static_cast<uint16_t>(sign | code);
}

}  // namespace namesake::attention::reference
