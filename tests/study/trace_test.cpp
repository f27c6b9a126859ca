#include "study/trace.h"

#include <gtest/gtest.h>

namespace namesake::study {
namespace {

session::NameTest test_of(const std::string& name, const std::string& needle, uint64_t site, bool truth = false) {
  session::NameTest test;
  test.process = 7;
  test.name = name;
  test.needle = needle;
  test.image = "/opt/ptxas";
  test.call_site = site;
  test.truth = test.given = truth;
  return test;
}

TEST(Trace, AQuestionPutTwiceIsOneRowCountedTwice) {
  session::Recording recording;
  recording.tests = {test_of("sgemm", "cutlass", 16), test_of("sgemm", "cutlass", 16), test_of("saxpy", "cutlass", 16)};
  report::Trace result = trace(recording, {});
  ASSERT_EQ(result.processes.size(), 1u);
  ASSERT_EQ(result.processes[0].tests.size(), 2u);
  EXPECT_EQ(result.processes[0].tests[0].times + result.processes[0].tests[1].times, 3);
  EXPECT_EQ(result.processes[0].functions_asked_about, 2);
  EXPECT_EQ(result.processes[0].tests[0].call_site, "ptxas+0x10");
}

TEST(Trace, ACallSiteThatWalksATableIsALookUp) {
  session::Recording recording;
  for (const char* known : {"vprintf", "malloc", "free", "__assertfail"}) recording.tests.push_back(test_of("sgemm", known, 32));
  recording.tests.push_back(test_of("sgemm", "cutlass", 16));
  report::Trace result = trace(recording, {});
  for (const report::NameTest& test : result.processes.at(0).tests) EXPECT_EQ(test.look_up, test.needle != "cutlass") << test.needle;
  EXPECT_NE(result.conclusion.find("1 text"), std::string::npos);
}

TEST(Trace, QuestionsAboutTheTargetAreNoneAboutAName) {
  session::Recording recording;
  recording.tests = {test_of("sm_90", "sm_", 48, true), test_of("texmode_unified", "sm_", 48)};
  report::Trace result = trace(recording, {});
  EXPECT_EQ(result.processes.at(0).functions_asked_about, 0);
  EXPECT_NE(result.conclusion.find("no name test"), std::string::npos);
}

TEST(Trace, NothingAssembledIsSaid) {
  EXPECT_NE(trace({}, {}).conclusion.find("nothing was assembled"), std::string::npos);
}

TEST(Trace, ADiscardedRunsTestsDoNotCount) {
  session::Recording recording;
  recording.tests = {test_of("sgemm", "cutlass", 16)};
  recording.tests[0].discarded = true;
  EXPECT_TRUE(trace(recording, {}).processes.empty());
}

}  // namespace
}  // namespace namesake::study
