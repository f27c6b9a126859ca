#include <gtest/gtest.h>

#include <set>

#include "cases.h"
#include "decode.h"
#include "plan.h"
#include "runner.h"
#include "split.h"
#include "validate.h"

namespace namesake::attention {
namespace {

constexpr DeviceInfo kTuring{0, 7, 5, 40, 65536, 4 << 20};
constexpr DeviceInfo kAmpere{0, 8, 0, 108, 166912, 40 << 20};
constexpr DeviceInfo kAda{0, 8, 9, 128, 101376, 72 << 20};
constexpr DeviceInfo kHopper{0, 9, 0, 132, 232448, 60 << 20};
constexpr DeviceInfo kConsumerBlackwell{0, 12, 0, 170, 101376, 96 << 20};

Forward call_of(const test::Case& c) {
  return forward_of(c, layouts_of(c));
}

test::Case plain() {
  test::Case c;
  c.seqlen_q = c.seqlen_kv = 100;
  c.head_dim = 128;
  return c;
}

Status choose(const test::Case& c, const DeviceInfo& device, Plan& plan,
              Kernel kernel = Kernel::automatic) {
  Forward call = call_of(c);
  call.kernel = kernel;
  return prepare_for(call, device, plan);
}

TEST(Choice, HopperTakesTheHopperKernelWhereTmaCanLoad) {
  Plan plan;
  ASSERT_TRUE(choose(plain(), kHopper, plan).ok());
  EXPECT_EQ(plan.kernel(), Kernel::hopper);
  EXPECT_EQ(plan.why(), "the Hopper kernel is the fastest and takes this call");
}

TEST(Choice, WhatTmaCannotLoadTakesThePortableKernelAndTheReasonNamesTheTensor) {
  test::Case c = plain();
  c.layout = test::Layout::unaligned;
  Plan plan;
  ASSERT_TRUE(choose(c, kHopper, plan).ok());
  EXPECT_EQ(plan.kernel(), Kernel::portable);
  EXPECT_EQ(plan.why().rfind("q ", 0), 0u) << plan.why();
}

TEST(Choice, EveryCaseOf16BitsHasAKernelOnEveryGpuSinceAmpere) {
  for (const test::Case& c : test::all_cases()) {
    if (is_fp8(c.dtype)) continue;
    for (const DeviceInfo& device : {kAmpere, kAda, kHopper, kConsumerBlackwell}) {
      Plan plan;
      const Status s = choose(c, device, plan);
      ASSERT_TRUE(s.ok()) << c.name() << ": " << s.message;
      if (device.major != 9) {
        EXPECT_EQ(plan.kernel(), Kernel::portable);
      }
    }
  }
}

TEST(Choice, Fp8TakesTheHopperKernelOrIsRefusedWithTheReason) {
  int taken = 0, refused = 0;
  for (const test::Case& c : test::all_cases()) {
    if (!is_fp8(c.dtype)) continue;
    Plan plan;
    const Status s = choose(c, kHopper, plan);
    if (s.ok()) {
      taken++;
      EXPECT_EQ(plan.kernel(), Kernel::hopper);
    } else {
      refused++;
      EXPECT_EQ(s.code, Code::unsupported);
      EXPECT_NE(s.message.find("; no other kernel takes fp8"), std::string::npos) << s.message;
      EXPECT_NE(s.message.find("as the Hopper kernel's copies need"),
                s.message.find("is none that the Hopper kernel's copies take"))
          << c.name() << ": " << s.message;
    }
    const Status elsewhere = choose(c, kAda, plan);
    EXPECT_EQ(elsewhere.code, Code::unsupported) << c.name();
    EXPECT_NE(elsewhere.message.find("9.0"), std::string::npos) << elsewhere.message;
  }
  EXPECT_GT(taken, 2000);
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 200);
}

TEST(Choice, Fp8PromotesInAWorkspaceOnlyWhereSharedMemoryHasNoRoom) {
  test::Case c = plain();
  c.dtype = DType::e4m3;
  c.batch = c.heads_q = c.heads_kv = 1;
  c.seqlen_q = 64;
  for (int64_t head_dim : {64, 128, 256}) {
    for (int64_t seqlen_kv : {kPromoteKeys / 2, 4 * kPromoteKeys}) {
      c.head_dim = head_dim;
      c.seqlen_kv = seqlen_kv;
      Plan plan;
      ASSERT_TRUE(choose(c, kHopper, plan).ok());
      const bool expected = head_dim == 256 && seqlen_kv > kPromoteKeys;
      EXPECT_EQ(plan.workspace_bytes() > 0, expected) << head_dim << ' ' << seqlen_kv;
      if (expected) {
        EXPECT_EQ(plan.run(nullptr, plan.workspace_bytes(), nullptr).message.find("the workspace"),
                  0u);
      }
    }
  }
}

TEST(Choice, Fp8TurnsVAheadWhereEnoughRowsShareItAndWorkspaceIsNotSpared) {
  test::Case c = plain();
  c.dtype = DType::e4m3;
  c.head_dim = 256;
  c.batch = 3;
  c.heads_q = 4;
  c.heads_kv = 2;
  c.seqlen_kv = 1000;
  const auto workspace = [&](int64_t seqlen_q, bool causal) {
    c.seqlen_q = seqlen_q;
    c.causal = causal;
    Plan plan;
    EXPECT_TRUE(choose(c, kHopper, plan).ok());
    return plan.workspace_bytes();
  };
  // Each head of V in whole blocks of 128 keys.
  constexpr size_t kTurned = 3 * 2 * 1024 * 256;
  EXPECT_LT(workspace(511, false), kTurned);
  EXPECT_GE(workspace(512, false), kTurned);
  EXPECT_LT(workspace(1023, true), kTurned);
  EXPECT_GE(workspace(1024, true), kTurned);
  // So many tiles fill the device that keys are not divided.
  c.key_splits = kFillDevice;
  EXPECT_GE(workspace(2048, true), kTurned);
  c.key_splits = 0;
  c.spare_workspace = true;
  EXPECT_LT(workspace(2048, true), kTurned);
  c.spare_workspace = false;
  c.head_dim = 128;
  EXPECT_LT(workspace(2048, true), kTurned);
}

// Its strides are those of nothing.
TEST(Choice, Fp8WithoutAQueryRowIsNothingToDo) {
  test::Case c = plain();
  c.dtype = DType::e4m3;
  c.batch = 3;
  c.seqlen_q = 0;
  Plan plan;
  EXPECT_TRUE(choose(c, kHopper, plan).ok());
}

// 2,048 rows are ten tiles of 192 and a cut one; twelve heads of them are as many as there are
// multiprocessors.
TEST(Choice, CutTilesOfManySectionsAreCountedOut) {
  test::Case c = plain();
  c.dtype = DType::e4m3;
  c.batch = 4;
  c.heads_q = c.heads_kv = 32;
  c.head_dim = 128;
  const auto order = [&](int64_t length) {
    c.seqlen_q = c.seqlen_kv = length;
    Plan plan;
    EXPECT_TRUE(choose(c, kHopper, plan).ok());
    const std::string text = plan.describe();
    return text.substr(text.find(" order="), 8);
  };
  EXPECT_EQ(order(2048), " order=2");
  EXPECT_EQ(order(1920), " order=0");  // none is cut
  EXPECT_EQ(order(1000), " order=0");  // one section: the cut tiles come last
}

TEST(Choice, ATransposedVMayNotBePacked) {
  test::Case c = plain();
  c.dtype = DType::e4m3;
  c.v_transposed = true;
  c.lengths = test::Lengths::packed;
  c.lengths_q = c.lengths_kv = {40, 30};
  c.batch = 2;
  c.seqlen_q = c.seqlen_kv = 40;
  Plan plan;
  const Status s = choose(c, kHopper, plan);
  EXPECT_EQ(s.code, Code::unsupported);
  EXPECT_NE(s.message.find("not packed"), std::string::npos) << s.message;
}

TEST(Choice, OlderGpusAreAnErrorThatSaysWhatIsNeeded) {
  Plan plan;
  const Status s = choose(plain(), kTuring, plan);
  EXPECT_EQ(s.code, Code::unsupported);
  EXPECT_EQ(s.message, "the portable kernel needs compute capability 8.0, and device 0 has 7.5");
}

TEST(Choice, TheHopperKernelAskedForElsewhereIsAnError) {
  Plan plan;
  const Status s = choose(plain(), kAmpere, plan, Kernel::hopper);
  EXPECT_EQ(s.code, Code::unsupported);
  EXPECT_NE(s.message.find("9.0"), std::string::npos) << s.message;
}

TEST(Choice, APlanDescribesItselfInOneLineWithoutAddresses) {
  test::Case c = plain();
  Forward call = call_of(c);
  for (Kernel kernel : test::kKernels) {
    call.kernel = kernel;
    Plan one, other;
    ASSERT_TRUE(prepare_for(call, kHopper, one).ok());
    Forward moved = call;
    for (Tensor* t : {&moved.q, &moved.k, &moved.v, &moved.o})
      t->data = static_cast<char*>(t->data) + 65536;
    ASSERT_TRUE(prepare_for(moved, kHopper, other).ok());
    EXPECT_EQ(one.describe(), other.describe());
    EXPECT_EQ(one.describe().find('\n'), std::string::npos);
  }
}

TEST(Split, FillsTheDeviceOnlyWhereAskedTo) {
  test::Case decode = plain();
  decode.seqlen_q = 1;
  decode.seqlen_kv = 8192;
  const auto parts = [&](int64_t key_splits, Kernel kernel) {
    decode.key_splits = key_splits;
    Plan plan;
    EXPECT_TRUE(choose(decode, kHopper, plan, kernel).ok());
    return plan.workspace_bytes() / (decode.heads_q * (decode.head_dim + 1) * sizeof(float));
  };
  for (Kernel kernel : {Kernel::hopper, Kernel::portable}) {
    EXPECT_EQ(parts(0, kernel), 0u);
    EXPECT_EQ(parts(1, kernel), 0u);
    EXPECT_EQ(parts(6, kernel), 6u);
  }
  // Two heads of one tile each on 132 multiprocessors, and 64 blocks of keys: two blocks a part.
  EXPECT_EQ(parts(kFillDevice, Kernel::hopper), 32u);
  decode.batch = 100;
  EXPECT_EQ(parts(kFillDevice, Kernel::hopper), 0u);
}

TEST(Decoding, HeadsThatShareKeysAreRowsOfOneTile) {
  test::Case decode = plain();
  decode.seqlen_q = 1;
  decode.heads_q = 24;
  decode.heads_kv = 3;
  decode.causal = true;
  Plan grouped;
  ASSERT_TRUE(choose(decode, kHopper, grouped).ok());
  EXPECT_NE(grouped.describe().find("grid=3 "), std::string::npos) << grouped.describe();
  EXPECT_EQ(problem_of(grouped).heads_q, 24);

  decode.seqlen_q = 2;
  Plan rows;
  ASSERT_TRUE(choose(decode, kHopper, rows).ok());
  EXPECT_NE(rows.describe().find("grid=24 "), std::string::npos) << rows.describe();
}

TEST(Decoding, HeadsWithAScaleOfTheirOwnStayHeads) {
  test::Case decode = plain();
  decode.dtype = DType::e4m3;
  decode.seqlen_q = 1;
  decode.heads_q = 24;
  decode.heads_kv = 3;
  const auto rows = [&] {
    Problem p;
    EXPECT_TRUE(validate(call_of(decode), p).ok());
    return rows_from_heads(p).seqlen_q;
  };
  EXPECT_EQ(rows(), 8);
  decode.scales = test::Scales::per_tensor;
  EXPECT_EQ(rows(), 8);
  decode.scales = test::Scales::per_head;
  EXPECT_EQ(rows(), 1);
  decode.scales = test::Scales::none;
  decode.o_dtype = DType::e5m2;
  EXPECT_EQ(rows(), 8);
  Forward call = call_of(decode);
  call.o_scale.stride_head = 1;
  Problem p;
  ASSERT_TRUE(validate(call, p).ok());
  EXPECT_EQ(rows_from_heads(p).seqlen_q, 1);
  // Those of K and V have one for all the heads that share them.
  call.o_scale = {};
  call.v_descale = {reinterpret_cast<const float*>(uintptr_t{1} << 44), 3, 1};
  ASSERT_TRUE(validate(call, p).ok());
  EXPECT_EQ(rows_from_heads(p).seqlen_q, 8);
}

TEST(Split, PartsHoldEachKeyOnceAndMasksStayWhereTheyWere) {
  Problem p;
  p.causal = true;
  for (int length_kv : {0, 1, 79, 80, 81, 1000}) {
    for (int length_q : {1, 60, 900}) {
      p.seqlen_q = length_q, p.seqlen_kv = length_kv;
      for (int splits : {1, 2, 3, 128}) {
        const Sequence whole{5, 7, length_q, length_kv};
        for (int row : {0, length_q / 2, length_q - 1}) {
          int seen = 0;
          int64_t next = whole.first_kv;
          for (int part = 0; part < splits; part++) {
            const auto [s, blocks] = part_of(whole, part, splits, 80);
            const int here = std::min(keys_seen(p, s, row), blocks * 80);
            if (here > 0) {
              EXPECT_EQ(s.first_kv, next);
            }
            next = s.first_kv + blocks * 80;
            seen += here;
          }
          EXPECT_EQ(seen, keys_seen(p, whole, row));
        }
      }
    }
  }
}

TEST(Cases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const test::Case& c : test::all_cases())
    EXPECT_TRUE(names.insert(c.name()).second) << c.name();
  EXPECT_GT(names.size(), 2000u);
}

}  // namespace
}  // namespace namesake::attention
