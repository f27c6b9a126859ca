// The Hopper forward kernel in fp8.
//
// The same plan as kernel.cuh, with what eight bits change:
//
// V must lie the other way round, keys contiguous, which no load can do: producer warps turn each
// block for the tile that is being computed (turn.cuh), or once for all tiles, in the workspace
// (ahead.h), with the same bits in the end. The order of keys that comes out of it is the one in
// which a thread already holds its scores, so probabilities are packed without an exchange.
//
// P is e4m3, whatever V is: the narrower type has the bit that matters for numbers below a row's
// maximum. It is scaled to use the whole range: the maximum becomes 2^8, a number that is exact, of
// at most 448. The other end is nearer than one would like: what is 2^-18 of the maximum rounds to
// zero, and in a long row a hundred thousand such weights are as much as the largest one. So every
// second weight is moved, by up to half of the smallest number, before it is rounded: of small
// weights about as many then round up as makes up for those that vanish. Weights of ordinary size
// do not notice.
//
// The sums that normalise the output are those of the rounded P: V is followed by rows of ones, and
// the tensor cores add P up with the product that they compute anyway. A row's weights then sum to
// one exactly, and the threads are rid of an addition for each score.
//
// The tensor cores add in 14 bits or so: what a long row has gathered outgrows what is added to it.
// After `promote_blocks` blocks the output is added to sums in fp32, of which the upper sixteen
// bits go to shared memory; what is left of them, a part in 2^6 at most, stays in the accumulators
// and is in the next sum, so nothing is lost. Whole sums would take twice the room and time, and
// registers for a second set of accumulators a third of the keys of a block. Each thread has its
// own, of which it knows the maxima that they are scaled by. The row sums are promoted after every
// block, in registers: they grow by what is never negative.
//
// The same room serves the output at the end, which the copy engine stores while the next tile is
// computed. Only at head_dim 256 with V turned here is there none: the sums are in the workspace.
//
// What was measured and left: a polynomial on the multiply-add pipe for some of the exponentials
// (each costs seven more instructions, and instructions are what is short), a block of V handed
// over in parts, larger blocks (results/attention-tuning-fp8.json).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <type_traits>

#include "ahead.cuh"
#include "consumer.cuh"
#include "producer.cuh"
#include "turn.cuh"

namespace namesake::attention::sm90 {
namespace fp8 {

inline constexpr float kOffset = 8.0f;  // log2 of what a row's maximum becomes

// Added to every second probability, see above: from minus a quarter to a half of the smallest
// number that P can hold, in eight steps.
__device__ constexpr float lift_of(int i) {
  constexpr float kSmallest = 0x1p-9f;
  return kSmallest * (-0.25f + 0.75f * (static_cast<float>(i * 5 % 8) + 0.5f) / 8);
}

// Floats of a thread's output: its half of two rows of head_dim, and of the sums' eight columns.
template <TileConfig T>
inline constexpr int kOutput = (T.head_dim + kOnesRows) / 2;

// Turns a block's scores into probabilities in place, moves the running maximum of both rows of
// this thread, and says by what the output so far must be multiplied.
template <TileConfig T, int kCount>
__device__ __forceinline__ void softmax(float (&scores)[kCount], float (&top)[2], float (&alpha)[2],
                                        float scale_log2) {
  float shift[2], most[2];
  highest_of_rows(scores, most);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const float highest = most[row] * scale_log2;
    const float next = fmaxf(highest, top[row]);
    const float finite = next == -kInfinity ? 0.0f : next;  // a row that has seen no key yet
    alpha[row] = ptx::exp2(top[row] - finite);
    top[row] = next;
    shift[row] = kOffset - finite;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    scores[i] = ptx::exp2(fmaf(scores[i], scale_log2, shift[i / 2 % 2]));
    if (i % 2 == 1) scores[i] += lift_of(i / 4);
  }
}

// Rows by the threads that hold them. Where nothing else stores them, in sixteen bits, a thread and
// its neighbour exchange halves, so that each stores sixteen bytes.
template <TileConfig T, class Element>
__device__ __forceinline__ void store_rows(const Params& p, const Tile& tile, int row0,
                                           const float (&output)[kOutput<T>]) {
  const int thread = threadIdx.x % 128;
  const bool odd = thread % 2 != 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = row0 + fragment_row(thread, 2 * half);
    const bool exists = row < tile.length_q;
    char* to = static_cast<char*>(p.problem.o.data) +
               sizeof(Element) *
                   offset_of(p.problem.o, tile.batch, int64_t{tile.first_q} + row, tile.head);
    auto four = [&](int i) {
      const int at = 8 * i + 2 * half;
      return make_float4(output[at], output[at + 4], output[at + 1], output[at + 5]);
    };
    auto packed = [&](int i) {
      const float4 x = four(i);
      return make_uint2(ptx::pack<Element>(x.x, x.y), ptx::pack<Element>(x.z, x.w));
    };
    constexpr int kSixteenths = T.head_dim / 16;
    if constexpr (sizeof(Element) == 2 && !T.store_by_copy) {
#pragma unroll
      for (int i = 0; i < kSixteenths; i += 2) {
        const uint2 first = packed(i), second = packed(i + 1);
        uint2 other = odd ? first : second;
        other.x = __shfl_xor_sync(~0u, other.x, 1), other.y = __shfl_xor_sync(~0u, other.y, 1);
        const int column = turned_fragment_column(thread & ~1, odd ? i + 1 : i);
        if (exists && column < p.problem.head_dim) {
          *reinterpret_cast<uint4*>(to + 2 * column) =
              odd ? make_uint4(other.x, other.y, second.x, second.y)
                  : make_uint4(first.x, first.y, other.x, other.y);
        }
      }
    } else {
      if (!exists) continue;
#pragma unroll
      for (int i = 0; i < kSixteenths; ++i) {
        const int column = turned_fragment_column(thread, i);
        if (column >= p.problem.head_dim) continue;
        if constexpr (sizeof(Element) == 1) {
          constexpr bool kE5m2 = std::is_same_v<Element, __nv_fp8_e5m2>;
          const float4 x = four(i);
          *reinterpret_cast<uint32_t*>(to + column) = ptx::pack8<kE5m2>(x.x, x.y, x.z, x.w);
        } else {
          *reinterpret_cast<uint2*>(to + 2 * column) = packed(i);
        }
      }
    }
  }
}

template <TileConfig T>
__device__ __forceinline__ void store(const Params& p, const Tile& tile, int row0,
                                      const float (&output)[kOutput<T>]) {
  switch (p.problem.o_dtype) {
    case DType::fp16:
      return store_rows<T, __half>(p, tile, row0, output);
    case DType::bf16:
      return store_rows<T, __nv_bfloat16>(p, tile, row0, output);
    case DType::e4m3:
      return store_rows<T, __nv_fp8_e4m3>(p, tile, row0, output);
    case DType::e5m2:
      return store_rows<T, __nv_fp8_e5m2>(p, tile, row0, output);
  }
}

// The same through shared memory: sixteen rows, each of them the caller's to write, which the copy
// engine takes from `area`. So that half a warp's stores meet no bank twice, lanes of odd rows
// write the two halves of 64 columns in the other order.
template <TileConfig T, class Element>
__device__ __forceinline__ void copy_rows(const Params& p, const Tile& tile, int row0,
                                          uint32_t area, const float (&output)[kOutput<T>]) {
  constexpr int kBlocks = T.head_dim / kBlockColumns, kBlockBytes = kWarpRows * kRowBytes;
  const int lane = threadIdx.x % 32;
  const bool odd = lane / 4 % 2 != 0;
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = fragment_row(lane, 2 * half);
      auto packed = [&](int sixteenth, int word) {
        const int at = c * (kBlockColumns / 2) + sixteenth * 8 + 2 * half + word;
        return ptx::pack<Element>(output[at], output[at + 4]);
      };
      auto write = [&](int sixteenth, uint32_t first, uint32_t second) {
        const int column = turned_fragment_column(lane, sixteenth);
        ptx::store_shared8(area + c * kBlockBytes + element_offset(kWarpRows, row, column), first,
                           second);
      };
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint32_t low[2] = {packed(i, 0), packed(i, 1)};
        const uint32_t high[2] = {packed(i + 2, 0), packed(i + 2, 1)};
        write(odd ? i + 2 : i, odd ? high[0] : low[0], odd ? high[1] : low[1]);
        write(odd ? i : i + 2, odd ? low[0] : high[0], odd ? low[1] : high[1]);
      }
    }
  }
  ptx::fence_async_proxy();
  __syncwarp();
  if (lane == 0) {
    const int batch = p.problem.cu_seqlens_q ? 0 : tile.batch;
#pragma unroll
    for (int c = 0; c < kBlocks; ++c) {
      ptx::tma_store(&p.o, area + c * kBlockBytes, c * kBlockColumns, tile.first_q + row0,
                     tile.head, batch);
    }
    ptx::bulk_commit();
  }
}

// The same in fp32, where the tile saw a part of the keys.
template <TileConfig T>
__device__ __forceinline__ void store_partial(const Params& p, const Tile& tile, int row0,
                                              const float (&output)[kOutput<T>]) {
  const int thread = threadIdx.x % 128;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = row0 + fragment_row(thread, 2 * half);
    if (row >= tile.length_q) continue;
    float* to = p.partials.o + partial_row(p.problem, tile.part, tile.batch, tile.head,
                                           int64_t{tile.first_q} + row) *
                                   p.problem.head_dim;
#pragma unroll
    for (int i = 0; i < T.head_dim / 2; i += 8) {
      const int column = turned_fragment_column(thread, i / 8), at = i + 2 * half;
      if (column < p.problem.head_dim)
        *reinterpret_cast<float4*>(to + column) =
            make_float4(output[at], output[at + 4], output[at + 1], output[at + 5]);
    }
  }
}

// Where V is turned ahead: when the launch began, once the warp that asks has been told.
template <TileConfig T>
__device__ __forceinline__ uint64_t when_began(Control<T>& control) {
  ptx::mbarrier_wait(ptx::shared_address(&control.began_full), 0);
  return control.began;
}

// All consumers together, before their first tile: this block's part of the first blocks of V.
template <TileConfig T>
__device__ __forceinline__ void turn_first(const Params& p, Control<T>& control) {
  static_assert(4 * T.groups == ahead::kSixteens, "a warp for each sixteen keys");
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0) - 4, step = gridDim.x;
  for (int index = blockIdx.x; index < p.turned.first; index += 2 * step) {
    ahead::turn_two(p.problem, p.turned, index, step, warp);
    ptx::fence_async_proxy_global();
    ptx::barrier_sync(kConsumersBarrier, 128 * T.groups);
    if (threadIdx.x == 128) {
      const uint64_t began = when_began(control);
      ahead::raise_flag(p.turned, index, began);
      if (index + step < p.turned.first) ahead::raise_flag(p.turned, index + step, began);
    }
    __syncwarp();
  }
}

// The two idle warps.
template <TileConfig T>
__device__ __forceinline__ void turn_the_rest(const Params& p, Control<T>& control, int warp) {
  if (warp == 0 && threadIdx.x % 32 == 0) {
    control.began = ahead::enter(p.turned);
    ptx::mbarrier_arrive(ptx::shared_address(&control.began_full));
  }
  ahead::turn_the_rest(p.problem, p.turned, when_began(control), 2);
}

// After each block of K: that block of V, as it comes.
template <TileConfig T>
__device__ __forceinline__ void load_raw_v(const Params& p, Control<T>& control, uint32_t shared,
                                           Ring<T.raw_stages>& raw, const Tile& tile, int block) {
  const int head = tile.head / p.heads_per_kv * p.v_steps.head,
            batch = tile.batch * p.v_steps.batch;
  const int key = tile.first_kv + block * T.keys;
  if (!p.problem.v_transposed) {
    load<T, T.keys>(p.v, control.raw_full, control.raw_empty, raw, shared + T.raw_offset(), key,
                    head, batch, ptx::kEvictLast);
    return;
  }
  constexpr int kBox = transposed_box(T.keys);
  const uint32_t barrier = ptx::shared_address(&control.raw_full[raw.slot]);
  ptx::mbarrier_wait(ptx::shared_address(&control.raw_empty[raw.slot]), raw.phase ^ 1);
  ptx::mbarrier_arrive_expect(barrier, T.kv_stage_bytes());
#pragma unroll
  for (int c = 0; c < T.keys / kBox; ++c) {
    ptx::tma_load(shared + T.raw_offset() + raw.slot * T.kv_stage_bytes() + c * kBox * T.head_dim,
                  &p.v, barrier, key + c * kBox, 0, head, batch, ptx::kEvictLast);
  }
  raw.advance();
}

// After each block of K, where V is turned ahead: block `index` of the workspace, as it is to lie.
// Lengths that are none lead to some block, never to a wait that has no end.
template <TileConfig T>
__device__ __forceinline__ void load_turned_v(const Params& p, Control<T>& control, uint32_t shared,
                                              Ring<T.v_stages>& v, int index, uint64_t began) {
  constexpr int kBytes = turned_bytes(T.head_dim, T.keys);
  const uint32_t barrier = ptx::shared_address(&control.v_full[v.slot]);
  index = max_of(min_of(index, p.turned.all - 1), 0);
  while (!ahead::is_raised(p.turned, index, began)) {
  }
  ptx::fence_async_proxy_global();
  ptx::mbarrier_wait(ptx::shared_address(&control.v_empty[v.slot]), v.phase ^ 1);
  ptx::mbarrier_arrive_expect(barrier, kBytes);
  ptx::bulk_load(shared + T.v_offset() + v.slot * T.v_stage_bytes(),
                 p.turned.data + int64_t{index} * kBytes, kBytes, barrier, ptx::kEvictLast);
  v.advance();
}

// What one thread loads of each tile, and how far it is in the rings.
template <TileConfig T>
struct Loader {
  Ring<T.q_units> q;
  Ring<T.stages> k;
  Ring<max_of(T.raw_stages, 1)> raw;
  Ring<T.v_stages> v;

  __device__ __forceinline__ void load(const Params& p, Control<T>& control, uint32_t shared,
                                       const Tile& tile) {
    if (threadIdx.x % 32 != 0) return;
    if constexpr (T.q_units == T.groups) {
      // Q's buffers are free only when the tile before is done; Q itself may be near by then.
      for (int i = 0; i < T.groups * T.blocks() && tile.blocks > 0; ++i) {
        ptx::tma_prefetch(&p.q, i % T.blocks() * T.block_columns(),
                          tile.first_q + tile.row0 + i / T.blocks() * kGroupRows,
                          tile.head * p.q_steps.head, tile.batch * p.q_steps.batch);
      }
    }
    TurnedBlocks turned = {};
    uint64_t began = 0;
    if constexpr (T.ahead) {
      turned = turned_blocks(p.problem, p.turned, tile.batch, tile.head / p.heads_per_kv, T.keys);
      began = when_began(control);
    }
    load_tile<T>(p, control, shared, q, k, tile, [&](const Tile& tile, int block) {
      if constexpr (T.ahead) {
        load_turned_v<T>(p, control, shared, v, turned.first - block * turned.step, began);
      } else {
        load_raw_v<T>(p, control, shared, raw, tile, block);
      }
    });
  }
};

// Two warps, or where three turn V the first alone: a tile is published, then loaded.
template <TileConfig T>
__device__ __forceinline__ void schedule_and_load(const Params& p, Control<T>& control,
                                                  uint32_t shared, int warp) {
  Loader<T> loader;
  if constexpr (T.loads_apart()) {
    if (warp == 0) schedule<T>(p, control, [](const Tile&) {});
    if (warp == 1) {
      for_each_tile(control, p.order == Order::counted,
                    [&](const Tile& tile) { loader.load(p, control, shared, tile); });
    }
  } else {
    if (warp == 0) {
      schedule<T>(p, control, [&](const Tile& tile) {
        loader.load(p, control, shared, tile);
        __syncwarp();
      });
    }
  }
}

template <TileConfig T>
__device__ __forceinline__ void consume(const Params& p, Control<T>& control, uint32_t shared,
                                        uint8_t* area, int group) {
  constexpr bool kE5m2 = T.dtype == DType::e5m2;
  constexpr int kScores = T.keys / 2;
  const int thread = threadIdx.x % 128, lane = threadIdx.x % 32;

  // At head_dim 256 two products: no product has more than 256 columns, and the sums need eight.
  constexpr bool kTwo = T.head_dim == 256;
  constexpr int kHigh = kTwo ? 64 : 0;
  float scores[kScores], output[kOutput<T>];
  uint32_t probabilities[T.keys / 8], packed[T.keys / 8];
  float top[2], sum[2], alpha[2] = {1.0f, 1.0f};
  Ring<T.q_units> q;
  q.slot = group;
  Ring<T.stages> k;
  Ring<T.v_stages> v;

  auto wait_full = [&](uint64_t* full, const auto& ring) {
    ptx::mbarrier_wait(ptx::shared_address(&full[ring.slot]), ring.phase);
  };
  auto release = [&](uint64_t* empty, auto& ring) {
    if (lane == 0) ptx::mbarrier_arrive(ptx::shared_address(&empty[ring.slot]));
    ring.advance();
  };
  auto release_q = [&] {
    if (lane == 0) ptx::mbarrier_arrive(ptx::shared_address(&control.q_empty[q.slot]));
  };
  // Starts S = Q K^T.
  auto start_scores = [&] {
    const uint32_t a = descriptor_low(shared + T.q_offset() + q.slot * T.q_unit_bytes());
    const uint32_t b = descriptor_low(shared + T.k_offset() + k.slot * T.kv_stage_bytes());
#pragma unroll
    for (int step = 0; step < T.head_dim / 32; ++step) {
      ptx::wgmma8_shared<kE5m2>(
          scores, descriptor8(a + k_major_step8(kGroupRows, T.row_bytes(), step), T.row_bytes()),
          descriptor8(b + k_major_step8(T.keys, T.row_bytes(), step), T.row_bytes()), step > 0);
    }
    ptx::wgmma_commit();
  };
  // Starts O += P V.
  auto start_output = [&] {
    const uint64_t b =
        turned_descriptor(shared + T.v_offset() + v.slot * T.v_stage_bytes(), T.keys);
#pragma unroll
    for (int step = 0; step < T.keys / 32; ++step) {
      const uint64_t v_step = b + turned_step(step);
      const uint32_t* a = &probabilities[4 * step];
      if constexpr (kTwo)
        ptx::wgmma8_registers<kE5m2>(reinterpret_cast<float(&)[64]>(output), a, v_step);
      ptx::wgmma8_registers<kE5m2>(reinterpret_cast<float(&)[kOutput<T> - kHigh]>(output[kHigh]), a,
                                   v_step + turned_rows(T.keys, 2 * kHigh));
    }
    ptx::wgmma_commit();
  };
  // A product's registers may not be written while an earlier one runs, or the assembler serialises
  // all of them. So packed probabilities wait beside the registers that the product will read;
  // taking them is an operation with a zero that the assembler does not know, for it sees through a
  // copy.
  const uint32_t zero = gridDim.y - 1;
  auto pack_probabilities = [&] {
#pragma unroll
    for (int i = 0; i < kScores; i += 8) {  // sixteen keys
      packed[i / 4] = ptx::pack8<false>(scores[i], scores[i + 1], scores[i + 4], scores[i + 5]);
      packed[i / 4 + 1] =
          ptx::pack8<false>(scores[i + 2], scores[i + 3], scores[i + 6], scores[i + 7]);
    }
  };
  auto take_packed = [&] {
#pragma unroll
    for (int i = 0; i < T.keys / 8; ++i) probabilities[i] = ptx::or_later(packed[i], zero);
  };
  // Something that depends on all of them, and is never all ones.
  auto any_packed = [&] {
    uint32_t any = 0;
#pragma unroll
    for (int i = 0; i < T.keys / 8; ++i) any |= packed[i];
    return any & 0x7fffffff;
  };
  // The sums of the product that has just ended, off to fp32.
  auto take_sums = [&] {
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] += output[T.head_dim / 2 + 2 * r];
#pragma unroll
    for (int i = T.head_dim / 2; i < kOutput<T>; ++i) output[i] = ptx::as_float(zero);
  };

  // The promoted sums of this thread, eight of sixteen bits at a time, a warp's side by side. They
  // are scaled by the maxima of their time.
  constexpr int kSumChunks = T.head_dim / 16;
  constexpr int kWarpChunks = T.warp_area_bytes() / sizeof(uint4);
  const int warp = group * 4 + thread / 32;
  uint4* const sums = (T.has_area() ? reinterpret_cast<uint4*>(area)
                                    : p.sums + blockIdx.x * T.groups * 4 * kWarpChunks) +
                      warp * kWarpChunks + lane;
  const uint32_t warp_area = shared + T.area_offset() + warp * T.warp_area_bytes();
  float sums_top[2] = {-kInfinity, -kInfinity};
  bool promoted = false;
  // The two numbers in a word. The lower one stays in the other's last bits: what is read is what
  // was subtracted, and that is all that matters.
  auto low_of = [](uint32_t two) { return __uint_as_float(two << 16); };
  auto high_of = [](uint32_t two) { return __uint_as_float(two); };
  // Before this warp writes where it stored from: those rows have been read.
  auto take_area = [&] {
    if constexpr (T.store_by_copy) ptx::bulk_wait_read();
    __syncwarp();
  };
  auto add_promoted = [&] {
    float scale[2];
#pragma unroll
    for (int r = 0; r < 2; ++r)
      scale[r] = sums_top[r] == -kInfinity ? 0.0f : ptx::exp2(sums_top[r] - top[r]);
#pragma unroll
    for (int i = 0; i < kSumChunks; ++i) {
      const uint4 chunk = T.has_area() ? sums[i * 32] : __ldcg(sums + i * 32);
      const uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        float* const two = &output[8 * i + 2 * w];
        two[0] = fmaf(low_of(words[w]), scale[w % 2], two[0]);
        two[1] = fmaf(high_of(words[w]), scale[w % 2], two[1]);
      }
    }
  };
  // Packed by a conversion that reads the accumulators themselves: where the bits of one are moved,
  // even to be read, the assembler serialises all products.
  auto promote = [&] {
    if (promoted) add_promoted();
#pragma unroll
    for (int i = 0; i < kSumChunks; ++i) {
      uint32_t words[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        float* const two = &output[8 * i + 2 * w];
        words[w] = ptx::pack<__nv_bfloat16>(two[0], two[1]);
        two[0] -= low_of(words[w]);
        two[1] -= high_of(words[w]);
      }
      sums[i * 32] = make_uint4(words[0], words[1], words[2], words[3]);
    }
    sums_top[0] = top[0];
    sums_top[1] = top[1];
    promoted = true;
  };
  auto rescale_all = [&] {
    if (__any_sync(~0u, alpha[0] != 1.0f || alpha[1] != 1.0f)) {
#pragma unroll
      for (int i = 0; i < T.head_dim / 2; ++i) output[i] *= alpha[i / 2 % 2];
      sum[0] *= alpha[0];
      sum[1] *= alpha[1];
    }
  };

  if (group == T.groups - 1) pass_turn<T>(group);  // the first group begins

  for_each_tile(control, false, [&](const Tile& tile) {
    const float scale_log2 = tile.scale_log2;
    const int row0 = tile.row0 + group * kGroupRows;
    const int blocks = row0 < tile.length_q
                           ? min_of(tile.blocks, visible_blocks(row0 + kGroupRows, tile.length_q,
                                                                tile.length_kv, T.causal, T.keys))
                           : 0;
    const int whole =
        min_of(blocks, whole_blocks(row0, tile.length_q, tile.length_kv, T.causal, T.keys));

    const bool divided = p.problem.key_splits > 1;
    // Packed rows too: unlike kernel.cuh's, these copies begin where a sequence does.
    const bool copied = T.store_by_copy && !divided && !is_fp8(p.problem.o_dtype) &&
                        (!p.lengths_vary || row0 + kGroupRows <= tile.length_q);

    top[0] = top[1] = -kInfinity;
    sum[0] = sum[1] = 0.0f;
    promoted = false;
#pragma unroll
    for (int i = 0; i < kOutput<T>; ++i) output[i] = 0.0f;

      // Blocks that other groups of the tile see and this one does not. Every group takes
      // tile.blocks - 1 turns, whatever it has to do.
#pragma unroll 1
    for (int i = 1; i <= tile.blocks - blocks; ++i) {
      wait_full(control.k_full, k);
      release(control.k_empty, k);
      if (i < tile.blocks) {
        take_turn<T>(group);
        pass_turn<T>(group);
      }
      wait_full(control.v_full, v);
      release(control.v_empty, v);
    }

    if (tile.blocks > 0) ptx::mbarrier_wait(ptx::shared_address(&control.q_full[q.slot]), q.phase);

    if (blocks > 0) {
      // How far this thread's two rows see, counted from the current block.
      int limit_low =
          visible_keys(row0 + fragment_row(thread, 0), tile.length_q, tile.length_kv, T.causal) -
          (blocks - 1) * T.keys - fragment_column(thread, 0);
      int limit_high =
          visible_keys(row0 + fragment_row(thread, 2), tile.length_q, tile.length_kv, T.causal) -
          (blocks - 1) * T.keys - fragment_column(thread, 0);

      // The first block: scores alone.
      wait_full(control.k_full, k);
      ptx::wgmma_fence();
      start_scores();
      ptx::wgmma_wait<0>();
      ptx::settle(scores);
      release(control.k_empty, k);
      if (whole < blocks) mask(scores, limit_low, limit_high);
      softmax<T>(scores, top, alpha, scale_log2);
      pack_probabilities();
      take_packed();
      alpha[0] = alpha[1] = 1.0f;  // the output is still zero
      if (p.promote_blocks > 0) take_area();

      // One block: its scores, and the output of the block before.
      auto step = [&](auto masked) {
        wait_full(control.k_full, k);
        take_turn<T>(group);
        ptx::wgmma_fence();
        start_scores();
        wait_full(control.v_full, v);
        ptx::wgmma_fence();
        start_output();
        pass_turn<T>(group);
        ptx::wgmma_wait<1>();
        ptx::settle(scores);
        release(control.k_empty, k);
        if constexpr (decltype(masked)::value) {
          limit_low += T.keys;
          limit_high += T.keys;
          mask(scores, limit_low, limit_high);
        }
        softmax<T>(scores, top, alpha, scale_log2);
        pack_probabilities();
        ptx::pin(any_packed(), shared);  // keeps the exponentials before the wait
        ptx::wgmma_wait<0>();
        ptx::settle(output);
        release(control.v_empty, v);
        take_packed();
        take_sums();
        rescale_all();
      };
      int block = blocks - 1;
      // The steps down to block `end`. Promotion is outside their loop, of which it would be half.
      int until_promotion = p.promote_blocks > 0 ? p.promote_blocks : tile.blocks;
      auto run = [&](auto masked, int end) {
        while (block > end) {
          const int stop = max_of(end, block - until_promotion);
          until_promotion -= block - stop;
#pragma unroll 1
          for (; block > stop; --block) step(masked);
          if (until_promotion == 0) {
            promote();
            until_promotion = p.promote_blocks;
          }
        }
      };
      if constexpr (T.causal) run(std::true_type{}, whole);
      run(std::false_type{}, 0);

      // The last output product.
      release_q();
      wait_full(control.v_full, v);
      ptx::wgmma_fence();
      start_output();
      ptx::wgmma_wait<0>();
      ptx::settle(output);
      release(control.v_empty, v);
      take_sums();
      if (promoted) add_promoted();
    } else if (tile.blocks > 0) {
      release_q();
    }

    // Normalise. A row that saw no key, or only keys of score -inf, is zero.
    if (row0 < tile.length_q) {
      float lse[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float inverse = tile.factor / sum[r];
        lse[r] = sum[r] == 0.0f ? -kInfinity : (top[r] - kOffset) * kLn2 + logf(sum[r]);
#pragma unroll
        for (int i = 2 * r; i < T.head_dim / 2; i += 4) {
          output[i] *= inverse;
          output[i + 1] *= inverse;
        }
      }
      if (__any_sync(~0u, sum[0] == 0.0f || sum[1] == 0.0f)) {
#pragma unroll
        for (int i = 0; i < T.head_dim / 2; ++i)
          output[i] = sum[i / 2 % 2] == 0.0f ? 0.0f : output[i];
      }
      if ((divided || p.problem.lse) && lane % 4 == 0) {
        float* to = divided ? p.partials.lse + partial_row(p.problem, tile.part, tile.batch,
                                                           tile.head, tile.first_q)
                            : p.problem.lse + tile.batch * p.problem.lse_stride_batch +
                                  tile.head * p.problem.lse_stride_head + tile.first_q;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int row = row0 + fragment_row(thread, 2 * r);
          if (row < tile.length_q) to[row] = lse[r];
        }
      }
      if (divided) {
        store_partial<T>(p, tile, row0, output);
      } else if (copied) {
        const int warp_row = row0 + thread / 32 * kWarpRows;
        take_area();
        p.problem.o_dtype == DType::fp16
            ? copy_rows<T, __half>(p, tile, warp_row, warp_area, output)
            : copy_rows<T, __nv_bfloat16>(p, tile, warp_row, warp_area, output);
      } else {
        store<T>(p, tile, row0, output);
      }
    }
    if (tile.blocks > 0) q.advance(T.groups);
  });
  take_area();  // shared memory must outlive the store
}

template <TileConfig T>
__device__ __forceinline__ void write_ones(uint32_t shared) {
  constexpr uint32_t kOnes = T.dtype == DType::e5m2 ? 0x3c3c3c3c : 0x38383838;
  constexpr int kChunks = turned_bytes(kOnesRows, T.keys) / kChunkBytes;  // of a stage
  for (int i = threadIdx.x; i < T.v_stages * kChunks; i += T.threads()) {
    ptx::store_shared16(shared + T.v_offset() + i / kChunks * T.v_stage_bytes() +
                            turned_bytes(T.head_dim, T.keys) + i % kChunks * kChunkBytes,
                        kOnes, kOnes, kOnes, kOnes);
  }
  ptx::fence_async_proxy();
}

}  // namespace fp8

// ================================================================================================

template <class Shape>
__global__ void __launch_bounds__(Shape::kTile.threads(), 1)
    forward8(const __grid_constant__ Params p) {
  constexpr TileConfig T = Shape::kTile;
  static_assert(T.shared_bytes() <= kSharedLimit);
  constexpr int kFilling = max_of(T.turning_warps, 1);  // warps that fill a stage of V
  static_assert(T.ahead == (T.raw_stages == 0) && T.ahead == (T.turning_warps == 0));
  static_assert(T.turning_warps + (T.loads_apart() ? 2 : 1) <= 4, "the producers are four warps");
  static_assert(T.keys % 32 == 0 && !T.rescale_early);
  static_assert(!T.store_by_copy || T.has_area());
  static_assert(sizeof(Control<T>) <= TileConfig::kControlBytes);
  extern __shared__ __align__(kTileAlignment) uint8_t memory[];
  const uint32_t shared = ptx::shared_address(memory);
  auto& control = *reinterpret_cast<Control<T>*>(memory + T.control_offset());

  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&p.q);
    ptx::prefetch_tensor_map(&p.k);
    ptx::prefetch_tensor_map(&p.v);
    if constexpr (T.store_by_copy) ptx::prefetch_tensor_map(&p.o);
    auto init = [](uint64_t* barriers, int size, int count) {
      for (int i = 0; i < size; ++i) ptx::mbarrier_init(ptx::shared_address(&barriers[i]), count);
    };
    init(control.q_full, T.q_units, 1);
    init(control.q_empty, T.q_units, 4);
    init(control.k_full, T.stages, 1);
    init(control.k_empty, T.stages, 4 * T.groups);
    init(control.v_full, T.v_stages, kFilling);
    init(control.v_empty, T.v_stages, 4 * T.groups);
    init(control.raw_full, T.raw_stages, 1);
    init(control.raw_empty, T.raw_stages, T.turning_warps);
    init(&control.tile_full, 1, 1);
    init(&control.tile_empty, 1, (T.loads_apart() ? 1 : 0) + T.turning_warps + 4 * T.groups);
    if constexpr (T.ahead) init(&control.began_full, 1, 1);
    ptx::fence_mbarrier_init();
  }
  fp8::write_ones<T>(shared);
  __syncthreads();
  ptx::wait_for_earlier_grids();
  ptx::let_later_grids_start();

  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
  if (warpgroup == 0) {
    ptx::give_registers<T.producer_registers>();
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    fp8::schedule_and_load<T>(p, control, shared, warp);
    if constexpr (T.ahead) {
      if (warp >= 2) fp8::turn_the_rest(p, control, warp - 2);
    } else {
      constexpr int kFirst = 4 - T.turning_warps;
      if (warp >= kFirst) turn_v<T>(p, control, shared, warp - kFirst);
    }
  } else {
    if constexpr (T.ahead) fp8::turn_first(p, control);  // before registers are counted out
    ptx::take_registers<T.consumer_registers()>();
    fp8::consume<T>(p, control, shared, memory + T.area_offset(), warpgroup - 1);
  }
}

}  // namespace namesake::attention::sm90
