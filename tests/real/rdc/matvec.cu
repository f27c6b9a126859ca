#include "sparse.h"

extern "C" __global__ void separate_matvec(const int* start, const int* column, const float* value,
                                           const float* x, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows)
    y[row] = row_times(column + start[row], value + start[row], start[row + 1] - start[row], x);
}
