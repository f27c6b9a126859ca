// The search against answers that are made up: a name reacts where the test says so.
#include "study/probe_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "ptx/lexer.h"

namespace namesake::study {
namespace {

using Reacts = std::function<Change(const std::string&)>;

// Every suspicion is confirmed, unless `noise` says that the name varies of itself.
struct Fake {
  Reacts reacts;
  std::function<bool(const std::string&)> noise = [](const std::string&) { return false; };
  size_t asked = 0;

  Oracle oracle() {
    return {[this](const std::vector<std::string>& names) -> Result<std::vector<Answer>> {
              std::vector<Answer> answers;
              for (const std::string& name : names) {
                EXPECT_TRUE(ptx::is_identifier(name)) << name;
                Change change = reacts(name);
                if (change == Change::none && noise(name)) change = Change::code;
                answers.push_back({change, change == Change::refused ? "reserved" : ""});
              }
              asked += names.size();
              return answers;
            },
            [this](const std::string& name) -> Result<Verdict> {
              return Verdict{reacts(name) != Change::none, false, 5};
            }};
  }
  Search inside(const std::vector<std::string>& words) {
    Oracle asked = oracle();
    return search_inside(asked, words).value();
  }
  Search names(const std::vector<std::string>& words) {
    Oracle asked = oracle();
    return search_names(asked, words, {}).value();
  }
};

Reacts to(std::vector<Trigger> triggers) {
  return [triggers](const std::string& name) {
    for (const Trigger& trigger : triggers) {
      if (explains(trigger, name)) return trigger.change;
    }
    return Change::none;
  };
}

Trigger trigger(const std::string& text, Match match = Match::substring, bool any_case = false) {
  Trigger result;
  result.text = text;
  result.match = match;
  result.any_case = any_case;
  return result;
}

std::set<std::string> texts(const Search& search) {
  std::set<std::string> result;
  for (const Trigger& trigger : search.triggers) result.insert(trigger.text);
  return result;
}

std::vector<std::string> many_words(size_t count) {
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i)
    words.push_back("word_" + std::to_string(i * 7919 % 100003) + "_of_many");
  return words;
}

TEST(ProbeSearch, AWordIsCutToTheTextThatDoesIt) {
  std::vector<std::string> words = many_words(500);
  words[321] = "my_cutlass_kernel";
  Search search = Fake{to({trigger("cutlass")})}.inside(words);
  ASSERT_EQ(search.triggers.size(), 1u);
  EXPECT_EQ(search.triggers[0].text, "cutlass");
  EXPECT_EQ(search.triggers[0].match, Match::substring);
  EXPECT_EQ(search.triggers[0].found_in, "my_cutlass_kernel");
  EXPECT_FALSE(search.triggers[0].any_case);
}

TEST(ProbeSearch, SeveralTriggersInOneNameAreAllFound) {
  Search search = Fake{to({trigger("flash"), trigger("gemm"), trigger("conv")})}.inside(
      {"aflasha", "xgemmx", "zzz", "conv2d"});
  EXPECT_EQ(texts(search), (std::set<std::string>{"flash", "gemm", "conv"}));
}

TEST(ProbeSearch, TwoTriggersInOneWordAreBothFound) {
  Search search =
      Fake{to({trigger("flash"), trigger("gemm")})}.inside({"other", "flash_gemm", "words"});
  EXPECT_EQ(texts(search), (std::set<std::string>{"flash", "gemm"}));
}

TEST(ProbeSearch, AConditionOfTwoWordsIsNamedWhole) {
  auto both = [](const std::string& name) {
    return name.find("flash") != name.npos && name.find("gemm") != name.npos ? Change::code
                                                                             : Change::none;
  };
  Search search = Fake{both}.inside({"one", "flash", "two", "three", "gemm", "four"});
  ASSERT_EQ(search.triggers.size(), 1u);
  EXPECT_EQ(search.triggers[0].match, Match::together);
  EXPECT_EQ(search.triggers[0].text, "flash + gemm");
}

TEST(ProbeSearch, ACrashIsAFinding) {
  Trigger crash = trigger("tcgen");
  crash.change = Change::crash;
  Search search = Fake{to({crash})}.inside({"a", "tcgen05", "b"});
  ASSERT_EQ(search.triggers.size(), 1u);
  EXPECT_EQ(search.triggers[0].change, Change::crash);
}

TEST(ProbeSearch, CaseIsToldApart) {
  Search search = Fake{to({trigger("flash", Match::substring, true), trigger("gemm")})}.inside(
      {"FLASH", "gemm", "GEMM"});
  std::set<std::pair<std::string, bool>> found;
  for (const Trigger& trigger : search.triggers) found.insert({trigger.text, trigger.any_case});
  EXPECT_EQ(found, (std::set<std::pair<std::string, bool>>{{"FLASH", true}, {"gemm", false}}));
}

TEST(ProbeSearch, ATextSeenAtABeginningOnlyIsNotCalledASubstring) {
  Fake fake{to({trigger("__cuda_uf_stub_", Match::prefix)})};
  std::vector<std::string> words = {"kernel", "__cuda_uf_stub_", "__cuda_uf_stub_more",
                                    "not__cuda_uf_stub_"};
  EXPECT_TRUE(fake.inside(words).triggers.empty());
  Search search = fake.names(words);
  ASSERT_EQ(search.triggers.size(), 1u);
  EXPECT_EQ(search.triggers[0].text, "__cuda_uf_stub_");
  EXPECT_EQ(search.triggers[0].match, Match::prefix);
}

TEST(ProbeSearch, ExactNamesAndEndsAreToldApart) {
  Search search =
      Fake{to({trigger("main_kernel", Match::exact), trigger("_stub", Match::suffix)})}.names(
          {"main_kernel", "main_kernels", "some_stub", "stub_some"});
  std::set<std::pair<std::string, Match>> found;
  for (const Trigger& trigger : search.triggers) found.insert({trigger.text, trigger.match});
  EXPECT_EQ(found, (std::set<std::pair<std::string, Match>>{{"main_kernel", Match::exact},
                                                            {"_stub", Match::suffix}}));
}

TEST(ProbeSearch, AReservedWordIsNoFinding) {
  Fake fake{
      [](const std::string& name) { return name == "WARP_SZ" ? Change::refused : Change::none; }};
  Search search = fake.names({"WARP_SZ", "kernel"});
  EXPECT_TRUE(search.triggers.empty());
  ASSERT_EQ(search.refused.size(), 1u);
  EXPECT_EQ(search.refused[0].word, "WARP_SZ");
}

TEST(ProbeSearch, ALetterThatNoNameMayHoldIsRefusedOnceNotWordByWord) {
  Fake fake{[](const std::string& name) {
    return name.find('$') != name.npos         ? Change::refused
           : name.find("cutlass") != name.npos ? Change::code
                                               : Change::none;
  }};
  std::vector<std::string> words = many_words(300);
  for (int i = 0; i < 300; ++i) words.push_back("a$" + std::to_string(i));
  words.push_back("cutlass");
  for (const Search& search : {fake.inside(words), fake.names(words)}) {
    EXPECT_EQ(texts(search), std::set<std::string>{"cutlass"});
    ASSERT_EQ(search.refused.size(), 1u);
    EXPECT_EQ(search.refused[0].word, "$");
    EXPECT_EQ(search.texts, 301u);
    EXPECT_EQ(search.left_out, 300u);
  }
  EXPECT_LT(fake.asked, 500u);
}

TEST(ProbeSearch, ATextOnlySeenNearTheFrontIsSaidToBe) {
  auto near = [](const std::string& name) {
    return name.find("flash") < 500 ? Change::code : Change::none;
  };
  Search search = Fake{near}.inside({"flash"});
  ASSERT_EQ(search.triggers.size(), 1u);
  EXPECT_FALSE(search.triggers[0].at_far_end);
}

TEST(ProbeSearch, NoiseRaisesNoAlarmAndHidesNoTrigger) {
  Fake fake{to({trigger("cutlass")})};
  fake.noise = [](const std::string& name) { return std::hash<std::string>()(name) % 3 == 0; };
  std::vector<std::string> words = many_words(300);
  words[200] = "in_cutlass_in";
  EXPECT_EQ(texts(fake.inside(words)), std::set<std::string>{"cutlass"});
}

TEST(ProbeSearch, ACodeThatNeverRestsIsGivenUp) {
  Fake fake{to({})};
  fake.noise = [](const std::string&) { return true; };
  Search search = fake.names(many_words(1000));
  EXPECT_TRUE(search.triggers.empty());
  EXPECT_TRUE(search.given_up);
}

TEST(ProbeSearch, ManyWordsCostFewNames) {
  Fake fake{to({trigger("cutlass")})};
  std::vector<std::string> words = many_words(20000);
  words[12345] = "cutlass";
  fake.inside(words);
  EXPECT_LT(fake.asked, 600u);
}

// Any triggers, none holding another, each inside some word of the dictionary: all are found, as
// what they are, and nothing else is.
RC_GTEST_PROP(ProbeSearch, WhateverIsPlantedIsFoundAndNothingElse, ()) {
  auto letters =
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcdefghijklmnoprstuv_")));
  auto word = rc::gen::suchThat(letters, [](const std::string& text) {
    return text.size() >= 4 && text.size() < 40 && text[0] != '_';
  });
  auto words = *rc::gen::suchThat(rc::gen::unique<std::vector<std::string>>(word),
                                  [](const auto& all) { return all.size() >= 3; });
  std::vector<Trigger> planted;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    const std::string& from = *rc::gen::elementOf(words);
    Match match = *rc::gen::element(Match::substring, Match::prefix, Match::suffix, Match::exact);
    size_t size =
        match == Match::exact
            ? from.size()
            : static_cast<size_t>(*rc::gen::inRange<int>(3, static_cast<int>(from.size()) + 1));
    size_t begin = match == Match::suffix      ? from.size() - size
                   : match == Match::substring ? static_cast<size_t>(*rc::gen::inRange<int>(
                                                     0, static_cast<int>(from.size() - size) + 1))
                                               : 0;
    Trigger fresh = trigger(from.substr(begin, size), match, *rc::gen::arbitrary<bool>());
    if (std::none_of(fresh.text.begin(), fresh.text.end(), [](char c) { return c != '_'; }))
      fresh.any_case = false;
    bool apart = std::none_of(planted.begin(), planted.end(), [&](const Trigger& other) {
      return other.text.find(fresh.text) != other.text.npos ||
             fresh.text.find(other.text) != fresh.text.npos;
    });
    // A word that two of them change shows one of them only.
    bool alone = std::none_of(words.begin(), words.end(), [&](const std::string& each) {
      return explains(fresh, each) &&
             std::any_of(planted.begin(), planted.end(),
                         [&](const Trigger& other) { return explains(other, each); });
    });
    if (apart && alone) planted.push_back(fresh);
  }
  Fake fake{to(planted)};
  Oracle asked = fake.oracle();
  Search inside = search_inside(asked, words).value();
  Search names = search_names(asked, words, inside.triggers).value();
  std::set<std::tuple<std::string, Match, bool>> expected, found;
  for (const Trigger& each : planted) expected.insert({each.text, each.match, each.any_case});
  for (const Search* search : {&inside, &names}) {
    for (const Trigger& each : search->triggers)
      found.insert({each.text, each.match, each.any_case});
  }
  RC_ASSERT(found == expected);
}

}  // namespace
}  // namespace namesake::study
