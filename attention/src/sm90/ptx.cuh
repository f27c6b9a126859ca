// One wrapper per PTX instruction that this kernel needs and that CUDA C++ has no name for.
//
// A wrapper is one instruction and nothing else, so that what the kernel says is what the assembler
// gets. Everything that orders memory carries a "memory" clobber; everything that the warpgroup
// must execute together is volatile. The accumulators of an asynchronous product are plain float
// arrays: `settle` below is how the compiler learns that their values exist only after a wait.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace namesake::attention::sm90::ptx {

#define NAMESAKE_DEVICE static __device__ __forceinline__

NAMESAKE_DEVICE uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarrier ----------------------------------------------------------------------------------

NAMESAKE_DEVICE void mbarrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Makes initialised barriers visible to the copy engine.
NAMESAKE_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

NAMESAKE_DEVICE void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

NAMESAKE_DEVICE void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// True when the phase of this parity has completed; first sleeps for up to 10 ms until it has,
// since a warp that polls takes issue slots from those that compute.
NAMESAKE_DEVICE bool mbarrier_try_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 10000000;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

NAMESAKE_DEVICE void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  while (!mbarrier_try_wait(barrier, parity)) {
  }
}

// ---- named barriers ----------------------------------------------------------------------------

NAMESAKE_DEVICE void barrier_sync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

NAMESAKE_DEVICE void barrier_arrive(uint32_t id, uint32_t threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- the copy engine ---------------------------------------------------------------------------

// The two L2 policies as createpolicy encodes them: rows that one tile reads leave first, rows that
// all tiles of a head read leave last.
inline constexpr uint64_t kEvictFirst = 0x12F0000000000000;
inline constexpr uint64_t kEvictLast = 0x14F0000000000000;

NAMESAKE_DEVICE void prefetch_tensor_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

NAMESAKE_DEVICE void tma_load(uint32_t destination, const CUtensorMap* map, uint32_t barrier,
                              int column, int row, int head, int batch, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(column), "r"(row), "r"(head), "r"(batch), "l"(policy)
      : "memory");
}

// The same only as far as the L2 cache.
NAMESAKE_DEVICE void tma_prefetch(const CUtensorMap* map, int column, int row, int head,
                                  int batch) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global [%0, {%1, %2, %3, %4}];" ::"l"(map),
               "r"(column), "r"(row), "r"(head), "r"(batch)
               : "memory");
}

// Bytes as they lie, without a map.
NAMESAKE_DEVICE void bulk_load(uint32_t destination, const void* source, uint32_t bytes,
                               uint32_t barrier, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

// What lies at an address, as far as the L2 cache.
NAMESAKE_DEVICE void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}

NAMESAKE_DEVICE void tma_store(const CUtensorMap* map, uint32_t source, int column, int row,
                               int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(
          map),
      "r"(source), "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

NAMESAKE_DEVICE void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until every committed store has read its shared memory.
NAMESAKE_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Orders this thread's ordinary shared-memory writes before what the copy engine and the tensor
// cores read.
NAMESAKE_DEVICE void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The same for global memory, on both sides of a flag: who wrote by itself, and who copies.
NAMESAKE_DEVICE void fence_async_proxy_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// ---- programmatic dependent launch -------------------------------------------------------------

NAMESAKE_DEVICE void wait_for_earlier_grids() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

NAMESAKE_DEVICE void let_later_grids_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// ---- memory shared by blocks --------------------------------------------------------------------

NAMESAKE_DEVICE uint64_t load_acquire(const uint64_t* address) {
  uint64_t value;
  asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

NAMESAKE_DEVICE void store_release(uint64_t* address, uint64_t value) {
  asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

NAMESAKE_DEVICE uint64_t compare_and_swap(uint64_t* address, uint64_t expected, uint64_t value) {
  uint64_t old;
  asm volatile("atom.acq_rel.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(old)
               : "l"(address), "l"(expected), "l"(value)
               : "memory");
  return old;
}

// Of 16 bytes: two words, `old` what they were.
NAMESAKE_DEVICE void compare_and_swap16(void* address, const uint64_t (&expected)[2], uint64_t low,
                                        uint64_t high, uint64_t (&old)[2]) {
  asm volatile(
      "{.reg .b128 expected, value, old; mov.b128 expected, {%3, %4}; mov.b128 value, {%5, %6};"
      " atom.acq_rel.gpu.global.cas.b128 old, [%2], expected, value; mov.b128 {%0, %1}, old;}"
      : "=l"(old[0]), "=l"(old[1])
      : "l"(address), "l"(expected[0]), "l"(expected[1]), "l"(low), "l"(high)
      : "memory");
}

// Nanoseconds; the same clock on all multiprocessors.
NAMESAKE_DEVICE uint64_t global_timer() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)::"memory");
  return now;
}

NAMESAKE_DEVICE uint32_t add_one_relaxed(uint32_t* address) {
  uint32_t old;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(old)
               : "l"(address)
               : "memory");
  return old;
}

NAMESAKE_DEVICE uint32_t add_one(uint32_t* address) {
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(old)
               : "l"(address)
               : "memory");
  return old;
}

// ---- registers, small arithmetic ---------------------------------------------------------------

template <int kRegisters>
NAMESAKE_DEVICE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
NAMESAKE_DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// 2^x; 2^-inf is +0.
NAMESAKE_DEVICE float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two floats as one register of 16-bit elements, `low` in the low half, rounded to nearest.
template <class Element>
NAMESAKE_DEVICE uint32_t pack(float low, float high) {
  uint32_t packed;
  if constexpr (std::is_same_v<Element, __half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
}

// Four floats as e4m3 or e5m2, the first in the lowest byte, held to the largest number.
template <bool kE5m2>
NAMESAKE_DEVICE uint32_t pack8(float a, float b, float c, float d) {
  uint32_t packed;
  if constexpr (kE5m2) {
    asm("{\n.reg .b16 low, high;\n"
        "cvt.rn.satfinite.e5m2x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e5m2x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n}\n"
        : "=r"(packed)
        : "f"(a), "f"(b), "f"(c), "f"(d));
  } else {
    asm("{\n.reg .b16 low, high;\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n}\n"
        : "=r"(packed)
        : "f"(a), "f"(b), "f"(c), "f"(d));
  }
  return packed;
}

// A store that never happens: x is never negative. The assembler cannot know, so whatever x depends
// on stays before the instructions that follow and touch memory or wait.
NAMESAKE_DEVICE void pin(float x, uint32_t address) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.lt.f32 p, %0, 0f00000000;\n@p st.shared.f32 [%1], %0;\n}\n" ::"f"(x),
      "r"(address)
      : "memory");
}

// The same for words that never are all ones.
NAMESAKE_DEVICE void pin(uint32_t x, uint32_t address) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.eq.u32 p, %0, 0xffffffff;\n@p st.shared.u32 [%1], %0;\n}\n" ::"r"(x),
      "r"(address)
      : "memory");
}

// x | y, where it is written and not before.
NAMESAKE_DEVICE uint32_t or_later(uint32_t x, uint32_t y) {
  uint32_t both;
  asm volatile("or.b32 %0, %1, %2;" : "=r"(both) : "r"(x), "r"(y) : "memory");
  return both;
}

// The float of these bits, where it is written.
NAMESAKE_DEVICE float as_float(uint32_t bits) {
  float x;
  asm volatile("mov.b32 %0, %1;" : "=f"(x) : "r"(bits) : "memory");
  return x;
}

// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
NAMESAKE_DEVICE void stmatrix(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// The reverse, each matrix transposed on the way.
NAMESAKE_DEVICE void ldmatrix_transposed(uint32_t address, uint32_t (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// An 8x8 matrix of 16-bit elements, a row of it in every four lanes, transposed.
NAMESAKE_DEVICE uint32_t movmatrix_transposed(uint32_t from) {
  uint32_t to;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(to) : "r"(from));
  return to;
}

NAMESAKE_DEVICE void load_shared16(uint32_t address, uint32_t (&to)[4]) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

NAMESAKE_DEVICE void store_shared8(uint32_t address, uint32_t a, uint32_t b) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b) : "memory");
}

NAMESAKE_DEVICE void store_shared16(uint32_t address, uint32_t a, uint32_t b, uint32_t c,
                                    uint32_t d) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}

NAMESAKE_DEVICE void store_shared_zero16(uint32_t address) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(0) : "memory");
}

// ---- wgmma -------------------------------------------------------------------------------------

NAMESAKE_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

NAMESAKE_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most kPending committed groups are still running.
template <int kPending>
NAMESAKE_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// No instruction: the values of an accumulator are those after this point, not those the compiler
// thinks the asynchronous product already wrote.
template <int kCount>
NAMESAKE_DEVICE void settle(float (&accumulator)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulator[i])::"memory");
}

// The register lists of wgmma, eight accumulators at a time.
#define NAMESAKE_R0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAMESAKE_R1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define NAMESAKE_R2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define NAMESAKE_R3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define NAMESAKE_R4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define NAMESAKE_R5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define NAMESAKE_R6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define NAMESAKE_R7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define NAMESAKE_R8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define NAMESAKE_R9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define NAMESAKE_R10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define NAMESAKE_R11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define NAMESAKE_R12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define NAMESAKE_R13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define NAMESAKE_R14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define NAMESAKE_R15 "%120, %121, %122, %123, %124, %125, %126, %127"
#define NAMESAKE_LIST32 NAMESAKE_R0 ", " NAMESAKE_R1 ", " NAMESAKE_R2 ", " NAMESAKE_R3
#define NAMESAKE_LIST40 NAMESAKE_LIST32 ", " NAMESAKE_R4
#define NAMESAKE_LIST48 NAMESAKE_LIST40 ", " NAMESAKE_R5
#define NAMESAKE_LIST56 NAMESAKE_LIST48 ", " NAMESAKE_R6
#define NAMESAKE_LIST64 NAMESAKE_LIST56 ", " NAMESAKE_R7
#define NAMESAKE_LIST72 NAMESAKE_LIST64 ", " NAMESAKE_R8
#define NAMESAKE_LIST80 NAMESAKE_LIST72 ", " NAMESAKE_R9
#define NAMESAKE_LIST88 NAMESAKE_LIST80 ", " NAMESAKE_R10
#define NAMESAKE_LIST96 NAMESAKE_LIST88 ", " NAMESAKE_R11
#define NAMESAKE_LIST112 NAMESAKE_LIST96 ", " NAMESAKE_R12 ", " NAMESAKE_R13
#define NAMESAKE_LIST36 NAMESAKE_LIST32 ", %32, %33, %34, %35"
#define NAMESAKE_LIST68 NAMESAKE_LIST64 ", %64, %65, %66, %67"
#define NAMESAKE_LIST128 \
  NAMESAKE_LIST96 ", " NAMESAKE_R12 ", " NAMESAKE_R13 ", " NAMESAKE_R14 ", " NAMESAKE_R15

#define NAMESAKE_D(i)                                                                             \
  "+f"(d[8 * i]), "+f"(d[8 * i + 1]), "+f"(d[8 * i + 2]), "+f"(d[8 * i + 3]), "+f"(d[8 * i + 4]), \
      "+f"(d[8 * i + 5]), "+f"(d[8 * i + 6]), "+f"(d[8 * i + 7])
#define NAMESAKE_D32 NAMESAKE_D(0), NAMESAKE_D(1), NAMESAKE_D(2), NAMESAKE_D(3)
#define NAMESAKE_D40 NAMESAKE_D32, NAMESAKE_D(4)
#define NAMESAKE_D48 NAMESAKE_D40, NAMESAKE_D(5)
#define NAMESAKE_D56 NAMESAKE_D48, NAMESAKE_D(6)
#define NAMESAKE_D64 NAMESAKE_D56, NAMESAKE_D(7)
#define NAMESAKE_D72 NAMESAKE_D64, NAMESAKE_D(8)
#define NAMESAKE_D80 NAMESAKE_D72, NAMESAKE_D(9)
#define NAMESAKE_D88 NAMESAKE_D80, NAMESAKE_D(10)
#define NAMESAKE_D96 NAMESAKE_D88, NAMESAKE_D(11)
#define NAMESAKE_D112 NAMESAKE_D96, NAMESAKE_D(12), NAMESAKE_D(13)
#define NAMESAKE_D36 NAMESAKE_D32, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define NAMESAKE_D68 NAMESAKE_D64, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define NAMESAKE_D128 NAMESAKE_D96, NAMESAKE_D(12), NAMESAKE_D(13), NAMESAKE_D(14), NAMESAKE_D(15)

// S = Q K^T, one step of 16 along head_dim: both operands in shared memory, both K-major.
// The last three arguments are the numbers of the operands that follow the accumulators.
#define NAMESAKE_WGMMA_SHARED(n, count, type, a, b, c)                              \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #c                              \
               ", 0;\n"                                                             \
               "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type      \
               " {" NAMESAKE_LIST##count "}, %" #a ", %" #b ", p, 1, 1, 0, 0;\n}\n" \
               : NAMESAKE_D##count                                                  \
               : "l"(q), "l"(k), "r"(accumulate))

// O += P V, one step of 16 keys: P in registers, V in shared memory, head_dim contiguous.
#define NAMESAKE_WGMMA_REGISTERS(n, count, type, a0, a1, a2, a3, b)                          \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type               \
               " {" NAMESAKE_LIST##count "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b \
                                         ", 1, 1, 1, 1;\n"                                   \
               : NAMESAKE_D##count                                                           \
               : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v))

#define NAMESAKE_DEFINE_SHARED(n, count, a, b, c)                                               \
  template <class Element>                                                                      \
  NAMESAKE_DEVICE void wgmma_shared(float(&d)[count], uint64_t q, uint64_t k, int accumulate) { \
    if constexpr (std::is_same_v<Element, __half>)                                              \
      NAMESAKE_WGMMA_SHARED(n, count, "f16", a, b, c);                                          \
    else                                                                                        \
      NAMESAKE_WGMMA_SHARED(n, count, "bf16", a, b, c);                                         \
  }

#define NAMESAKE_DEFINE_REGISTERS(n, count, a0, a1, a2, a3, b)                            \
  template <class Element>                                                                \
  NAMESAKE_DEVICE void wgmma_registers(float(&d)[count], const uint32_t* p, uint64_t v) { \
    if constexpr (std::is_same_v<Element, __half>)                                        \
      NAMESAKE_WGMMA_REGISTERS(n, count, "f16", a0, a1, a2, a3, b);                       \
    else                                                                                  \
      NAMESAKE_WGMMA_REGISTERS(n, count, "bf16", a0, a1, a2, a3, b);                      \
  }

// One shape for each number of keys that a block may have, and for each head_dim.
NAMESAKE_DEFINE_SHARED(64, 32, 32, 33, 34)
NAMESAKE_DEFINE_SHARED(80, 40, 40, 41, 42)
NAMESAKE_DEFINE_SHARED(96, 48, 48, 49, 50)
NAMESAKE_DEFINE_SHARED(112, 56, 56, 57, 58)
NAMESAKE_DEFINE_SHARED(128, 64, 64, 65, 66)
NAMESAKE_DEFINE_SHARED(144, 72, 72, 73, 74)
NAMESAKE_DEFINE_SHARED(160, 80, 80, 81, 82)
NAMESAKE_DEFINE_SHARED(176, 88, 88, 89, 90)
NAMESAKE_DEFINE_SHARED(192, 96, 96, 97, 98)

NAMESAKE_DEFINE_REGISTERS(64, 32, 32, 33, 34, 35, 36)
NAMESAKE_DEFINE_REGISTERS(128, 64, 64, 65, 66, 67, 68)
NAMESAKE_DEFINE_REGISTERS(256, 128, 128, 129, 130, 131, 132)

// The same in fp8, one step of 32: both operands K-major always.
#define NAMESAKE_WGMMA8_SHARED(n, count, type, a, b, c)                        \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #c                         \
               ", 0;\n"                                                        \
               "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32." type "." type \
               " {" NAMESAKE_LIST##count "}, %" #a ", %" #b ", p, 1, 1;\n}\n"  \
               : NAMESAKE_D##count                                             \
               : "l"(q), "l"(k), "r"(accumulate))

// P is e4m3 whatever V is.
#define NAMESAKE_WGMMA8_REGISTERS(n, count, type, a0, a1, a2, a3, b)                         \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3." type                   \
               " {" NAMESAKE_LIST##count "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b \
                                         ", 1, 1, 1;\n"                                      \
               : NAMESAKE_D##count                                                           \
               : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v))

#define NAMESAKE_DEFINE8_SHARED(n, count, a, b, c)                                               \
  template <bool kE5m2>                                                                          \
  NAMESAKE_DEVICE void wgmma8_shared(float(&d)[count], uint64_t q, uint64_t k, int accumulate) { \
    if constexpr (kE5m2)                                                                         \
      NAMESAKE_WGMMA8_SHARED(n, count, "e5m2", a, b, c);                                         \
    else                                                                                         \
      NAMESAKE_WGMMA8_SHARED(n, count, "e4m3", a, b, c);                                         \
  }

#define NAMESAKE_DEFINE8_REGISTERS(n, count, a0, a1, a2, a3, b)                            \
  template <bool kE5m2>                                                                    \
  NAMESAKE_DEVICE void wgmma8_registers(float(&d)[count], const uint32_t* p, uint64_t v) { \
    if constexpr (kE5m2)                                                                   \
      NAMESAKE_WGMMA8_REGISTERS(n, count, "e5m2", a0, a1, a2, a3, b);                      \
    else                                                                                   \
      NAMESAKE_WGMMA8_REGISTERS(n, count, "e4m3", a0, a1, a2, a3, b);                      \
  }

NAMESAKE_DEFINE8_SHARED(64, 32, 32, 33, 34)
NAMESAKE_DEFINE8_SHARED(96, 48, 48, 49, 50)
NAMESAKE_DEFINE8_SHARED(128, 64, 64, 65, 66)
NAMESAKE_DEFINE8_SHARED(160, 80, 80, 81, 82)
NAMESAKE_DEFINE8_SHARED(192, 96, 96, 97, 98)
NAMESAKE_DEFINE8_SHARED(224, 112, 112, 113, 114)

// head_dim, or half of it, and the sums.
NAMESAKE_DEFINE8_REGISTERS(72, 36, 36, 37, 38, 39, 40)
NAMESAKE_DEFINE8_REGISTERS(128, 64, 64, 65, 66, 67, 68)
NAMESAKE_DEFINE8_REGISTERS(136, 68, 68, 69, 70, 71, 72)

}  // namespace namesake::attention::sm90::ptx
