#include "util/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace namesake {
namespace {

Command shell(const std::string& script) { return {.arguments = {"sh", "-c", script}}; }

TEST(Run, CollectsBothStreamsAndTheStatus) {
  auto done = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "out\n");
  EXPECT_EQ(done->err, "err\n");
  EXPECT_EQ(done->exit_status, 3);
  EXPECT_FALSE(done->ok());
}

TEST(Run, TellsASignalFromAStatus) {
  auto done = run(shell("kill -SEGV $$"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->signal, SIGSEGV);
  EXPECT_NE(done->how_it_ended().find("signal 11"), std::string::npos);
}

TEST(Run, EndsAHangingTreeAtTheTimeout) {
  Command command = shell("sleep 60 & sleep 60");
  command.timeout = std::chrono::milliseconds(200);
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->timed_out);
  EXPECT_LT(done->wall_seconds, 10);
}

TEST(Run, EndsAChildThatClosedItsOutputAndHangs) {
  Command command = shell("exec >&- 2>&-; sleep 60");
  command.timeout = std::chrono::milliseconds(200);
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->timed_out);
  EXPECT_LT(done->wall_seconds, 10);
}

TEST(Run, EndsAChildThatPrintsWithoutEnd) {
  Command command = shell("yes");
  command.output_limit = 1 << 20;
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->flooded);
  EXPECT_LE(done->out.size(), size_t{1} << 20);
}

TEST(Run, AProgramThatIsNotThereIsAnError) {
  auto done = run({.arguments = {"namesake-no-such-program"}});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("namesake-no-such-program"), std::string::npos);
  EXPECT_FALSE(run({.arguments = {"/nowhere/program"}}));
}

TEST(Run, AddsAndRemovesVariables) {
  Command command = shell("echo $ADDED-$HOME");
  command.environment = {"ADDED=yes"};
  command.unset = {"HOME"};
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "yes-\n");
}

TEST(Run, FeedsItsInputWhole) {
  Command command = shell("wc -c");
  command.input = std::string(3'000'000, 'x');
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_EQ(std::stoll(done->out), 3'000'000);
}

TEST(Run, AChildThatReadsNoInputDoesNotStopUs) {
  Command command = shell("exit 0");
  command.input = std::string(3'000'000, 'x');
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->ok());
}

TEST(Run, FixedAddressesRepeat) {
  Command command = {.arguments = {"cat", "/proc/self/maps"}};
  command.fixed_addresses = true;
  auto first = run(command), second = run(command);
  ASSERT_TRUE(first && second);
  if (!first->addresses_fixed) GTEST_SKIP() << "personality() is refused here (a container's filter)";
  auto stack = [](const std::string& maps) { return maps.substr(0, maps.find(' ')); };
  EXPECT_EQ(stack(first->out), stack(second->out));
}

TEST(Quoted, CanBePastedIntoAShell) {
  EXPECT_EQ(quoted({"a", "b c", "it's", ""}), "a 'b c' 'it'\\''s' ''");
}

}  // namespace
}  // namespace namesake
