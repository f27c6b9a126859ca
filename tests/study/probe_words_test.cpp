#include <gtest/gtest.h>

#include <algorithm>

#include "study/probe_words.h"

namespace namesake::study {
namespace {

bool holds(const Dictionary& dictionary, const std::string& word) {
  return std::count(dictionary.words.begin(), dictionary.words.end(), word) == 1;
}

Dictionary of(std::string_view bytes, const std::vector<std::string>& added = {}) {
  return dictionary(bytes, added);
}

TEST(ProbeWords, AFormatIsTakenApartIntoItsWords) {
  Dictionary words = of(std::string_view("\x01.func __cuda_uf_stub_%s( ) {\0", 31));
  EXPECT_TRUE(holds(words, "__cuda_uf_stub_"));
  EXPECT_TRUE(holds(words, "func"));
}

TEST(ProbeWords, ATextInsideAnInstructionIsTakenThoughNoZeroEndsIt) {
  EXPECT_TRUE(holds(of("\x48\xb8"
                       "cutlass\xff"),
                    "cutlass"));
}

TEST(ProbeWords, ShortRunsOutsideStringsAreNoWords) {
  EXPECT_TRUE(of("\x48\xb8"
                 "abcde\xff")
                  .words.empty());
}

TEST(ProbeWords, EachWordComesInRot13Too) {
  Dictionary words = of(std::string_view("phgynff\0", 8));
  EXPECT_TRUE(holds(words, "cutlass"));
  EXPECT_EQ(words.from_file, 1u);
  EXPECT_EQ(words.from_rot13, 1u);
}

TEST(ProbeWords, AWordComesOnceHoweverOftenItStandsThere) {
  EXPECT_EQ(of(std::string_view("flash\0flash\0synfu\0", 18)).words.size(), 2u);
}

TEST(ProbeWords, WhatCanBeNoPartOfANameIsSaid) {
  Dictionary words = of("", {"flash", "two words", "ünïcode", ""});
  EXPECT_EQ(words.words, std::vector<std::string>{"flash"});
  EXPECT_EQ(words.unusable.size(), 3u);
}

TEST(ProbeWords, RunsOfDataAreNoWords) {
  EXPECT_TRUE(of(std::string(100000, 'A') + '\0').words.empty());
}

TEST(ProbeWords, AListMayHoldCommentsAndSeveralWordsALine) {
  EXPECT_EQ(words_of("flash gemm # not me\n\n  conv\r\n"),
            (std::vector<std::string>{"flash", "gemm", "conv"}));
}

}  // namespace
}  // namespace namesake::study
