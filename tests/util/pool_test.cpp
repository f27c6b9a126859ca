#include "util/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace namesake {
namespace {

TEST(ForEachParallel, RunsEveryJobOnce) {
  std::vector<std::atomic<int>> runs(1000);
  for_each_parallel(runs.size(), 4, [&](size_t i) { ++runs[i]; });
  for (auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(ForEachParallel, NeverRunsMoreAtATimeThanAsked) {
  std::atomic<int> now{0}, most{0};
  for_each_parallel(200, 3, [&](size_t) {
    int mine = ++now;
    for (int seen = most; mine > seen && !most.compare_exchange_weak(seen, mine);) {}
    --now;
  });
  EXPECT_LE(most, 3);
}

TEST(ForEachParallel, DropsWhatHasNotBegunOnceStopped) {
  std::atomic<size_t> runs{0};
  for_each_parallel(1000, 2, [&](size_t) { ++runs; }, [&] { return runs >= 10; });
  EXPECT_LE(runs, 12u);
}

TEST(AvailableProcessors, IsAtLeastOne) { EXPECT_GE(available_processors(), 1); }

}  // namespace
}  // namespace namesake
