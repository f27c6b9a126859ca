#include <gtest/gtest.h>

#include <set>

#include "ptx/ptx.h"

namespace namesake::ptx {
namespace {

constexpr std::string_view kTrigger = "cutlass";

TEST(Names, AreAsLongAsTheSymbol) {
  std::string symbol = "_ZN4mine5sgemmILi128EEEviPKf";
  EXPECT_EQ(neutral_name(symbol, 0).size(), symbol.size());
  EXPECT_EQ(name_with(symbol, kTrigger).size(), symbol.size());
}

TEST(Names, OfAShortSymbolAreAlikeInLength) {
  for (std::string_view symbol : {"k", "saxpy", "_Z5sgemmi", "_Z5sgemmiPf"}) {
    EXPECT_EQ(neutral_name(symbol, 0).size(), name_with(symbol, kTrigger).size()) << symbol;
    EXPECT_EQ(neutral_name(symbol, 0).size(), neutral_name(symbol, 1).size()) << symbol;
  }
}

TEST(Names, DifferOnlyWhereTheTriggerStands) {
  std::string neutral = neutral_name("_Z5sgemmiPf", 0), treated = name_with("_Z5sgemmiPf", kTrigger);
  EXPECT_EQ(neutral.substr(kTrigger.size()), treated.substr(kTrigger.size()));
  EXPECT_EQ(treated.substr(0, kTrigger.size()), kTrigger);
}

TEST(Names, ANeutralNameLosesTheTriggerItsSymbolHad) {
  for (std::string_view symbol : {"_ZN7cutlass4gemmEv", "cutlasscutlasscutlass", "__cuda_uf_stub_f",
                                  "aaaaaaaaaaaaaaaaaaaacutlass"}) {
    std::string name = neutral_name(symbol, 0);
    EXPECT_EQ(name.find("cutlass"), std::string::npos) << name;
    EXPECT_FALSE(name.starts_with("__cuda_uf_stub_")) << name;
  }
}

TEST(Names, ANameForOneTriggerHoldsNoOther) {
  std::string name = name_with("aaaaaaaaaaaaaaaaaaaacutlass", "flash");
  EXPECT_EQ(name.find("cutlass"), std::string::npos) << name;
  EXPECT_TRUE(name.starts_with("flash"));
}

TEST(Names, ATriggerThatNoNameMayBeginWithGetsALetterBefore) {
  EXPECT_TRUE(name_with("saxpy", "2sm").starts_with("k2sm"));
}

TEST(Names, OfAModuleAreApartEvenWhereSymbolsAreShort) {
  std::string text = ".version 8.0\n.target sm_90\n";
  std::vector<std::string> symbols;
  for (int i = 0; i < 5000; ++i) {
    symbols.push_back(std::string("k").append(std::to_string(i)));
    text += ".entry " + symbols.back() + " { ret; }\n";
  }
  Module module = parse(text, "k.ptx").value();
  for (const auto& names : {names_with(module, symbols, kTrigger), neutral_names(module, symbols, 0)}) {
    std::set<std::string> distinct;
    for (const auto& [symbol, name] : names) distinct.insert(name);
    EXPECT_EQ(distinct.size(), symbols.size());
    EXPECT_TRUE(rename(module, names));
  }
}

}  // namespace
}  // namespace namesake::ptx
