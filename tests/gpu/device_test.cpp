// The same layer on a real GPU: skipped where there is none.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>

#include "gpu/clocks.h"
#include "gpu/equality.h"
#include "gpu/memory.h"
#include "gpu/module.h"
#include "gpu/pairing.h"

using namespace namesake;
using namespace namesake::gpu;

namespace {

// Adds 1 to each of n words; and spins for a number of cycles, so that times are known to be
// unequal.
constexpr const char* kPtx = R"(
.version 6.4
.target sm_52
.address_size 64
.visible .entry add_one(.param .u64 words, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %d<3>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r3, %r1, %r2, %r0;
  ld.param.u32 %r4, [n];
  setp.ge.u32 %p, %r3, %r4;
  @%p ret;
  ld.param.u64 %d0, [words];
  mul.wide.u32 %d1, %r3, 4;
  add.u64 %d2, %d0, %d1;
  ld.global.u32 %r5, [%d2];
  add.u32 %r5, %r5, 1;
  st.global.u32 [%d2], %r5;
  ret;
}
.visible .entry spin(.param .u64 cycles)
{
  .reg .pred %p;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [cycles];
  mov.u64 %d1, %clock64;
again:
  mov.u64 %d2, %clock64;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p, %d3, %d0;
  @%p bra again;
  ret;
}
)";

struct OnGpu : testing::Test {
  void SetUp() override {
    auto loaded = load_driver();
    if (!loaded)
      GTEST_SKIP() << loaded.error().message << "; run this test on a machine with a GPU";
    driver = std::move(*loaded);
    auto device = open_device(*driver, 0);
    ASSERT_TRUE(device) << device.error().message;
    auto made = Context::retain(*driver, *device);
    ASSERT_TRUE(made) << made.error().message;
    context.emplace(std::move(*made));
    stream = std::move(*create_stream(*context));
    auto compiled = load_module(*context, std::string(kPtx));
    ASSERT_TRUE(compiled) << compiled.error().message;
    module = std::move(*compiled);
  }
  Graph spinning(uint64_t cycles) {
    const Kernel kernel = *find_kernel(module, "spin");
    auto graph = record_graph(stream, [&] {
      std::array<void*, 1> arguments = {&cycles};
      return launch(stream, kernel, {.grid = {1}, .block = {1}}, arguments);
    });
    return std::move(*graph);
  }
  std::unique_ptr<const Driver> driver;
  std::optional<Context> context;
  Stream stream;
  Module module;
};

TEST_F(OnGpu, AKernelComputes) {
  const unsigned n = 1000;
  const Buffer buffer = std::move(*Buffer::allocate(*context, n * 4));
  ASSERT_TRUE(fill(stream, buffer.address(), 0, n * 4));
  const Kernel kernel = *find_kernel(module, "add_one");
  DeviceAddress address = buffer.address();
  unsigned count = n;
  std::array<void*, 2> arguments = {&address, &count};
  const Launch shape{.grid = {(n + 127) / 128}, .block = {128}};
  ASSERT_TRUE(prepare(*context, kernel, shape));
  ASSERT_TRUE(launch(stream, kernel, shape, arguments));
  const auto words = values_of(*read(stream, buffer), Element::kU32);
  EXPECT_EQ(words, std::vector<double>(n, 1.0));
}

TEST_F(OnGpu, ALongerKernelIsFoundSlowerAndItsClockIsRead) {
  const Graph shorter = spinning(4'000'000), longer = spinning(4'400'000);
  const Graph* both[] = {&longer, &shorter};
  const auto rounds = time_rounds(*context, stream, both, {.rounds = 20, .warm_up = 3});
  ASSERT_TRUE(rounds) << rounds.error().message;
  const Comparison comparison = compare(pair_cycles(*rounds, 0, 1));
  EXPECT_NEAR(comparison.ratio, 1.1, 0.02);
  EXPECT_EQ(comparison.verdict, Verdict::kSlower);
  const double clock = rounds->front().timings[0].megahertz;
  EXPECT_GT(clock, 200);
  EXPECT_LT(clock, 4000);
  RecordProperty("megahertz", std::to_string(clock));
}

TEST_F(OnGpu, EqualKernelsShowNoDifferenceBeyondTwoPercent) {
  const Graph one = spinning(4'000'000), two = spinning(4'000'000);
  const Graph* both[] = {&one, &two};
  const auto rounds =
      time_rounds(*context, stream, both, {.rounds = 20, .warm_up = 3, .cold_cache = true});
  ASSERT_TRUE(rounds) << rounds.error().message;
  EXPECT_EQ(compare(pair_cycles(*rounds, 0, 1), {.dead_band = 0.02}).verdict,
            Verdict::kNoDifference);
}

TEST_F(OnGpu, TheCardTellsItsClocksAndTheTwoTimersAreRelated) {
  const auto card = Card::open(context->device());
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_FALSE((*card)->state().driver_version.empty());
  EXPECT_GT((*card)->sample().clock_mhz, 0u);
  const auto first = host_minus_gpu_ns(*context, stream),
             second = host_minus_gpu_ns(*context, stream);
  ASSERT_TRUE(first && second);
  EXPECT_LT(std::abs(*first - *second), 1'000'000);
}

TEST_F(OnGpu, ATensorMapIsEncodedOnHopperAndNewer) {
  if (context->device().major < 9)
    GTEST_SKIP() << "tensor maps need compute capability 9.0 or newer";
  const Buffer buffer = std::move(*Buffer::allocate(*context, 128 * 128 * 2));
  EXPECT_TRUE(encode_tensor_map(
      *context, buffer.address(),
      {.sizes = {128, 128}, .strides = {256}, .box = {64, 64}, .swizzle = kSwizzle128}));
}

}  // namespace
