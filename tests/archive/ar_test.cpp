#include "archive/ar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "util/file.h"
#include "util/subprocess.h"

namespace namesake::archive {
namespace {

std::string member(std::string_view name, std::string_view data) {
  std::string padding(data.size() % 2, '\n');
  return fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n{}{}", name, 0, 0, 0, 644, data.size(),
                     data, padding);
}

std::string failure(const std::string& file) {
  auto members = read_ar(file, "x.a");
  return members ? "" : members.error().message;
}

TEST(Ar, short_long_and_bsd_names_are_read) {
  std::string file = "!<arch>\n" + member("/", "symbols") +
                     member("//", "a_name_too_long_for_its_field.o/\n") +
                     member("short.o/", "one") + member("/0", "two!") +
                     member("#1/8", std::string("bsd.o\0\0\0three", 13));
  auto members = read_ar(file, "x.a");
  ASSERT_TRUE(members) << members.error().message;
  ASSERT_EQ(members->size(), 3u);
  EXPECT_EQ((*members)[0].name, "short.o");
  EXPECT_EQ((*members)[0].data, "one");
  EXPECT_EQ((*members)[1].name, "a_name_too_long_for_its_field.o");
  EXPECT_EQ((*members)[1].data, "two!");
  EXPECT_EQ((*members)[2].name, "bsd.o");
  EXPECT_EQ((*members)[2].data, "three");
}

TEST(Ar, what_ar_writes_is_read) {
  auto folder = TemporaryFolder::make("namesake-ar");
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_file(folder->path() / "a_rather_long_member_name.o", "content"));
  Command command;
  command.folder = folder->path();
  command.arguments = {"ar", "rc", "x.a", "a_rather_long_member_name.o"};
  auto done = run(command);
  if (!done) GTEST_SKIP() << "no ar on this machine; install binutils";
  ASSERT_TRUE(done->ok()) << done->err;
  auto file = read_file(folder->path() / "x.a");
  ASSERT_TRUE(file);
  auto members = read_ar(*file, "x.a");
  ASSERT_TRUE(members) << members.error().message;
  ASSERT_EQ(members->size(), 1u);
  EXPECT_EQ(members->front().name, "a_rather_long_member_name.o");
  EXPECT_EQ(members->front().data, "content");
}

TEST(Ar, a_thin_archive_says_that_it_holds_nothing) {
  EXPECT_NE(failure("!<thin>\n").find("give the object files themselves"), std::string::npos);
}

TEST(Ar, a_cut_or_damaged_archive_is_an_error_in_one_sentence) {
  std::string file = "!<arch>\n" + member("a.o/", "some data here") + member("b.o/", "more");
  for (size_t size = 9; size < file.size(); ++size) {
    if (size == 8 + 60 + 14) continue;  // cut between members, which nobody can tell
    EXPECT_NE(failure(file.substr(0, size)), "") << size;
  }
  file[8 + 58] = 'x';
  EXPECT_NE(failure(file).find("member 1 has no header"), std::string::npos);
  EXPECT_NE(failure("!<arch>\n" + fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a", 0, 0, 0,
                                              0, "9999999999")),
            "");
  EXPECT_NE(failure("!<arch>\n" +
                    fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a", 0, 0, 0, 0, -1)),
            "");
}

}  // namespace
}  // namespace namesake::archive
