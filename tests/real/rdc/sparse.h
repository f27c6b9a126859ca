#pragma once

// One row of a sparse matrix times a vector; in a file of its own, so compiled and assembled by
// itself.
__device__ float row_times(const int* column, const float* value, int entries, const float* x);
