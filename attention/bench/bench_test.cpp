// What the bench says, from recorded data: no GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cells.h"
#include "results.h"
#include "util/file.h"

using namespace namesake;
using namespace namesake::bench;
using Json = nlohmann::ordered_json;

namespace {

Origin some_origin(const std::string& binary = "abc") {
  return {.device = {.name = "NVIDIA H200", .major = 9, .multiprocessors = 132},
          .card = gpu::CardState{.driver_version = "580"},
          .cudnn = "9.19.0",
          .binary = binary,
          .assembler = "nvcc 13.0.88"};
}

Measured some_cell(const Cell& cell, double ours, double peer, double low, double high) {
  Measured measured{.cell = cell};
  measured.ours = Speed{.name = "namesake",
                        .kernel = "hopper",
                        .teraflops = {.values = 10, .median = ours},
                        .error = 1e-3};
  measured.peer = Speed{.name = "cuDNN",
                        .kernel = "plan",
                        .teraflops = {.values = 10, .median = peer},
                        .error = 1e-3};
  measured.time = gpu::Comparison{
      .pairs = 10, .ratio = peer / ours, .interval = gpu::Interval{1 / high, 1 / low}};
  return measured;
}

Json document_of(const std::vector<Measured>& cells) {
  Json document = describe(some_origin(), {});
  document["cells"] = Json::array();
  for (const Measured& cell : cells) document["cells"].push_back(to_json(cell));
  judge(document);
  return document;
}

const Cell kCell{.length = 4096, .head_dim = 128, .causal = true};

TEST(Cells, HaveNamesThatDiffer) {
  std::set<std::string> names;
  for (const Cell& cell : field_table())
    EXPECT_TRUE(names.insert(cell.name()).second) << cell.name();
}

TEST(Cells, CoverEveryHeadDimMaskTypeAndLengthOfTheFieldsTable) {
  size_t found = 0;
  for (const Cell& cell : field_table()) found += cell.heads_q == cell.heads_kv;
  EXPECT_EQ(found, 3u * 2 * 2 * 8);
  EXPECT_FALSE(matching(field_table(), "*-h64x8-b1").empty());
  EXPECT_EQ(sustained_cells().size(), 12u);
  EXPECT_EQ(matching(field_table(), "fp16-d256-causal-n65536").size(), 1u);
}

TEST(Cells, CountTheOperationsOfTwoProducts) {
  const Cell cell{.batch = 2, .heads_q = 3, .heads_kv = 3, .length = 10, .head_dim = 64};
  EXPECT_EQ(cell.flops(), 2.0 * 3 * (2 * 10 * 10 * 64) * 2);
}

TEST(Figures, AreKnownForThisCardAndTheFieldsShapesOnly) {
  EXPECT_EQ(figure_for("NVIDIA H200", "cuDNN", kCell), 515);
  EXPECT_EQ(figure_for("NVIDIA H200", "FlashAttention-3", kCell), 653);
  EXPECT_FALSE(figure_for("NVIDIA H100", "cuDNN", kCell));
  Cell grouped = kCell;
  grouped.heads_kv = 8;
  EXPECT_FALSE(figure_for("NVIDIA H200", "cuDNN", grouped));
  Cell longest = kCell;
  longest.length = 65536;
  EXPECT_FALSE(figure_for("NVIDIA H200", "cuDNN", longest));
}

TEST(Judge, VoidsARunWhosePeerIsMoreThanThreePercentBelowItsFigure) {
  EXPECT_FALSE(document_of({some_cell(kCell, 600, 515 * 0.971, 1.1, 1.2)})["judgement"]["void"]);
  const Json voided = document_of({some_cell(kCell, 600, 515 * 0.969, 1.1, 1.2)});
  EXPECT_TRUE(voided["judgement"]["void"]);
  EXPECT_EQ(voided["judgement"]["peer_below_its_figure"][0]["cell"], kCell.name());
  EXPECT_NE(markdown(voided).find("**This run is void**"), std::string::npos);
}

TEST(Judge, TakesThePeersBestPlanForItsFigure) {
  Measured cell = some_cell(kCell, 600, 490, 1.1, 1.2);
  cell.plans = {{"slow", 300}, {"fast", 520}};
  EXPECT_FALSE(document_of({cell})["judgement"]["void"]);
}

TEST(Judge, NamesCellsWhoseIntervalLiesWhollyBelowThePeer) {
  Cell other = kCell;
  other.length = 8192;
  const Json document = document_of(
      {some_cell(kCell, 515, 520, 0.98, 0.995), some_cell(other, 570, 575, 0.98, 1.001)});
  ASSERT_EQ(document["judgement"]["behind_cudnn"].size(), 1u);
  EXPECT_EQ(document["judgement"]["behind_cudnn"][0], kCell.name());
}

TEST(Judge, AveragesSpeedRatiosGeometricallyForEachHeadDim) {
  Cell other = kCell;
  other.length = 8192;
  const Json document =
      document_of({some_cell(kCell, 1200, 600, 1.9, 2.1), some_cell(other, 300, 600, 0.49, 0.51)});
  EXPECT_NEAR(document["judgement"]["geometric_mean_of_speed_ratios"]["head_dim 128"].get<double>(),
              1, 1e-12);
}

TEST(Markdown, SaysWhyASideIsMissing) {
  Measured cell{.cell = kCell};
  cell.peer = Speed{.name = "cuDNN", .teraflops = {.median = 515}};
  cell.why_not_ours = "the GPU is too old";
  EXPECT_NE(markdown(document_of({cell})).find("the GPU is too old"), std::string::npos);
}

TEST(Results, GoOnFromTheirFileAndRefuseAnotherRuns) {
  auto folder = TemporaryFolder::make("bench-test");
  ASSERT_TRUE(folder);
  const auto path = folder->path() / "results.json";
  {
    auto results = Results::open(path, describe(some_origin(), {}));
    ASSERT_TRUE(results);
    ASSERT_TRUE(results->add("cells", to_json(some_cell(kCell, 600, 515, 1.1, 1.2))));
  }
  const auto again = Results::open(path, describe(some_origin(), {}));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->has("cells", kCell.name()));
  EXPECT_FALSE(again->has("sustained", kCell.name()));
  const auto other = Results::open(path, describe(some_origin("def"), {}));
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("holds another run"), std::string::npos);
}

TEST(Results, AForeignFileIsRefusedInOneSentence) {
  auto folder = TemporaryFolder::make("bench-test");
  for (const char* text : {"", "[1]", "{\"schema\": \"other/1.0\"}",
                           "{\"schema\": \"namesake.attention-bench/1.0\", \"cells\": 3}"}) {
    const auto path = folder->path() / "foreign.json";
    ASSERT_TRUE(write_file(path, text));
    const auto read = read_results(path);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
