#include "gpu/pairing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "gpu/clocks.h"

using namespace namesake;
using namespace namesake::gpu;

namespace {

RC_GTEST_PROP(BalancedOrdersProperty, EveryRoundTimesEveryAlternativeOnce, ()) {
  const auto alternatives = *rc::gen::inRange<size_t>(1, 6);
  const auto rounds = *rc::gen::inRange<size_t>(0, 40);
  const auto orders = balanced_orders(alternatives, rounds, *rc::gen::arbitrary<uint64_t>());
  RC_ASSERT(orders.size() == rounds);
  for (auto order : orders) {
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < alternatives; ++i) RC_ASSERT(order[i] == i);
  }
}

RC_GTEST_PROP(BalancedOrdersProperty, EachSecondRoundReversesTheOneBefore, ()) {
  const auto orders =
      balanced_orders(*rc::gen::inRange<size_t>(1, 6), 20, *rc::gen::arbitrary<uint64_t>());
  for (size_t i = 0; i + 1 < orders.size(); i += 2) {
    const std::vector<size_t> reversed(orders[i].rbegin(), orders[i].rend());
    RC_ASSERT(orders[i + 1] == reversed);
  }
}

TEST(BalancedOrders, StartWithEitherAlternativeAboutEquallyOften) {
  const auto orders = balanced_orders(2, 2000, 5);
  size_t first = 0;
  for (size_t i = 0; i < orders.size(); i += 2) first += orders[i][0] == 0;
  EXPECT_GT(first, 400u);
  EXPECT_LT(first, 600u);
}

std::vector<ClockReading> readings(uint64_t cycles, uint64_t ns) {
  return {{cycles, ns}, {}, {cycles + 77, ns}};
}

TEST(ClockBetween, IsCyclesOverTimeAndSkipsMultiprocessorsNobodyReached) {
  const ClockSpan span =
      clock_between(readings(1000, 5'000'000), readings(1000 + 3'000'000, 7'000'000));
  EXPECT_DOUBLE_EQ(span.megahertz, 1500);
  EXPECT_EQ(span.begin_ns, 5'000'000u);
  EXPECT_EQ(span.end_ns, 7'000'000u);
}

TEST(ClockBetween, ClaimsNoClockForAnIntervalTooShortForTheTimer) {
  EXPECT_EQ(clock_between(readings(0, 5'000'000), readings(15'000, 5'010'000)).megahertz, 0);
}

struct OnFakeGpu : testing::Test {
  void SetUp() override {
    driver = std::move(*load_driver(FAKE_DRIVER));
    context.emplace(std::move(*Context::retain(*driver, *open_device(*driver, 0))));
    stream = std::move(*create_stream(*context));
    module = std::move(*load_module(*context, std::string("ptx")));
  }
  Graph graph_of(const std::string& symbol, int launches) {
    const Kernel kernel = *find_kernel(module, symbol);
    auto graph = record_graph(stream, [&]() -> Status {
      for (int i = 0; i < launches; ++i) TRY(launch(stream, kernel, {}, {}));
      return {};
    });
    return std::move(*graph);
  }
  std::unique_ptr<const Driver> driver;
  std::optional<Context> context;
  Stream stream;
  Module module;
};

TEST_F(OnFakeGpu, EachAlternativeGetsItsOwnTimeAndTheClockInForce) {
  const Graph slow = graph_of("sleep_700", 3), fast = graph_of("sleep_500", 3);
  const Graph* both[] = {&slow, &fast};
  const auto rounds = time_rounds(*context, stream, both, {.rounds = 8, .cold_cache = true});
  ASSERT_TRUE(rounds) << rounds.error().message;
  ASSERT_EQ(rounds->size(), 8u);
  for (const Round& round : *rounds) {
    EXPECT_NEAR(round.timings[0].milliseconds, 2.1, 1e-6);
    EXPECT_NEAR(round.timings[1].milliseconds, 1.5, 1e-6);
    EXPECT_NEAR(round.timings[0].megahertz, 1500, 1e-3);
    EXPECT_NEAR(round.timings[0].cycles(), 2.1e3 * 1500, 1);
  }
  EXPECT_NEAR(compare(pair_times(*rounds, 0, 1)).ratio, 1.4, 1e-6);
  EXPECT_NEAR(compare(pair_cycles(*rounds, 0, 1)).ratio, 1.4, 1e-6);
}

TEST_F(OnFakeGpu, AHangEndsTheTimingWithAnError) {
  const Graph graph = graph_of("sleep_1", 1);
  const Graph* one[] = {&graph};
  setenv("FAKE_CUDA_HANGS", "1", 1);
  const auto rounds =
      time_rounds(*context, stream, one, {.rounds = 1, .limit = std::chrono::milliseconds(20)});
  unsetenv("FAKE_CUDA_HANGS");
  EXPECT_FALSE(rounds);
}

Round round_at(uint64_t begin_ns, uint64_t end_ns) {
  return {.order = {0}, .timings = {{.milliseconds = 1, .begin_ns = begin_ns, .end_ns = end_ns}}};
}

TEST(DropSpoiled, TakesOutRoundsNearAThermalSlowdownAndKeepsPowerCappedOnes) {
  std::vector<Round> rounds = {round_at(100, 200), round_at(1100, 1200), round_at(4100, 4200)};
  const std::vector<CardSample> samples = {{.host_ns = 10'000, .slowdowns = kPowerCap},
                                           {.host_ns = 11'000, .slowdowns = kPowerCap},
                                           {.host_ns = 12'000, .slowdowns = kThermalHardware},
                                           {.host_ns = 13'000, .slowdowns = kPowerCap},
                                           {.host_ns = 15'000, .slowdowns = kPowerCap}};
  EXPECT_EQ(drop_spoiled(rounds, samples, 10'000), 1u);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].timings[0].begin_ns, 100u);
  EXPECT_EQ(rounds[1].timings[0].begin_ns, 4100u);
}

TEST(Summarize, TakesPowerFromTheEnergyCounterBetweenItsSteps) {
  std::vector<CardSample> samples;
  for (uint64_t i = 0; i <= 100;
       ++i)  // 10 ms apart; the counter steps every 70 ms at 600 W; the sensor lies
    samples.push_back({.host_ns = i * 10'000'000,
                       .clock_mhz = 1500,
                       .watts = 100,
                       .joules = 42.0 * static_cast<double>(i / 7)});
  const CardSummary summary = summarize(samples);
  EXPECT_NEAR(summary.watts, 600, 1e-6);
  EXPECT_NEAR(summary.seconds, 1, 1e-9);
  EXPECT_NEAR(summary.joules, 600, 1e-6);
  EXPECT_EQ(summary.clock_mhz, 1500);
  EXPECT_TRUE(summary.energy_counted);
}

TEST(Summarize, DoesNotTrustAnEnergyCounterThatStepsOnlyAFewTimes) {
  std::vector<CardSample> samples;
  for (uint64_t i = 0; i < 20; ++i)
    samples.push_back(
        {.host_ns = i * 10'000'000, .watts = 300, .joules = 42.0 * static_cast<double>(i / 7)});
  const CardSummary summary = summarize(samples);
  EXPECT_FALSE(summary.energy_counted);
  EXPECT_NEAR(summary.watts, 300, 1e-9);
}

TEST(Summarize, FallsBackToThePowerSensorIfNoEnergyIsCounted) {
  const std::vector<CardSample> samples = {{.host_ns = 0, .watts = 300},
                                           {.host_ns = 1'000'000'000, .watts = 500}};
  EXPECT_DOUBLE_EQ(summarize(samples).watts, 400);
}

TEST(DescribeSlowdowns, NamesEveryReason) {
  EXPECT_EQ(describe_slowdowns(0), "none");
  EXPECT_EQ(describe_slowdowns(kPowerCap | kThermalHardware), "power cap, thermal (hardware)");
}

TEST_F(OnFakeGpu, ACardTellsWhatItKnowsAndLeavesTheRestEmpty) {
  const auto card = Card::open(context->device(), FAKE_NVML);
  ASSERT_TRUE(card) << card.error().message;
  const CardState state = (*card)->state();
  EXPECT_EQ(state.driver_version, "580.1");
  EXPECT_EQ(state.ecc, true);
  EXPECT_FALSE(state.mig.has_value());
  EXPECT_EQ(state.power_limit_watts, 700);
  EXPECT_EQ(state.other_processes, std::vector<unsigned>{4242});
}

TEST_F(OnFakeGpu, AWatchSamplesUntilItIsStopped) {
  Watch watch(*Card::open(context->device(), FAKE_NVML), std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto samples = watch.stop();
  EXPECT_GT(samples.size(), 10u);
  EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end(),
                             [](const auto& a, const auto& b) { return a.host_ns < b.host_ns; }));
  EXPECT_NEAR(summarize(samples).watts, 600, 30);
}

TEST_F(OnFakeGpu, ACardThatNvmlDoesNotKnowIsAnError) {
  Device other = context->device();
  other.bus_id = "0000:02:00.0";
  EXPECT_FALSE(Card::open(other, FAKE_NVML));
  EXPECT_FALSE(Card::open(other, "libno_such_nvml.so.1"));
}

}  // namespace
