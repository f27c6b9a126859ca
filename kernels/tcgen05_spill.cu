// Many values live across three loops of tcgen05.mma: no spill, unless treated.
//
// Each thread carries 84 values through three loops. In a loop's turn one thread issues 32
// products, whose descriptors are one base plus constants; then everybody reads 32 accumulators and
// blends them into its values. Treated, the assembler keeps the descriptors, which are the same in
// every turn, in registers of their own; there is no room for them beside the values, and hundreds
// of bytes go to the stack and back in the hot loop. NVIDIA/cutlass #3389 reports such a kernel
// from practice.
//
// What it shows: the treatment may cost, and the cost can be seen without a GPU. It is for the
// assembler: left and right are finished descriptors, and accumulators an allocated tensor memory
// address, of a larger kernel that is left out. Needs sm_100a.

#include <cstdint>

namespace {
constexpr int kThreads = 256;
constexpr int kValues = 84;    // per thread; with them, nearly all of its 128 registers are taken
constexpr int kProducts = 32;  // per turn
constexpr int kLoops = 3;
constexpr uint64_t kDescriptor = 0x4000404000010000;  // all but the address: swizzled by 128 bytes
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    tcgen05_live_values(const float* in, float* out, uint32_t left, uint32_t right,
                        uint32_t accumulators, uint32_t shape, int turns) {
  float value[kValues];
#pragma unroll
  for (int i = 0; i < kValues; i++) value[i] = in[i * kThreads + threadIdx.x];

#pragma unroll
  for (int loop = 0; loop < kLoops; loop++)
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {
      if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < kProducts; i++)
          asm volatile(
              "{\n"
              ".reg .pred add;\n"
              "setp.ne.b32 add, %4, 0;\n"
              "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, add;\n"
              "}" ::"r"(accumulators),
              "l"(left + (kDescriptor + 2 * i)), "l"(right + (kDescriptor + 2 * i)), "r"(shape),
              "r"(turn));
      }
      float part[32];
#define EIGHT(i)                                                                             \
  "=f"(part[i]), "=f"(part[i + 1]), "=f"(part[i + 2]), "=f"(part[i + 3]), "=f"(part[i + 4]), \
      "=f"(part[i + 5]), "=f"(part[i + 6]), "=f"(part[i + 7])
      asm volatile(
          "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
          "%11, %12, "
          "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
          "%30, %31}, "
          "[%32];\n"
          "tcgen05.wait::ld.sync.aligned;"
          : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24)
          : "r"(accumulators));
#pragma unroll
      for (int i = 0; i < kValues; i++) value[i] = value[i] * part[i % 32] + part[(i + 1) % 32];
    }

#pragma unroll
  for (int i = 0; i < kValues; i++) out[i * kThreads + threadIdx.x] = value[i];
}
