// Small kernels, each with one shape of code that the readers of cubins and disassemblies must know.
// make_fixtures.sh makes shapes.ptx of them, and the fixtures of that.

extern "C" __global__ void straight(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Three loops, one inside the other; only the innermost does floating-point work.
extern "C" __global__ void nested(int n, const float* a, const float* b, float* c) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
#pragma unroll 1
    for (int j = 0; j < n; ++j) {
      float sum = 0;
#pragma unroll 1
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
  }
}

// A dense switch in a loop: an indirect branch through a table in constant memory.
extern "C" __global__ void jump_table(int n, const int* codes, float* out) {
  float s = 0;
#pragma unroll 1
  for (int j = 0; j < n; ++j) {
    switch (codes[j]) {
      case 0: s += out[j]; break;
      case 1: s *= out[j] + 2; break;
      case 2: s -= out[j] * 5; break;
      case 3: s = fmaxf(s, out[j]); break;
      case 4: out[j] = s; break;
      case 5: s = fabsf(s) - 1; break;
      case 6: s = out[j + 1] * out[j]; break;
    }
  }
  out[threadIdx.x] = s;
}

// More live values than registers.
extern "C" __global__ void __launch_bounds__(1024, 2) spilled(const float* in, float* out, int n) {
  float v[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) v[i] = in[i * 1024 + threadIdx.x];
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
#pragma unroll
    for (int i = 0; i < 40; ++i) v[i] = v[i] * v[(i + 7) % 40] + v[(i * 3 + 1) % 40];
  }
#pragma unroll
  for (int i = 0; i < 40; ++i) out[i * 1024 + threadIdx.x] = v[i];
}

__device__ __noinline__ float callee(float x, int n) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) x = x * x + i;
  return x;
}
extern "C" __global__ void calls(float* q, int n) { q[threadIdx.x] = callee(q[threadIdx.x], n); }

// Division in double precision: a subroutine of the assembler's own, and shared memory.
__device__ double weights[2] = {0.25, 0.75};
extern "C" __global__ void divides(double* d, double e, int which) {
  __shared__ double tile[64];
  tile[threadIdx.x] = d[threadIdx.x] / e * weights[which];
  __syncthreads();
  d[threadIdx.x] += tile[63 - threadIdx.x];
}
