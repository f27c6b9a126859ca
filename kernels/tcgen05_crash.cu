// Two loops of tcgen05.mma behind one branch: the assembler crashes, but only when treated.
//
// One thread of the block issues two products, one after the other, each a loop over k that
// advances two descriptors; all other threads branch around both. The assemblers of CUDA 12.8
// to 13.5 compile it under this name and die by a segmentation fault when the name (or, from 13.3
// on, the pragma) asks for the treatment. Up to 13.0 one such loop is enough.
//
// What it shows: why whoever steers treatments must fail open. It is for the assembler, not for a
// GPU: left and right are finished descriptors, and accumulators an allocated tensor memory
// address, of a larger kernel that is left out. Needs sm_100a.

#include <cstdint>

namespace {
__device__ void multiply(uint32_t accumulators, uint64_t left, uint64_t right, uint32_t shape,
                         int steps) {
  for (int step = 0; step < steps; step++, left += 2, right += 2)
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        "setp.ne.b32 add, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, add;\n"
        "}" ::"r"(accumulators),
        "l"(left), "l"(right), "r"(shape), "r"(step));
}
}  // namespace

extern "C" __global__ void tcgen05_two_loops(uint64_t left, uint64_t right, uint32_t accumulators,
                                             uint32_t shape, int steps) {
  if (threadIdx.x == 0) {
    multiply(accumulators, left, right, shape, steps);
    multiply(accumulators + 128, left, right, shape, steps);
  }
}
