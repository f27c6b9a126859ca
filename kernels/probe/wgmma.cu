// Hopper's wgmma, operands by descriptors, with address arithmetic around it that a treatment turns.
extern "C" __global__ void probe_wgmma(const float* scale, float* out, int n, int stride,
                                       unsigned long long a, unsigned long long b) {
  int row = blockIdx.x * 64 + threadIdx.x / 4;
  if (row >= n) return;
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, "
        "0;"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "l"(a + 2 * i), "l"(b + 2 * i));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3));
    d0 *= scale[row * stride + i];
    d1 *= scale[(row + 8) * stride + i];
  }
  out[row * stride] = d0;
  out[row * stride + 1] = d1;
  out[(row + 8) * stride] = d2;
  out[(row + 8) * stride + 1] = d3;
}
