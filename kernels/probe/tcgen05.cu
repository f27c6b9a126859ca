// Blackwell's tcgen05, accumulating in tensor memory, with address arithmetic around it.
extern "C" __global__ void probe_tcgen05(const float* scale, float* out, int n, int stride,
                                         unsigned long long a, unsigned long long b,
                                         unsigned tensor_memory) {
  int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n"
        "}" ::"r"(tensor_memory),
        "l"(a + 2 * i), "l"(b + 2 * i), "r"(0x8200010u), "r"(i));
    sum += scale[row * stride + i] * scale[i * stride + row];
  }
  float d0, d1;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];"
               : "=f"(d0), "=f"(d1)
               : "r"(tensor_memory));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  out[row * stride] = d0 * sum;
  out[row * stride + 1] = d1;
}
