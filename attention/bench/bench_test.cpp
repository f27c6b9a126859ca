// What the bench says, from recorded data: no GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cells.h"
#include "results.h"
#include "story_page.h"
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
  size_t found = 0, in_fp8 = 0;
  for (const Cell& cell : field_table()) {
    in_fp8 += cell.fp8();
    found += !cell.fp8() && cell.heads_q == cell.heads_kv;
  }
  EXPECT_EQ(found, 3u * 2 * 2 * 8);
  EXPECT_EQ(in_fp8, 3u * 2 * 2 * 7);  // both layouts of V, from 1,024 on
  EXPECT_FALSE(matching(field_table(), "*-h64x8-b1").empty());
  EXPECT_EQ(sustained_cells().size(), 18u);
  EXPECT_EQ(matching(field_table(), "e4m3-d64-full-n1024-vt").size(), 1u);
  EXPECT_EQ(matching(field_table(), "fp16-d256-causal-n65536").size(), 1u);
}

TEST(Cells, OfTheStoryAreThoseOfTheOriginalReport) {
  EXPECT_EQ(story_cells().size(), 2u * 2 * 2 * 7);
  for (const Cell& cell : story_cells()) EXPECT_LE(cell.batch * cell.length, 65536) << cell.name();
  EXPECT_EQ(matching(story_cells(), "e4m3-d128-causal-n65536-b1").size(), 1u);
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
  Cell fp8 = kCell;
  fp8.dtype = attention::DType::e4m3;
  EXPECT_EQ(figure_for("NVIDIA H200", "cuDNN", fp8), 718);
  fp8.v_transposed = true;
  EXPECT_FALSE(figure_for("NVIDIA H200", "cuDNN", fp8));
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

TEST(Judge, KeepsFp8AndItsLayoutsApart) {
  Cell fp8 = kCell, transposed = kCell;
  fp8.dtype = transposed.dtype = attention::DType::e4m3;
  transposed.v_transposed = true;
  const Json document =
      document_of({some_cell(kCell, 600, 600, 0.9, 1.1), some_cell(fp8, 1400, 700, 1.9, 2.1),
                   some_cell(transposed, 2100, 700, 2.9, 3.1)});
  const Json& means = document["judgement"]["geometric_mean_of_speed_ratios"];
  EXPECT_NEAR(means["head_dim 128"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(means["fp8, head_dim 128"].get<double>(), 2, 1e-12);
  EXPECT_NEAR(means["fp8, V transposed, head_dim 128"].get<double>(), 3, 1e-12);
}

CodePair some_codes(attention::Kernel kernel, const Cell& cell, const std::string& treated) {
  return {.kernel = kernel,
          .dtype = cell.dtype,
          .head_dim = cell.head_dim,
          .causal = kernel == attention::Kernel::hopper && cell.causal,
          .untreated = {.symbol = "_Zsm80forward", .hash = "aaaa", .registers = 128},
          .treated = {.symbol = "_Zsm80_cutlassforward", .hash = treated, .registers = 130}};
}

Speed some_speed(const std::string& name, double teraflops) {
  return {.name = name, .teraflops = {.values = 6, .median = teraflops}};
}

// One cell: the Hopper kernel has one code, the portable kernel two.
StoryCell some_story(const Cell& cell, int64_t differing_bytes) {
  StoryCell story{.cell = cell};
  story.told.push_back({.kernel = attention::Kernel::hopper,
                        .codes = some_codes(attention::Kernel::hopper, cell, "aaaa"),
                        .untreated = some_speed("untreated", 612)});
  story.told.push_back(
      {.kernel = attention::Kernel::portable,
       .codes = some_codes(attention::Kernel::portable, cell, "bbbb"),
       .untreated = some_speed("untreated", 250),
       .treated = some_speed("treated", 275),
       .time = gpu::Comparison{.pairs = 6, .ratio = 1 / 1.1, .interval = gpu::Interval{0.9, 0.92}},
       .differing_bytes = differing_bytes});
  story.peer = some_speed("cuDNN", 515);
  return story;
}

Json story_of(const std::vector<StoryCell>& cells) {
  Json document = document_of({});
  for (const StoryCell& cell : cells) document["story"].push_back(to_json(cell));
  return document;
}

Cell half(int64_t length) {
  return {.dtype = attention::DType::fp16, .length = length, .head_dim = 128, .causal = true};
}

TEST(Codes, OfAKernelAreFoundByItsHeadDimTypeAndMask) {
  const std::vector<CodePair> pairs = {some_codes(attention::Kernel::hopper, half(1024), "bbbb"),
                                       some_codes(attention::Kernel::portable, half(1024), "cccc")};
  Cell cell = half(2048);
  EXPECT_EQ(pair_for(pairs, attention::Kernel::hopper, cell), &pairs[0]);
  EXPECT_EQ(pair_for(pairs, attention::Kernel::portable, cell), &pairs[1]);
  cell.causal = false;
  EXPECT_EQ(pair_for(pairs, attention::Kernel::hopper, cell), nullptr);
  EXPECT_EQ(pair_for(pairs, attention::Kernel::portable, cell), &pairs[1]);
  cell.dtype = attention::DType::e4m3;
  EXPECT_EQ(pair_for(pairs, attention::Kernel::portable, cell), nullptr);
}

TEST(Story, HasABlockForEachKernelAndARowForEachLength) {
  const std::string text =
      story_text(story_of({some_story(half(1024), 0), some_story(half(2048), 0)}));
  EXPECT_NE(text.find("**hopper, head_dim 128, causal**"), std::string::npos);
  EXPECT_NE(text.find("| length | fp16 untreated | fp16 treated | cuDNN fp16 |"),
            std::string::npos);
  EXPECT_NE(text.find("| 1024 | 612 | same code | 515 |"), std::string::npos);
  EXPECT_NE(text.find("| 2048 | 250 | 275 (1.100: 1.087–1.111) | 515 |"), std::string::npos);
}

TEST(Story, ShowsTheHashWhereTheNameChangesNothing) {
  const std::string text = story_text(story_of({some_story(half(1024), 0)}));
  EXPECT_NE(text.find("fp16: the name changes nothing, both are aaaa"), std::string::npos);
  EXPECT_NE(text.find("fp16: aaaa untreated, bbbb treated; results equal bit for bit in 1 of 1"),
            std::string::npos);
}

TEST(Story, CountsCellsWhoseResultsDiffer) {
  const std::string text =
      story_text(story_of({some_story(half(1024), 0), some_story(half(2048), 7)}));
  EXPECT_NE(text.find("results equal bit for bit in 1 of 2"), std::string::npos);
}

TEST(Story, DrawsALineForEachBuildThatWasTimed) {
  const std::string svg = story_figure(story_of({some_story(half(1024), 0)}));
  size_t lines = 0;
  for (size_t at = svg.find("<polyline"); at != std::string::npos;
       at = svg.find("<polyline", at + 1))
    ++lines;
  EXPECT_EQ(lines, 5u);  // Hopper's one code and cuDNN, the portable kernel's two and cuDNN
  EXPECT_EQ(svg.find("http", 40), std::string::npos);
}

TEST(Story, FigureInTheDocumentIsMadeFromTheCommittedResults) {
  const std::filesystem::path root = NAMESAKE_SOURCE_DIR;
  const auto results = root / "results/attention-story.json",
             figure = root / "docs/attention-story.svg";
  if (!std::filesystem::exists(results))
    GTEST_SKIP()
        << "no story is committed: attention-bench --story -o results/attention-story.json";
  const auto document = read_results(results);
  ASSERT_TRUE(document) << document.error().message;
  const std::string made = story_figure(*document);
  if (std::getenv("NAMESAKE_UPDATE_GOLDEN")) {
    ASSERT_TRUE(write_file(figure, made));
  }
  const auto text = read_file(figure);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, made) << "NAMESAKE_UPDATE_GOLDEN=1 makes it anew";
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
