// y = A * x for a sparse matrix of compressed rows: one thread a row.
//
// What it shows: a short loop of irregular loads, whose unrolled form the treatment arranges in
// another way.
//
// Row r holds entries start[r] up to start[r + 1], each with a column and a value.

extern "C" __global__ void sparse_matvec(const int* start, const int* column, const float* value,
                                         const float* x, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = start[row]; i < start[row + 1]; i++) sum += value[i] * x[column[i]];
  y[row] = sum;
}
