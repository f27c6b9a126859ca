#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "hook/protocol.h"
#include "session/records.h"
#include "targets.h"

namespace namesake::session {
namespace {

// A ring that a real process wrote.
std::string real_ring() {
  Hook hook = make_hook({});
  Input input(".target sm_90\n.entry first\n.entry second_cutlass\n");
  Command command;
  command.arguments = {target("ptxas"), input.path(), "-o", input.output()};
  command.environment = hook.variables();
  EXPECT_TRUE(run(command)->ok());
  for (const auto& file : std::filesystem::directory_iterator(hook.folder() / "rings")) {
    return *read_file(file.path());
  }
  return "";
}

TEST(Ring, reads_back_what_was_asked) {
  auto ring = parse_ring(real_ring());
  ASSERT_TRUE(ring.has_value());
  ASSERT_EQ(ring->tests.size(), 4u);
  EXPECT_EQ(ring->tests[0].needle, "sm_");
  EXPECT_EQ(ring->tests[1].needle, "sm_");
  EXPECT_EQ(ring->tests[2].name, "first");
  EXPECT_FALSE(ring->tests[2].truth);
  EXPECT_EQ(ring->tests[3].name, "second_cutlass");
  EXPECT_TRUE(ring->tests[3].truth);
  EXPECT_EQ(ring->unfinished, 0u);
}

TEST(Ring, cut_anywhere_gives_the_records_before_the_cut) {
  std::string file = real_ring();
  size_t before = 0;
  for (size_t length = 0; length < 2000; length++) {
    auto ring = parse_ring(Bytes(file).substr(0, length));
    EXPECT_EQ(ring.has_value(), length >= sizeof(ns_ring));
    if (!ring) continue;
    EXPECT_GE(ring->tests.size(), before);
    before = ring->tests.size();
  }
  EXPECT_EQ(before, 4u);
}

TEST(Ring, steps_over_a_claim_that_nothing_was_written_into) {
  std::string file = real_ring();
  uint32_t size = 0;
  std::memcpy(&size, file.data() + sizeof(ns_ring) + offsetof(ns_record, size), 4);
  std::memset(file.data() + sizeof(ns_ring), 0, size);
  auto ring = parse_ring(file);
  ASSERT_TRUE(ring.has_value());
  EXPECT_EQ(ring->tests.size(), 3u);
  EXPECT_EQ(ring->unfinished, 1u);
}

TEST(Ring, steps_over_a_record_that_was_not_published) {
  std::string file = real_ring();
  std::memset(file.data() + sizeof(ns_ring) + offsetof(ns_record, state), 0, 4);
  auto ring = parse_ring(file);
  ASSERT_TRUE(ring.has_value());
  EXPECT_EQ(ring->tests.size(), 3u);
  EXPECT_EQ(ring->unfinished, 1u);
}

TEST(Ring, of_another_protocol_is_refused_by_name) {
  std::string file = real_ring();
  uint32_t other = NAMESAKE_PROTOCOL + 1;
  std::memcpy(file.data() + offsetof(ns_ring, protocol), &other, 4);
  auto ring = parse_ring(file);
  ASSERT_FALSE(ring.has_value());
  EXPECT_NE(ring.error().message.find("protocol 2"), std::string::npos);
}

RC_GTEST_PROP(Ring, survives_any_damage, ()) {
  static const std::string whole = real_ring();
  std::string file = whole.substr(0, 2000);
  for (int i = 0; i < *rc::gen::inRange(1, 30); i++) {
    file[*rc::gen::inRange<size_t>(0, file.size())] = *rc::gen::arbitrary<char>();
  }
  auto ring = parse_ring(file);
  if (ring) RC_ASSERT(ring->tests.size() <= file.size() / sizeof(ns_record));
}

TEST(Table, that_is_cut_short_is_refused) {
  Hook hook = make_hook({});
  std::string table = *read_file(hook.folder() / "table");
  uint64_t not_entered = 0;
  EXPECT_TRUE(parse_table(table, not_entered).has_value());
  EXPECT_FALSE(parse_table(Bytes(table).substr(0, table.size() - 1), not_entered).has_value());
  EXPECT_FALSE(parse_table("", not_entered).has_value());
}

TEST(Fallback, reads_back_what_was_noted) {
  Fallback fallback{12, 34, "/opt/cuda tools/ptxas", "signal 11 (Segmentation fault)"};
  auto read = parse_fallback(format_fallback(fallback));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->process, 12u);
  EXPECT_EQ(read->treated_process, 34u);
  EXPECT_EQ(read->program, fallback.program);
  EXPECT_EQ(read->reason, fallback.reason);
  EXPECT_FALSE(parse_fallback("").has_value());
}

TEST(Recording, names_files_that_it_cannot_read) {
  Hook hook = make_hook({});
  ASSERT_TRUE(write_file(hook.folder() / "rings" / "1.0", "rubbish").has_value());
  auto recording = hook.recording();
  ASSERT_TRUE(recording.has_value());
  ASSERT_EQ(recording->damaged.size(), 1u);
  EXPECT_EQ(recording->damaged[0], "1.0: it is no ring");
}

}  // namespace
}  // namespace namesake::session
