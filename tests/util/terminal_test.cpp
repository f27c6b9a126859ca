#include "util/terminal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>

namespace namesake {
namespace {

TEST(DisplayWidth, CountsCodePointsAndNoEscapes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("a…é"), 3u);
  EXPECT_EQ(display_width("\033[1;31mred\033[0m"), 3u);
}

TEST(ElideMiddle, KeepsBothEnds) {
  EXPECT_EQ(elide_middle("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(elide_middle("abc", 5), "abc");
}

RC_GTEST_PROP(ElideMiddle, NeverIsWiderThanAsked, (const std::string& text)) {
  size_t width = *rc::gen::inRange<size_t>(3, 60);
  std::string plain;
  for (char c : text) plain += static_cast<char>('!' + (static_cast<unsigned char>(c) % 90));
  RC_ASSERT(display_width(elide_middle(plain, width)) <= width);
}

TEST(WantsColor, NoColorBeatsForceColorAndTheFlagBeatsBoth) {
  ::setenv("FORCE_COLOR", "1", 1);
  EXPECT_TRUE(wants_color(stdout));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_color(stdout));
  EXPECT_TRUE(wants_color(stdout, ColorChoice::always));
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(wants_color(stdout));
  ::unsetenv("NO_COLOR");
  ::unsetenv("FORCE_COLOR");
  EXPECT_FALSE(wants_color(stdout, ColorChoice::never));
}

}  // namespace
}  // namespace namesake
