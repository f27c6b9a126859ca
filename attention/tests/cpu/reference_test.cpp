#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support.h"

namespace namesake::attention {
namespace {

using reference::from_double;
using reference::from_double_held;
using reference::to_double;
using test::host_call;
using test::HostCall;

constexpr DType kTypes[] = {DType::fp16, DType::bf16}, kFp8[] = {DType::e4m3, DType::e5m2};

void run(HostCall& h) {
  Plan plan;
  Status s = prepare(h.call, plan);
  ASSERT_TRUE(s.ok()) << s.message;
  ASSERT_EQ(plan.kernel(), Kernel::reference);
  s = plan.run(nullptr, 0, nullptr);
  ASSERT_TRUE(s.ok()) << s.message;
}

// One row by another road: the weight of key j is 1 / Σ_k exp(s_k - s_j). No maximum, no running
// sum, and LSE from any one weight.
struct Row {
  std::vector<double> o;
  double lse;
};

Row naive_row(const HostCall& h, int64_t batch, int64_t head, int64_t row, int64_t length_q,
              int64_t length_kv) {
  const Forward& f = h.call;
  const auto at = [&](const Tensor& t, int64_t s, int64_t head, int64_t d) {
    return reference::load(
        t.data, batch * t.stride_batch + s * t.stride_seq + head * t.stride_head + d, f.dtype);
  };
  const auto value = [&](int64_t s, int64_t head, int64_t d) {
    return f.v_transposed ? at(f.v, d, head, s) : at(f.v, s, head, d);
  };
  const auto factor = [&](const Scale& scale, int64_t head) {
    return scale.data ? scale.data[batch * scale.stride_batch + head * scale.stride_head] : 1.0;
  };
  const int64_t head_kv = head * f.heads_kv / f.heads_q;
  const double scale = f.softmax_scale > 0
                           ? f.softmax_scale
                           : static_cast<float>(1 / std::sqrt(static_cast<float>(f.head_dim)));
  std::vector<double> scores;
  for (int64_t j = 0; j < length_kv; j++) {
    if (f.causal && j > row + length_kv - length_q) break;
    double dot = 0;
    for (int64_t d = f.head_dim - 1; d >= 0; d--)
      dot += at(f.q, row, head, d) * at(f.k, j, head_kv, d);
    scores.push_back(scale * dot * factor(f.q_descale, head) * factor(f.k_descale, head_kv));
  }
  Row result{std::vector<double>(f.head_dim, 0.0), -std::numeric_limits<double>::infinity()};
  for (size_t j = 0; j < scores.size(); j++) {
    double inverse = 0;
    for (double s : scores) inverse += std::exp(s - scores[j]);
    for (int64_t d = 0; d < f.head_dim; d++) result.o[d] += value(j, head_kv, d) / inverse;
    if (j == 0) result.lse = scores[0] + std::log(inverse);
  }
  for (double& x : result.o) x *= factor(f.v_descale, head_kv) * factor(f.o_scale, head);
  return result;
}

// Two roads through double differ by far less than a rounding step, but may fall on either side of
// one.
void expect_row(const HostCall& h, int64_t batch, int64_t head, int64_t row, const Row& want) {
  const Forward& f = h.call;
  const int64_t first = batch * f.o.stride_batch + row * f.o.stride_seq + head * f.o.stride_head;
  const auto rounded = [&](double x) {
    return to_double(is_fp8(f.o_dtype) ? from_double_held(x, f.o_dtype) : from_double(x, f.o_dtype),
                     f.o_dtype);
  };
  for (int64_t d = 0; d < f.head_dim; d++) {
    const double have = reference::load(f.o.data, first + d, f.o_dtype);
    const double below = rounded(want.o[d] * (1 - 1e-12) - 1e-300);
    const double above = rounded(want.o[d] * (1 + 1e-12) + 1e-300);
    ASSERT_TRUE(have == below || have == above)
        << "row " << row << " column " << d << ": " << have << " for " << want.o[d];
  }
  const float lse = h.lse[(batch * f.heads_q + head) * f.seqlen_q + row];
  if (std::isinf(want.lse)) {
    ASSERT_EQ(lse, want.lse);
  } else {
    ASSERT_NEAR(lse, want.lse, 1e-6 * (1 + std::fabs(want.lse)));
  }
}

TEST(Reference, AgreesWithASecondFormula) {
  for (DType dtype : kTypes) {
    for (bool causal : {false, true}) {
      for (auto [q, kv] : {std::pair{1, 1}, {7, 7}, {65, 30}, {30, 65}, {70, 130}}) {
        HostCall h = host_call(dtype, 2, q, kv, 4, 2, 24);
        h.call.causal = causal;
        run(h);
        for (int b = 0; b < 2; b++)
          for (int head = 0; head < 4; head++)
            for (int row = 0; row < q; row++)
              expect_row(h, b, head, row, naive_row(h, b, head, row, q, kv));
      }
    }
  }
}

TEST(Reference, AgreesWithASecondFormulaInFp8) {
  const std::vector<float> by_head = {0.5f, 2, 0.75f, 1.5f, 3, 1, 0.25f, 1.25f};
  for (DType dtype : kFp8) {
    for (DType o_dtype : {DType::fp16, DType::bf16, DType::e4m3, DType::e5m2}) {
      for (bool transposed : {false, true}) {
        HostCall h = host_call(dtype, 2, 9, 33, 4, 2, 24);
        Forward& f = h.call;
        f.causal = transposed;
        f.o_dtype = o_dtype;
        f.q_descale = {by_head.data(), 4, 1};
        f.k_descale = {by_head.data(), 0, 3};
        f.v_descale = {by_head.data() + 1, 2, 1};
        if (is_fp8(o_dtype)) f.o_scale = {by_head.data() + 4, 0, 1};
        if (transposed) {
          f.v_transposed = true;
          f.v.stride_seq = 33;
          f.v.stride_head = 24 * 33;
          f.v.stride_batch = 2 * 24 * 33;
        }
        run(h);
        for (int b = 0; b < 2; b++)
          for (int head = 0; head < 4; head++)
            for (int row = 0; row < 9; row++)
              expect_row(h, b, head, row, naive_row(h, b, head, row, 9, 33));
      }
    }
  }
}

TEST(Reference, HoldsAnFp8OutputToTheLargestNumber) {
  const float much = 1e30f;
  for (DType dtype : kFp8) {
    HostCall h = host_call(dtype, 1, 3, 5, 1, 1, 8);
    h.call.o_scale.data = &much;
    run(h);
    for (int i = 0; i < 3 * 8; i++)
      EXPECT_EQ(std::fabs(reference::load(h.o.data(), i, dtype)), reference::largest(dtype));
  }
}

TEST(Reference, ScalesThatAreNoPositiveNumbersAreErrors) {
  HostCall h = host_call(DType::e4m3, 2, 3, 5, 2, 1, 8);
  const std::vector<float> scales = {1, 2, 3, -4};
  h.call.o_scale = {scales.data(), 2, 1};
  Plan plan;
  EXPECT_EQ(prepare(h.call, plan).message,
            "o_scale of sequence 1, head 1 is -4.000000: give a positive number");
  h.call.o_scale = {};
  const float nan = NAN;
  h.call.v_descale.data = &nan;
  EXPECT_EQ(prepare(h.call, plan).message,
            "v_descale of sequence 0, head 0 is nan: give a positive number");
}

TEST(Reference, TakesTheScaleItIsGiven) {
  HostCall h = host_call(DType::fp16, 1, 9, 20, 1, 1, 40);
  h.call.softmax_scale = 0.7f;
  run(h);
  for (int row = 0; row < 9; row++) expect_row(h, 0, 0, row, naive_row(h, 0, 0, row, 9, 20));
}

TEST(Reference, RowsWithoutAKeyGiveZeroAndMinusInfinity) {
  HostCall h = host_call(DType::bf16, 1, 20, 5, 1, 1, 16);
  h.call.causal = true;
  run(h);
  for (int row = 0; row < 15; row++) {
    EXPECT_EQ(h.lse[row], -INFINITY);
    for (int d = 0; d < 16; d++) EXPECT_EQ(h.o[row * 16 + d], 0);
  }
  EXPECT_TRUE(std::isfinite(h.lse[15]));
}

TEST(Reference, RowsWhoseScoresAreAllMinusInfinityAreEmptyRows) {
  HostCall h = host_call(DType::bf16, 1, 3, 4, 1, 1, 8);
  for (int row = 0; row < 3; row++) h.q[row * 8] = from_double(1, DType::bf16);
  for (int key = 0; key < 4; key++) h.k[key * 8] = from_double(-INFINITY, DType::bf16);
  run(h);
  for (int i = 0; i < 3 * 8; i++) EXPECT_EQ(h.o[i], 0);
  for (int row = 0; row < 3; row++) EXPECT_EQ(h.lse[row], -INFINITY);
}

TEST(Reference, NanInAQueryRowStaysInThatRow) {
  HostCall h = host_call(DType::fp16, 1, 6, 9, 2, 1, 8);
  h.q[(2 * 2 + 1) * 8 + 3] = from_double(NAN, DType::fp16);
  run(h);
  for (int row = 0; row < 6; row++)
    for (int head = 0; head < 2; head++)
      EXPECT_EQ(std::isnan(to_double(h.o[(row * 2 + head) * 8], DType::fp16)),
                row == 2 && head == 1);
}

TEST(Reference, NanInPaddingReachesNothingAndPaddingIsNotWritten) {
  HostCall h = host_call(DType::bf16, 2, 10, 12, 1, 1, 8);
  const std::vector<int32_t> used_q = {4, 0}, used_kv = {5, 12};
  h.call.seqused_q = used_q.data();
  h.call.seqused_kv = used_kv.data();
  for (int key = 5; key < 12; key++)
    for (int d = 0; d < 8; d++) h.k[key * 8 + d] = h.v[key * 8 + d] = 0xffff;
  run(h);
  for (int row = 0; row < 4; row++) expect_row(h, 0, 0, row, naive_row(h, 0, 0, row, 4, 5));
  for (int i = 4 * 8; i < 20 * 8; i++) EXPECT_EQ(h.o[i], 0xffff);
  for (int row = 4; row < 20; row++) EXPECT_EQ(h.lse[row], -1);
}

TEST(Reference, PackedSequencesAreTheSequencesAlone) {
  const std::vector<int32_t> lengths_q = {3, 0, 70, 1}, lengths_kv = {5, 4, 64, 0};
  std::vector<int32_t> cu_q = {0}, cu_kv = {0};
  for (int32_t n : lengths_q) cu_q.push_back(cu_q.back() + n);
  for (int32_t n : lengths_kv) cu_kv.push_back(cu_kv.back() + n);
  HostCall packed = host_call(DType::bf16, 1, cu_q.back(), cu_kv.back(), 4, 2, 16);
  Forward& f = packed.call;
  f.causal = true;
  f.batch = 4;
  f.seqlen_q = 70;
  f.seqlen_kv = 64;
  f.total_q = cu_q.back();
  f.total_kv = cu_kv.back();
  f.cu_seqlens_q = cu_q.data();
  f.cu_seqlens_kv = cu_kv.data();
  run(packed);
  for (int b = 0; b < 4; b++) {
    HostCall alone = host_call(DType::bf16, 1, lengths_q[b], lengths_kv[b], 4, 2, 16);
    alone.call.causal = true;
    alone.q.assign(packed.q.begin() + cu_q[b] * 64, packed.q.begin() + cu_q[b + 1] * 64);
    alone.k.assign(packed.k.begin() + cu_kv[b] * 32, packed.k.begin() + cu_kv[b + 1] * 32);
    alone.v.assign(packed.v.begin() + cu_kv[b] * 32, packed.v.begin() + cu_kv[b + 1] * 32);
    alone.call.q.data = alone.q.data();
    alone.call.k.data = alone.k.data();
    alone.call.v.data = alone.v.data();
    run(alone);
    for (int row = 0; row < lengths_q[b]; row++) {
      for (int i = 0; i < 64; i++)
        EXPECT_EQ(packed.o[(cu_q[b] + row) * 64 + i], alone.o[row * 64 + i]);
      for (int head = 0; head < 4; head++)
        EXPECT_EQ(packed.lse[head * f.total_q + cu_q[b] + row],
                  alone.lse[head * lengths_q[b] + row]);
    }
  }
}

TEST(Reference, LengthsThatLeaveTheTensorsAreErrors) {
  HostCall h = host_call(DType::bf16, 2, 10, 12, 1, 1, 8);
  const auto message = [&] {
    Plan plan;
    return prepare(h.call, plan).message;
  };
  const std::vector<int32_t> too_long = {4, 11}, fine = {4, 10};
  h.call.seqused_q = too_long.data();
  EXPECT_EQ(message(), "seqused_q[1] is 11: give 0 to 10");
  h.call.seqused_q = fine.data();
  EXPECT_EQ(message(), "");
  h.call.seqused_q = nullptr;
  const std::vector<int32_t> falling = {0, 9, 5}, good = {0, 5, 9};
  h.call.cu_seqlens_q = good.data();
  h.call.cu_seqlens_kv = falling.data();
  h.call.total_q = h.call.total_kv = 9;
  EXPECT_EQ(message(), "cu_seqlens_kv[2] makes sequence 1 -4 rows long: give 0 to 12");
  h.call.cu_seqlens_kv = good.data();
  h.call.total_kv = 8;
  EXPECT_EQ(message(), "cu_seqlens_kv[2] is 9, past the tensors' 8 rows");
}

TEST(Element, EveryValueSurvivesTheWayToDoubleAndBack) {
  for (DType dtype : kTypes) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
      const double x = to_double(static_cast<uint16_t>(bits), dtype);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(to_double(from_double(x, dtype), dtype)));
      } else {
        ASSERT_EQ(from_double(x, dtype), bits);
      }
    }
  }
}

TEST(Element, RoundsToTheNearestAndTiesToEven) {
  for (DType dtype : kTypes) {
    const uint16_t infinity = from_double(INFINITY, dtype);
    for (uint16_t bits = 0; bits + 1 < infinity; bits++) {
      const double low = to_double(bits, dtype), high = to_double(bits + 1, dtype),
                   middle = (low + high) / 2;
      ASSERT_EQ(from_double(middle, dtype), bits % 2 ? bits + 1 : bits);
      ASSERT_EQ(from_double(std::nextafter(middle, low), dtype), bits);
      ASSERT_EQ(from_double(-std::nextafter(middle, high), dtype), 0x8000 | (bits + 1));
    }
    const double largest = to_double(infinity - 1, dtype),
                 step = largest - to_double(infinity - 2, dtype);
    EXPECT_EQ(from_double(largest + step / 2, dtype), infinity);
    EXPECT_EQ(from_double(std::nextafter(largest + step / 2, 0), dtype), infinity - 1);
    EXPECT_EQ(from_double(1e300, dtype), infinity);
    EXPECT_EQ(from_double(1e-300, dtype), 0);
  }
}

TEST(Element, Fp8HasTheNumbersOfItsDefinition) {
  for (uint16_t sign : {0, 0x80}) {
    const double s = sign ? -1 : 1;
    for (uint16_t code = 0; code < 0x80; code++) {
      const double e4m3 = to_double(sign | code, DType::e4m3),
                   e5m2 = to_double(sign | code, DType::e5m2);
      if (code == 0x7f) {
        EXPECT_TRUE(std::isnan(e4m3));
      } else {
        EXPECT_EQ(e4m3,
                  s * (code < 8 ? code * 0x1p-9 : (1 + code % 8 / 8.0) * std::exp2(code / 8 - 7)));
      }
      if (code > 0x7c) {
        EXPECT_TRUE(std::isnan(e5m2));
      } else if (code == 0x7c) {
        EXPECT_EQ(e5m2, s * INFINITY);
      } else {
        // e5m2 is the upper half of fp16.
        EXPECT_EQ(e5m2, to_double(static_cast<uint16_t>((sign | code) << 8), DType::fp16));
      }
    }
  }
  EXPECT_EQ(reference::largest(DType::e4m3), 448);
  EXPECT_EQ(reference::largest(DType::e5m2), 57344);
}

TEST(Element, EveryFp8NumberSurvivesTheWayToDoubleAndBack) {
  for (DType dtype : kFp8) {
    for (uint16_t bits = 0; bits < 0x100; bits++) {
      const double x = to_double(bits, dtype);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(to_double(from_double(x, dtype), dtype)));
        EXPECT_TRUE(std::isnan(to_double(from_double_held(x, dtype), dtype)));
        continue;
      }
      EXPECT_EQ(from_double(x, dtype), bits);
      if (std::isfinite(x)) {
        EXPECT_EQ(from_double_held(x, dtype), bits);
      }
    }
  }
}

TEST(Element, Fp8RoundsToTheNearestAndTiesToEven) {
  for (DType dtype : kFp8) {
    const double largest = reference::largest(dtype);
    const uint16_t last = from_double(largest, dtype);
    for (uint16_t bits = 0; bits < last; bits++) {
      const double low = to_double(bits, dtype), high = to_double(bits + 1, dtype),
                   middle = (low + high) / 2;
      EXPECT_EQ(from_double(middle, dtype), bits % 2 ? bits + 1 : bits);
      EXPECT_EQ(from_double(std::nextafter(middle, low), dtype), bits);
      EXPECT_EQ(from_double(-std::nextafter(middle, high), dtype), 0x80 | (bits + 1));
    }
    // Past the last one: what lies beyond the numbers, or the last one itself.
    const double step = largest - to_double(last - 1, dtype);
    EXPECT_EQ(from_double(std::nextafter(largest + step / 2, 0), dtype), last);
    for (double x : {largest + step, 1e300, static_cast<double>(INFINITY)}) {
      EXPECT_FALSE(std::isfinite(to_double(from_double(x, dtype), dtype)));
      EXPECT_EQ(from_double_held(x, dtype), last);
      EXPECT_EQ(from_double_held(-x, dtype), 0x80 | last);
    }
    EXPECT_EQ(from_double(1e-300, dtype), 0);
  }
}

TEST(Element, Bfloat16IsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const float x = std::bit_cast<float>(bits << 16);
    if (!std::isnan(x)) {
      ASSERT_EQ(to_double(static_cast<uint16_t>(bits), DType::bf16), x);
    }
  }
}

}  // namespace
}  // namespace namesake::attention
