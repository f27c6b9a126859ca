// 16-bit floating point on the CPU: exact to double, and rounded to nearest even from double, once.
#pragma once

#include <cstdint>

#include "../problem.h"

namespace namesake::attention::reference {

double to_double(uint16_t bits, DType dtype);
uint16_t from_double(double value, DType dtype);

}  // namespace namesake::attention::reference
