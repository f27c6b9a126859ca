#include "measure/sweep.h"

#include <gtest/gtest.h>

namespace namesake::measure {
namespace {

LaunchFile launch(std::vector<SizeEntry> sizes) {
  LaunchFile launch;
  launch.sizes = std::move(sizes);
  return launch;
}

TEST(Sweep, WalksTheListsSideBySide) {
  auto settings = sweep_of(launch({{"m", 4096, {1024, 2048}}, {"n", 512, {64, 128}}}));
  EXPECT_EQ(settings, (std::vector<Sizes>{{{"m", 1024}, {"n", 64}}, {{"m", 2048}, {"n", 128}}}));
}

TEST(Sweep, AShorterListStaysAtItsLastAndAMissingOneAtItsDefault) {
  auto settings = sweep_of(launch({{"m", 9, {1, 2, 3}}, {"n", 9, {7}}, {"k", 5, {}}}));
  EXPECT_EQ(settings[2], (Sizes{{"m", 3}, {"n", 7}, {"k", 5}}));
}

TEST(Sweep, WithoutListsThereIsNothingMore) {
  EXPECT_TRUE(sweep_of(launch({{"m", 4096, {}}})).empty());
}

report::Measurement measured(report::Finding finding, Sizes sizes) {
  report::Measurement measurement;
  measurement.kernels.resize(1);
  measurement.kernels[0].launch_file = NAMESAKE_SOURCE_DIR "/kernels/sgemm.toml";
  measurement.kernels[0].finding = finding;
  measurement.kernels[0].sizes = std::move(sizes);
  return measurement;
}

TEST(Sweep, LeavesOutTheSizesThatWereMeasured) {
  Sizes standard = {{"m", 4096}, {"n", 4096}, {"k", 4096}};
  auto more = still_to_measure(measured(report::Finding::slower, standard));
  EXPECT_EQ(more.size(), 2u);
  EXPECT_FALSE(more.contains(standard));
}

TEST(Sweep, LeavesOutWhatIsDecidedAlready) {
  EXPECT_TRUE(still_to_measure(measured(report::Finding::same_code, {})).empty());
  EXPECT_TRUE(still_to_measure(measured(report::Finding::refused, {})).empty());
}

}  // namespace
}  // namespace namesake::measure
