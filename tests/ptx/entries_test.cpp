#include "ptx/entries.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "ptx/ptx.h"
#include "util/file.h"

namespace namesake::ptx {
namespace {

std::vector<std::string> parsed(const std::string& text, std::string& target) {
  auto module = parse(text, "x");
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  std::vector<std::string> symbols;
  if (!module) return symbols;
  target = module->target;
  for (const Function& function : module->functions) {
    if (function.entry && function.defined) symbols.push_back(function.symbol);
  }
  return symbols;
}

TEST(Entries, are_those_that_parse_finds_in_what_compilers_wrote) {
  int files = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(NAMESAKE_SOURCE_DIR "/kernels")) {
    if (file.path().extension() != ".ptx") continue;
    auto text = read_file(file.path());
    ASSERT_TRUE(text);
    std::string target;
    std::vector<std::string> expected = parsed(*text, target);
    ListedText listed = list_entries(*text);
    EXPECT_EQ(listed.target, target) << file.path();
    std::vector<std::string> symbols;
    for (const ListedEntry& entry : listed.entries) symbols.emplace_back(entry.symbol);
    EXPECT_EQ(symbols, expected) << file.path();
    ++files;
  }
  EXPECT_GT(files, 20);
}

TEST(Entries, comments_declarations_and_longer_words_are_none) {
  ListedText listed = list_entries(
      "// .target sm_99\n.version 8.0\n.target sm_90a, debug\n"
      "// .entry commented\n.extern .entry declared(.param .u32 a);\n.entryway no\n"
      ".visible .entry real(\n.param .u32 a\n)\n{\nret;\n}\n.weak .entry\tlast()\n.maxntid "
      "128\n{\n\t{\n\t}\n\tret;\n}\n");
  EXPECT_EQ(listed.target, "sm_90a");
  ASSERT_EQ(listed.entries.size(), 2u);
  EXPECT_EQ(listed.entries[0].symbol, "real");
  EXPECT_EQ(listed.entries[1].symbol, "last");
  EXPECT_EQ(listed.entries[0].bytes, std::string("real(\n.param .u32 a\n)\n{\nret;\n}").size());
}

TEST(Entries, one_alone_is_a_module_with_that_one_and_all_functions) {
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 g;\n.func f() {\nret;\n}\n";
  for (const char* name : {"one", "two", "three"})
    text += ".visible .entry " + std::string(name) + "()\n{\n\t{\n\t}\nret;\n}\n";
  for (const char* name : {"one", "two", "three"}) {
    std::string alone = with_entry_alone(text, name), target;
    EXPECT_EQ(parsed(alone, target), std::vector<std::string>{name});
    EXPECT_NE(alone.find(".func f()"), std::string::npos);
    EXPECT_NE(alone.find(".global .u32 g;"), std::string::npos);
  }
  EXPECT_EQ(with_entry_alone(text + "\n.section .debug_info { }\n", "one"),
            text + "\n.section .debug_info { }\n");
}

TEST(Entries, of_no_ptx_are_none) {
  EXPECT_TRUE(list_entries("").entries.empty());
  EXPECT_TRUE(list_entries(".entry").entries.empty());
  EXPECT_TRUE(list_entries(".entry {").entries.empty());
  EXPECT_TRUE(list_entries("no ptx at all").entries.empty());
}

}  // namespace
}  // namespace namesake::ptx
