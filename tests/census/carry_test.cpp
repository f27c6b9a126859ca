// What leaves a ledger and comes back: results as files, the matrix as a Ninja file, lines of text.
#include <fmt/format.h>

#include "bench.h"
#include "census/compare.h"
#include "census/plan.h"
#include "util/text.h"

namespace namesake::census {
namespace {

namespace fs = std::filesystem;

class Carried : public Bench {};

TEST_F(Carried, ACellReadsBackAsItWasWritten) {
  CellKey key{"0123", "sm_90a", "13.0.88", "stand-in", 2, assembly::Treatment::treated, 3};
  CellResult result;
  result.state = CellState::crashed;
  result.outcome.failure = "killed";
  auto read = read_cell(cell_file(key, result), "x.cell");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->key, key);
  EXPECT_EQ(read->result.state, CellState::crashed);
  EXPECT_EQ(read->result.outcome.failure, "killed");
}

TEST_F(Carried, ATornCellIsRefusedWithASentence) {
  std::string whole = cell_file({"0123", "sm_90", "13.0.88", "stand-in"}, {});
  for (size_t size = 0; size < whole.size(); ++size) {
    auto read = read_cell(whole.substr(0, size), "x.cell");
    ASSERT_FALSE(read) << size;
    EXPECT_NE(read.error().message.find("x.cell is no result"), std::string::npos);
  }
}

// What ninja's edges would do, without ninja.
void make_planned(Ledger& ledger, const RunRequest& wanted, const fs::path& results) {
  std::vector<CellKey> keys = cells_of(wanted.matrix, *units_of(ledger, wanted.matrix.inputs));
  Units units = *units_of(ledger, wanted.matrix.inputs);
  fs::create_directories(results);
  int number = 0;
  for (const CellKey& key : keys) {
    auto result = make_cell(units.at(key.text), wanted.matrix.assemblers[0], key, wanted.hooks,
                            wanted.timeout);
    ASSERT_TRUE(result);
    ASSERT_TRUE(write_file(results / fmt::format("{}.cell", ++number), cell_file(key, *result)));
  }
}

TEST_F(Carried, CollectedResultsEqualThoseOfARun) {
  Ledger here = ledger("here.sqlite"), there = ledger("there.sqlite");
  toolchain::Tool tool = assembler("");
  make(here, request(here, {tool}));
  RunRequest wanted = request(there, {tool});
  make_planned(there, wanted, folder.path() / "results");
  auto collected = collect(there, {folder.path() / "results"});
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_TRUE(collected->refused.empty());
  EXPECT_EQ(lines(there), lines(here));
  auto again = collect(there, {folder.path() / "results"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->taken, 0u);
  EXPECT_EQ(again->known, collected->taken);
}

TEST_F(Carried, ForeignFilesAreLeftOutAndNamed) {
  Ledger book = ledger();
  input(book);
  fs::path results = folder.path() / "results";
  fs::create_directories(results);
  ASSERT_TRUE(write_file(results / "a.cell", "nonsense"));
  ASSERT_TRUE(
      write_file(results / "b.cell", cell_file({"of another ledger", "sm_90", "1", "2"}, {})));
  auto collected = collect(book, {results});
  ASSERT_TRUE(collected);
  EXPECT_EQ(collected->taken, 0u);
  EXPECT_EQ(collected->refused.size(), 2u);
}

TEST_F(Carried, APlanHasAnEdgeForEachMissingCellAndNoneWhenAllIsMade) {
  Ledger book = ledger();
  RunRequest wanted = request(book, {assembler("")});
  fs::path ninja = folder.path() / "a plan" / "build.ninja";
  fs::create_directories(ninja.parent_path());
  auto edges = write_plan(book, wanted.matrix, ninja, "/some where/namesake");
  ASSERT_TRUE(edges) << edges.error().message;
  EXPECT_EQ(*edges, 3u);  // untreated, treated, and the probe
  std::string text = *read_file(ninja);
  EXPECT_NE(text.find("namesake = '/some where/namesake'"), std::string::npos);
  EXPECT_TRUE(fs::exists(ninja.parent_path() / "inputs" / (wanted.matrix.inputs[0].hash + ".ptx")));
  make(book, wanted);
  EXPECT_EQ(*write_plan(book, wanted.matrix, ninja, "namesake"), 0u);
}

TEST_F(Carried, LinesOfEqualLedgersAreEqualWhateverTheOrderOfWork) {
  Ledger first = ledger("first.sqlite"), second = ledger("second.sqlite");
  toolchain::Tool older = assembler("", "12.9.86"), newer = assembler("");
  make(first, request(first, {newer, older}));
  make(second, request(second, {older}));
  make(second, request(second, {newer}));
  EXPECT_EQ(lines(first), lines(second));
}

TEST_F(Carried, ANewReleaseAddsLinesAndChangesNone) {
  Ledger book = ledger();
  make(book, request(book, {assembler("", "12.9.86")}));
  std::string before = lines(book);
  make(book, request(book, {assembler("")}));
  std::string after = lines(book);
  for (std::string_view line : split(before, '\n')) {
    EXPECT_NE(after.find(std::string(line) + "\n"), std::string::npos) << line;
  }
}

TEST_F(Carried, ACheckHoldsForWhatWasExported) {
  Ledger book = ledger();
  make(book, request(book, {assembler("")}));
  auto check = check_lines(lines(book), "lines", book);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->compared, 4);  // two kernels in two treatments
  EXPECT_TRUE(check->discrepancies.empty());
}

TEST_F(Carried, ACheckFindsAnAssemblerThatChanged) {
  Ledger book = ledger("book.sqlite"), changed = ledger("changed.sqlite");
  make(book, request(book, {assembler("")}));
  make(changed, request(changed, {assembler("react=all")}));
  auto check = check_lines(lines(book), "lines", changed);
  ASSERT_TRUE(check) << check.error().message;
  ASSERT_EQ(check->discrepancies.size(), 1u);
  EXPECT_EQ(check->discrepancies[0].where, "sample:small_kernel sm_90 13.5.37 O3 treated");
}

TEST_F(Carried, ACheckFindsATreatedBuildThatNowDies) {
  Ledger book = ledger("book.sqlite"), changed = ledger("changed.sqlite");
  make(book, request(book, {assembler("")}));
  make(changed, request(changed, {assembler("crash=treated")}));
  auto check = check_lines(lines(book), "lines", changed);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->discrepancies.size(), 2u);  // both kernels of the module
}

TEST_F(Carried, OtherPtxUnderTheNameIsUnknownNotDifferent) {
  Ledger book = ledger("book.sqlite"), other = ledger("other.sqlite");
  make(book, request(book, {assembler("")}));
  RunRequest wanted = request(other, {assembler("")});
  auto entered =
      other.add_input("sample", *read_file(sample("8.3")), {"large_kernel", "small_kernel"});
  ASSERT_TRUE(entered);
  wanted.matrix.inputs = {*entered};
  make(other, wanted);
  auto check = check_lines(lines(book), "lines", other);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->compared, 0);
  EXPECT_EQ(check->unknown, 4);
}

TEST_F(Carried, LinesThatAreNoLedgerAreRefused) {
  Ledger book = ledger();
  EXPECT_FALSE(check_lines("", "x", book));
  EXPECT_FALSE(check_lines("# namesake census 1\nbuild\tx\n", "x", book));
  EXPECT_FALSE(check_lines("# namesake census 1\nnonsense\n", "x", book));
}

TEST_F(Carried, TwoBuildsBecomeADifference) {
  Ledger book = ledger();
  make(book, request(book, {assembler("", "12.9.86"), assembler("react=all")}));
  auto assemblers = book.assemblers();
  ASSERT_TRUE(assemblers);
  Comparison comparison;
  Side base{assemblers->back()};
  comparison.a = *parse_side("12.9,treated", base, *assemblers);
  comparison.b = *parse_side("13.5,treated", base, *assemblers);
  auto difference = compare(book, comparison);
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(difference->a.label, "ptxas 12.9.86");
  EXPECT_EQ(function(*difference, "large_kernel").verdict, report::Verdict::same);
  EXPECT_EQ(function(*difference, "small_kernel").verdict, report::Verdict::different);
}

TEST_F(Carried, ABuildThatTheLedgerLacksIsNamedWithWhatItHas) {
  Ledger book = ledger();
  make(book, request(book, {assembler("")}));
  auto assemblers = book.assemblers();
  ASSERT_TRUE(assemblers);
  auto side = parse_side("11.8", Side{assemblers->back()}, *assemblers);
  ASSERT_FALSE(side);
  EXPECT_NE(side.error().message.find("13.5.37"), std::string::npos);
}

}  // namespace
}  // namespace namesake::census
