// Tensor cores by mma.sync, operands straight from global memory.
extern "C" __global__ void probe_mma(const unsigned* a, const unsigned* b, float* out, int n,
                                     int stride) {
  int row = blockIdx.x * 16 + threadIdx.x % 32 / 4;
  if (row >= n) return;
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    unsigned a0 = a[row * stride + i], a1 = a[(row + 8) * stride + i];
    unsigned a2 = a[row * stride + i + 4], a3 = a[(row + 8) * stride + i + 4];
    unsigned b0 = b[i * stride + row], b1 = b[(i + 4) * stride + row];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  out[row * stride] = d0;
  out[row * stride + 1] = d1;
  out[(row + 8) * stride] = d2;
  out[(row + 8) * stride + 1] = d3;
}
