#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>

#include "support.h"
#include "validate.h"

namespace namesake::attention {
namespace {

// A call that is fine, over addresses of nothing: validation looks at no memory.
Forward good() {
  Forward f;
  f.dtype = DType::bf16;
  f.batch = 2;
  f.seqlen_q = 10;
  f.seqlen_kv = 20;
  f.heads_q = 4;
  f.heads_kv = 2;
  f.head_dim = 64;
  const auto somewhere = [](uintptr_t i) { return reinterpret_cast<void*>(i << 32); };
  f.q = {somewhere(1), 10 * 256, 256, 64};
  f.k = {somewhere(2), 20 * 128, 128, 64};
  f.v = {somewhere(3), 20 * 128, 128, 64};
  f.o = {somewhere(4), 10 * 256, 256, 64};
  return f;
}

int32_t* lengths() {
  return reinterpret_cast<int32_t*>(uintptr_t{5} << 32);
}

const float* number() {
  return reinterpret_cast<const float*>(uintptr_t{6} << 32);
}

// Of fp8: whatever lies at odd addresses and strides is fine.
Forward good_fp8() {
  Forward f = good();
  f.dtype = DType::e4m3;
  f.o_dtype = DType::e5m2;
  for (Tensor* t : {&f.q, &f.k, &f.v, &f.o}) {
    t->data = static_cast<char*>(t->data) + 1;
    t->stride_seq++;
    t->stride_batch += 100;
  }
  f.q_descale = f.o_scale = {number(), 4, 1};
  f.k_descale = f.v_descale = {number(), 0, 0};
  return f;
}

std::string message_of(const Forward& f) {
  Problem p;
  return validate(f, p).message;
}

struct Wrong {
  const char* message;
  void (*change)(Forward&);
};

TEST(Validate, EachMistakeHasItsSentence) {
  const Wrong wrongs[] = {
      {"batch is -1: give 0 to 1073741824", [](Forward& f) { f.batch = -1; }},
      {"seqlen_q is 1073741825: give 0 to 1073741824",
       [](Forward& f) { f.seqlen_q = (1 << 30) + 1; }},
      {"seqlen_kv is 4294967306: give 0 to 1073741824",
       [](Forward& f) { f.seqlen_kv = (int64_t{1} << 32) + 10; }},
      {"heads_q is 0: give 1 to 1048576", [](Forward& f) { f.heads_q = 0; }},
      {"heads_kv is 0: give 1 to 1048576", [](Forward& f) { f.heads_kv = 0; }},
      {"heads_q is 4 and heads_kv 3: heads_q must be a multiple of heads_kv",
       [](Forward& f) { f.heads_kv = 3; }},
      {"head_dim is 60: give a multiple of 8 from 8 to 256", [](Forward& f) { f.head_dim = 60; }},
      {"head_dim is 264: give a multiple of 8 from 8 to 256", [](Forward& f) { f.head_dim = 264; }},
      {"head_dim is 0: give a multiple of 8 from 8 to 256", [](Forward& f) { f.head_dim = 0; }},
      {"key_splits is -2: give 0 to 128", [](Forward& f) { f.key_splits = -2; }},
      {"key_splits is 129: give 0 to 128", [](Forward& f) { f.key_splits = 129; }},
      {"softmax_scale is -1.000000: give a positive number, or 0 for 1/sqrt(head_dim)",
       [](Forward& f) { f.softmax_scale = -1; }},
      {"softmax_scale is nan: give a positive number, or 0 for 1/sqrt(head_dim)",
       [](Forward& f) { f.softmax_scale = NAN; }},
      {"q_descale is given and dtype is bf16: only fp8 takes scales",
       [](Forward& f) { f.q_descale.data = number(); }},
      {"o_scale is given and dtype is bf16: only fp8 takes scales",
       [](Forward& f) { f.o_scale.data = number(); }},
      {"v_transposed is true and dtype is bf16: only fp8 takes a transposed v",
       [](Forward& f) { f.v_transposed = true; }},
      {"promote_keys is -1 and dtype is bf16: only fp8 has sums to promote, leave it 0",
       [](Forward& f) { f.promote_keys = kNeverPromote; }},
      {"spare_workspace is true and dtype is bf16: only fp8 has workspace to spare",
       [](Forward& f) { f.spare_workspace = true; }},
      {"dtype is 77, which names no element type",
       [](Forward& f) { f.dtype = static_cast<DType>(77); }},
      {"q is null: give its address", [](Forward& f) { f.q.data = nullptr; }},
      {"o is null: give its address", [](Forward& f) { f.o.data = nullptr; }},
      {"v does not start at a multiple of its element's size",
       [](Forward& f) { f.v.data = static_cast<char*>(f.v.data) + 1; }},
      {"k.stride_seq is -128: strides may not be negative",
       [](Forward& f) { f.k.stride_seq = -128; }},
      {"k.stride_batch is 9223372036854775807: no memory is that large",
       [](Forward& f) { f.k.stride_batch = INT64_MAX; }},
      {"o's strides make two of its elements share memory: give each element its own",
       [](Forward& f) { f.o.stride_head = 0; }},
      {"o's strides make two of its elements share memory: give each element its own",
       [](Forward& f) { f.o.stride_seq = 255; }},
      {"cu_seqlens_kv is null while the other is not: packed lengths come in pairs",
       [](Forward& f) { f.cu_seqlens_q = lengths(); }},
      {"cu_seqlens_* and seqused_* are both given: a call is packed or padded",
       [](Forward& f) { f.cu_seqlens_q = f.cu_seqlens_kv = f.seqused_q = lengths(); }},
      {"total_q and total_kv count the rows of packed tensors: leave them 0 without cu_seqlens_*",
       [](Forward& f) { f.total_q = 5; }},
      {"an array of lengths does not start at a multiple of 4 bytes",
       [](Forward& f) { f.seqused_q = reinterpret_cast<int32_t*>(uintptr_t{6}); }},
      {"lse does not start at a multiple of 4 bytes",
       [](Forward& f) { f.lse = reinterpret_cast<float*>(uintptr_t{6}); }},
      {"lse's strides make two of its elements share memory: give larger ones, or 0 for dense",
       [](Forward& f) {
         f.lse = reinterpret_cast<float*>(uintptr_t{1} << 40);
         f.lse_stride_head = 10;
         f.lse_stride_batch = 39;
       }},
  };
  EXPECT_EQ(message_of(good()), "");
  for (const Wrong& wrong : wrongs) {
    Forward f = good();
    wrong.change(f);
    EXPECT_EQ(message_of(f), wrong.message);
  }
}

TEST(Validate, EachMistakeInFp8HasItsSentence) {
  const Wrong wrongs[] = {
      {"o_dtype is 9, which names no element type",
       [](Forward& f) { f.o_dtype = static_cast<DType>(9); }},
      {"o_scale is given and o_dtype is fp16: only an fp8 o is scaled",
       [](Forward& f) { f.o_dtype = DType::fp16; }},
      {"o does not start at a multiple of its element's size",
       [](Forward& f) { f.o_dtype = DType::bf16, f.o_scale = {}; }},
      {"promote_keys is -2: give 0 to 1073741824", [](Forward& f) { f.promote_keys = -2; }},
      {"promote_keys is 1073741825: give 0 to 1073741824",
       [](Forward& f) { f.promote_keys = (1 << 30) + 1; }},
      {"k_descale does not start at a multiple of 4 bytes",
       [](Forward& f) { f.k_descale.data = reinterpret_cast<const float*>(uintptr_t{6}); }},
      {"q_descale.stride_head is -1: strides may not be negative",
       [](Forward& f) { f.q_descale.stride_head = -1; }},
      {"v_descale.stride_batch is 9223372036854775807: no memory is that large",
       [](Forward& f) { f.v_descale.stride_batch = INT64_MAX; }},
      {"v.stride_seq is 72057594037927936: no memory is that large",
       [](Forward& f) { f.v_transposed = true, f.v.stride_seq = int64_t{1} << 56; }},
  };
  EXPECT_EQ(message_of(good_fp8()), "");
  for (const Wrong& wrong : wrongs) {
    Forward f = good_fp8();
    wrong.change(f);
    EXPECT_EQ(message_of(f), wrong.message);
  }
}

TEST(Validate, PromotesAfterTheDefaultUnlessToldOtherwise) {
  Forward f = good_fp8();
  Problem p;
  ASSERT_TRUE(validate(f, p).ok());
  EXPECT_EQ(p.promote_keys, kPromoteKeys);
  f.promote_keys = kNeverPromote;
  ASSERT_TRUE(validate(f, p).ok());
  EXPECT_EQ(p.promote_keys, 0);
  f.promote_keys = 77;
  ASSERT_TRUE(validate(f, p).ok());
  EXPECT_EQ(p.promote_keys, 77);
}

TEST(Validate, OtherTypesComeOutAsTheyWentIn) {
  Forward f = good();
  f.o_dtype = DType::e4m3;
  Problem p;
  ASSERT_TRUE(validate(f, p).ok());
  EXPECT_EQ(p.o_dtype, DType::bf16);
}

TEST(Validate, ATransposedValueWithoutKeysNeedsNoAddress) {
  Forward f = good_fp8();
  f.v_transposed = true;
  f.seqlen_kv = 0;
  f.k.data = f.v.data = nullptr;
  EXPECT_EQ(message_of(f), "");
}

TEST(Validate, FillsInWhatWasLeftOpen) {
  Forward f = good();
  f.lse = reinterpret_cast<float*>(uintptr_t{1} << 40);
  Problem p;
  ASSERT_TRUE(validate(f, p).ok());
  EXPECT_EQ(p.softmax_scale, 0.125f);
  EXPECT_EQ(p.lse_stride_head, 10);
  EXPECT_EQ(p.lse_stride_batch, 40);
}

TEST(Validate, PackedTensorsHaveNoBatchStride) {
  Forward f = good();
  f.cu_seqlens_q = f.cu_seqlens_kv = lengths();
  f.total_q = 15;
  f.total_kv = 30;
  f.lse = reinterpret_cast<float*>(uintptr_t{1} << 40);
  f.o.stride_batch = 12345;
  Problem p;
  ASSERT_TRUE(validate(f, p).ok());
  EXPECT_EQ(p.q.stride_batch, 0);
  EXPECT_EQ(p.o.stride_batch, 0);
  EXPECT_EQ(p.lse_stride_batch, 0);
  EXPECT_EQ(p.lse_stride_head, 15);
}

TEST(Validate, EmptyTensorsNeedNoAddress) {
  Forward f = good();
  f.seqlen_kv = 0;
  f.k.data = f.v.data = nullptr;
  EXPECT_EQ(message_of(f), "");
  f = good();
  f.batch = 0;
  f.q.data = f.k.data = f.v.data = f.o.data = nullptr;
  EXPECT_EQ(message_of(f), "");
}

TEST(Validate, InputsMayBeBroadcastAndOverlap) {
  Forward f = good();
  f.q = {f.q.data, 0, 0, 0};
  f.k = {f.k.data, 0, 1, 0};
  EXPECT_EQ(message_of(f), "");
}

TEST(Validate, RefusesAnOutputExactlyWhenRowsCollide) {
  EXPECT_TRUE(rc::check("an accepted output has no two elements in one place", [] {
    Forward f = good();
    f.head_dim = 8;
    f.batch = *rc::gen::inRange(1, 4);
    f.seqlen_q = *rc::gen::inRange(1, 5);
    f.heads_q = f.heads_kv = *rc::gen::inRange(1, 4);
    f.k = {f.k.data, 0, 0, 0};
    f.q = f.v = f.k;
    f.o = {f.o.data, *rc::gen::inRange(0, 200), *rc::gen::inRange(0, 80), *rc::gen::inRange(0, 80)};
    std::set<int64_t> offsets;
    int64_t elements = 0;
    for (int64_t b = 0; b < f.batch; b++)
      for (int64_t s = 0; s < f.seqlen_q; s++)
        for (int64_t h = 0; h < f.heads_q; h++)
          for (int64_t d = 0; d < 8; d++, elements++)
            offsets.insert(b * f.o.stride_batch + s * f.o.stride_seq + h * f.o.stride_head + d);
    const bool distinct = static_cast<int64_t>(offsets.size()) == elements;
    if (message_of(f).empty()) RC_ASSERT(distinct);
  }));
}

TEST(Validate, TakesEveryDenseOrderOfTheDimensions) {
  EXPECT_TRUE(rc::check("[b,s,h,d] and [b,h,s,d], with gaps, are accepted", [] {
    Forward f = good();
    f.batch = *rc::gen::inRange(1, 9);
    f.seqlen_q = *rc::gen::inRange(1, 300);
    f.heads_q = f.heads_kv = *rc::gen::inRange(1, 9);
    f.head_dim = 8 * *rc::gen::inRange(1, 33);
    const int64_t gap = *rc::gen::inRange(0, 20);
    const bool heads_first = *rc::gen::arbitrary<bool>();
    const int64_t inner = f.head_dim + gap,
                  outer = inner * (heads_first ? f.seqlen_q : f.heads_q) + gap;
    const int64_t batch = outer * (heads_first ? f.heads_q : f.seqlen_q);
    f.o = {f.o.data, batch, heads_first ? inner : outer, heads_first ? outer : inner};
    RC_ASSERT(message_of(f).empty());
  }));
}

TEST(Prepare, HostMemoryIsComputedByTheReferenceAndSaysSo) {
  test::HostCall h = test::host_call(DType::bf16, 1, 2, 2, 1, 1, 8);
  Plan plan;
  ASSERT_TRUE(prepare(h.call, plan).ok());
  EXPECT_EQ(plan.kernel(), Kernel::reference);
  EXPECT_EQ(plan.why(), "the tensors are host memory");
  EXPECT_EQ(plan.workspace_bytes(), 0u);
  h.call.kernel = Kernel::portable;
  EXPECT_EQ(prepare(h.call, plan).message,
            "the portable kernel was asked for, but the tensors are host memory");
}

TEST(Prepare, AnEmptyPlanSaysThatItIsOne) {
  Plan plan;
  EXPECT_EQ(plan.run(nullptr, 0, nullptr).message, "this plan is empty: call prepare first");
  EXPECT_EQ(plan.workspace_bytes(), 0u);
}

}  // namespace
}  // namespace namesake::attention
