// Double precision: the same dot product.
extern "C" __global__ void probe_fp64(const double* a, const double* b, double* out, int n,
                                      int stride) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  double sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += a[row * stride + i] * b[i * stride + row];
  out[row * stride + n] = sum;
}
