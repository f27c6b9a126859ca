// Floating point of 16 and 8 bits on the CPU: exact to double, and rounded to nearest even from
// double, once. An 8-bit number is the low byte.
#pragma once

#include <cstdint>

#include "../problem.h"

namespace namesake::attention::reference {

double to_double(uint16_t bits, DType dtype);

// What is past the largest number becomes infinity, and NaN in e4m3, which has no infinity.
uint16_t from_double(double value, DType dtype);

// Becomes the largest number instead, as outputs in fp8 do; infinity too.
uint16_t from_double_held(double value, DType dtype);

double largest(DType dtype);

// An element in memory.
double load(const void* tensor, int64_t element, DType dtype);
void store(void* tensor, int64_t element, DType dtype, double value);  // fp8 is held

}  // namespace namesake::attention::reference
