#include "sparse.h"

__device__ float row_times(const int* column, const float* value, int entries, const float* x) {
  float sum = 0;
  for (int i = 0; i < entries; i++) sum += value[i] * x[column[i]];
  return sum;
}
