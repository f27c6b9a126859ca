#include "census/run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "bench.h"

namespace namesake::census {
namespace {

using report::Reaction;

class Run : public Bench {};

TEST_F(Run, FindsWhichKernelsReact) {
  Ledger book = ledger();
  make(book, request(book, {assembler("")}));
  report::Census census = told(book);
  EXPECT_EQ(point(census, "large_kernel").reaction, Reaction::different);
  EXPECT_EQ(point(census, "small_kernel").reaction, Reaction::same);
}

TEST_F(Run, AssemblesNothingTwice) {
  Ledger book = ledger();
  RunRequest wanted = request(book, {assembler("")});
  RunReport first = make(book, wanted), second = make(book, wanted);
  EXPECT_GT(first.cost.cells, 0);
  EXPECT_EQ(second.wanted, first.wanted);
  EXPECT_EQ(second.cost.cells, 0);
}

TEST_F(Run, TheSameTextUnderAnotherNameCostsNothing) {
  Ledger book = ledger();
  RunRequest wanted = request(book, {assembler("")});
  make(book, wanted);
  auto copy = book.add_input("copy", *read_file(sample()), {"large_kernel", "small_kernel"});
  ASSERT_TRUE(copy);
  wanted.matrix.inputs = {*copy};
  EXPECT_EQ(make(book, wanted).cost.cells, 0);
  EXPECT_EQ(told(book).kernels.size(), 4u);
}

TEST_F(Run, ALotteryIsDrawnSeveralTimesAndItsSetsOverlap) {
  Ledger book = ledger();
  RunRequest wanted = request(book, {assembler("lottery=3 react=none")});
  wanted.matrix.draws = 12;
  // The probe is one draw: it may hit the fixed run's code, so it gets several chances.
  for (int probe = 1; probe <= 6; ++probe) {
    CellKey key{wanted.matrix.inputs[0].hash,   "sm_90", "13.5.37", "stand-in", 3,
                assembly::Treatment::untreated, probe};
    auto cells = book.want({key});
    ASSERT_TRUE(cells);
    assembly::Unit unit = units_of(book, wanted.matrix.inputs)->begin()->second;
    auto result = make_cell(unit, wanted.matrix.assemblers[0], key, wanted.hooks, wanted.timeout);
    ASSERT_TRUE(result);
    ASSERT_TRUE(book.store(cells->front().id, *result));
  }
  make(book, wanted);
  report::Census census = told(book);
  const report::CensusPoint& large = point(census, "large_kernel");
  EXPECT_EQ(large.reaction, Reaction::lottery);
  EXPECT_EQ(large.untreated.draws, 13);
  EXPECT_EQ(large.treated.draws, 13);
  EXPECT_GT(large.untreated.codes.size(), 1u);
}

TEST_F(Run, ABuildThatRepeatsIsNotDrawnAgain) {
  Ledger book = ledger();
  make(book, request(book, {assembler("")}));
  report::Census census = told(book);
  EXPECT_EQ(point(census, "large_kernel").untreated.draws, 2);  // the run itself and the probe
  EXPECT_EQ(point(census, "large_kernel").treated.draws, 1);
}

TEST_F(Run, ACrashOfOneTreatmentIsAResult) {
  Ledger book = ledger();
  make(book, request(book, {assembler("crash=treated")}));
  report::Census census = told(book);
  const report::CensusPoint& large = point(census, "large_kernel");
  EXPECT_EQ(large.reaction, Reaction::failed);
  EXPECT_TRUE(large.untreated.built());
  EXPECT_TRUE(large.treated.crashed);
}

TEST_F(Run, AHangIsAResult) {
  Ledger book = ledger();
  RunRequest wanted = request(book, {assembler("hang=treated")});
  wanted.timeout = std::chrono::milliseconds(300);
  make(book, wanted);
  EXPECT_TRUE(point(told(book), "large_kernel").treated.timed_out);
}

TEST_F(Run, TextThatIsTooNewForAnAssemblerIsNotExpressibleThere) {
  Ledger book = ledger();
  RunRequest wanted = request(book, {assembler("fail=Not_a_name", "11.8.89"), assembler("")});
  auto entered =
      book.add_input("newer", *read_file(sample("8.7")), {"large_kernel", "small_kernel"});
  ASSERT_TRUE(entered);
  wanted.matrix.inputs = {*entered};
  make(book, wanted);
  report::Census census = told(book);
  EXPECT_EQ(point(census, "large_kernel", "11.8.89").reaction, Reaction::impossible);
  EXPECT_EQ(point(census, "large_kernel").reaction, Reaction::different);
}

TEST_F(Run, AnArchitectureThatAnAssemblerDoesNotKnowIsNotAsked) {
  Ledger book = ledger();
  RunRequest wanted = request(book, {assembler("", "11.8.89")});
  wanted.matrix.architectures = {"sm_90", "sm_100a"};
  make(book, wanted);
  EXPECT_EQ(told(book).architectures, std::vector<std::string>{"sm_90"});
}

TEST_F(Run, InterruptedItGoesOnWhereItWas) {
  Ledger whole = ledger("whole.sqlite"), parts = ledger("parts.sqlite");
  toolchain::Tool tool = assembler("");
  make(whole, request(whole, {tool}));
  RunRequest wanted = request(parts, {tool});
  wanted.workers = 1;
  for (bool finished = false; !finished;) {
    std::atomic<int> looks{0};
    wanted.stop = [&] { return ++looks > 4; };
    finished = run(parts, wanted).has_value();
  }
  EXPECT_EQ(lines(parts), lines(whole));
}

TEST_F(Run, ControlsCompareTreatedWithRenamed) {
  for (const char* settings : {"", "bypass=yes"}) {
    Ledger book = ledger(std::string("book") + settings);
    RunRequest wanted = request(book, {assembler(settings)});
    wanted.matrix.treatments = {assembly::Treatment::untreated, assembly::Treatment::treated,
                                assembly::Treatment::renamed};
    make(book, wanted);
    const report::Control control = told(book).controls.at(0);
    EXPECT_EQ(control.name, "treated equals renamed");
    EXPECT_EQ(control.checked, 2);
    EXPECT_EQ(control.failed, *settings ? 1 : 0) << settings;
  }
}

// A child works on the ledger and is killed without warning; its claims must not outlive it.
TEST_F(Run, AKilledProcessLeavesNoClaimBehind) {
  Ledger whole = ledger("whole.sqlite");
  toolchain::Tool slow = assembler("slow=60");
  RunRequest wanted = request(whole, {slow});
  make(whole, wanted);
  std::string expected = lines(whole);
  for (int milliseconds : {20, 90, 170}) {
    std::string name = "killed" + std::to_string(milliseconds);
    pid_t child = ::fork();
    if (child == 0) {
      Ledger own = ledger(name);
      (void)run(own, request(own, {slow}));
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    Ledger book = ledger(name);
    make(book, request(book, {slow}));
    EXPECT_EQ(lines(book), expected) << milliseconds;
  }
}

TEST_F(Run, TwoProcessesShareTheWork) {
  toolchain::Tool slow = assembler("slow=40");
  { Ledger made = ledger(); }
  pid_t child = ::fork();
  if (child == 0) {
    Ledger own = ledger();
    auto report = run(own, request(own, {slow}));
    ::_exit(report ? static_cast<int>(report->cost.cells) : 255);
  }
  Ledger book = ledger();
  RunReport report = make(book, request(book, {slow}));
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_NE(WEXITSTATUS(status), 255);
  EXPECT_EQ(WEXITSTATUS(status) + report.cost.cells, report.wanted);
  EXPECT_EQ(told(book).cells, report.wanted);
}

}  // namespace
}  // namespace namesake::census
