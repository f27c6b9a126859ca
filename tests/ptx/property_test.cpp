// Modules made at random, with all that can confuse an edit of names: comments, strings, nested
// braces, names that are parts of other names, declarations before and after definitions.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "ptx/lexer.h"
#include "ptx/ptx.h"

namespace namesake::ptx {
namespace {

rc::Gen<std::string> a_name() {
  return rc::gen::map(
      rc::gen::pair(rc::gen::elementOf(std::string("abcdk_$")),
                    rc::gen::container<std::string>(rc::gen::elementOf(std::string("abck_$019")))),
      [](const std::pair<char, std::string>& parts) { return parts.first + parts.second + "f"; });
}

struct Sample {
  std::vector<std::string> symbols;
  std::string text;
};

Sample a_module() {
  Sample sample;
  auto names = *rc::gen::container<std::set<std::string>>(a_name());
  sample.symbols.assign(names.begin(), names.end());
  sample.text = ".version 9.0\n.target sm_90a, debug // {\n";
  for (const std::string& symbol : sample.symbols) {
    std::string other = *rc::gen::elementOf(sample.symbols);
    if (*rc::gen::arbitrary<bool>()) sample.text += ".extern .func " + symbol + ";\n";
    sample.text += *rc::gen::elementOf(std::vector<std::string>{
        ".visible .entry ", ".func (.param .b32 r) ", ".weak .func ", "/* .entry x { */ .entry "});
    sample.text += symbol;
    sample.text += *rc::gen::elementOf(std::vector<std::string>{
        "", "(.param .u64 " + symbol + "_param_0)", " .maxntid 32, 1, 1\n.pragma \"a;{\";"});
    sample.text += "{";
    for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
      sample.text += *rc::gen::elementOf(std::vector<std::string>{
          " call " + other + ";", " mov.u64 %rd1," + other + "+4;", "// " + other + " }\n",
          " .pragma \"" + other + "}\";", "/*{" + other + "*/", " { mov.b32 {%r1,%r2}, 1.5; }",
          " ld.param.u64 %rd1, [" + symbol + "_param_0];", "\n", " $" + other + ": bra $" + other + ";"});
    }
    sample.text += "}\n";
  }
  return sample;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  Lexer lexer(text);
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    result.emplace_back(lexer.text_of(token));
  }
  return result;
}

// What an edit moved along must be what reading the edited text anew would find.
void assert_consistent(const Module& edited) {
  Module read = parse(edited.text, edited.origin).value();
  RC_ASSERT(read.version == edited.version);
  RC_ASSERT(read.target == edited.target);
  RC_ASSERT(read.version_place.offset == edited.version_place.offset);
  RC_ASSERT(read.version_place.size == edited.version_place.size);
  RC_ASSERT(read.by_symbol == edited.by_symbol);
  RC_ASSERT(read.functions.size() == edited.functions.size());
  for (size_t i = 0; i < read.functions.size(); ++i) {
    const Function &a = read.functions[i], &b = edited.functions[i];
    RC_ASSERT(a.symbol == b.symbol);
    RC_ASSERT(a.defined == b.defined);
    RC_ASSERT(a.name_offset == b.name_offset);
    RC_ASSERT(a.body_begin == b.body_begin);
    RC_ASSERT(a.body_end == b.body_end);
    if (b.defined) {
      RC_ASSERT(edited.text[b.body_begin] == '{');
      RC_ASSERT(edited.text[b.body_end - 1] == '}');
    }
  }
}

std::map<std::string, std::string> new_names(const Sample& sample, const Module& module) {
  std::vector<std::string> chosen;
  for (const std::string& symbol : sample.symbols) {
    if (*rc::gen::arbitrary<bool>()) chosen.push_back(symbol);
  }
  return *rc::gen::arbitrary<bool>() ? names_with(module, chosen, "cutlass")
                                     : neutral_names(module, chosen, *rc::gen::inRange(0, 3));
}

RC_GTEST_PROP(Property, EverySymbolIsFoundWithItsBody, ()) {
  Sample sample = a_module();
  Module module = parse(sample.text, "k.ptx").value();
  RC_ASSERT(module.functions.size() == sample.symbols.size());
  for (const std::string& symbol : sample.symbols) RC_ASSERT(module.find(symbol) != nullptr);
  assert_consistent(module);
}

RC_GTEST_PROP(Property, RenamingThereAndBackGivesTheSameText, ()) {
  Sample sample = a_module();
  Module module = parse(sample.text, "k.ptx").value();
  std::map<std::string, std::string> there = new_names(sample, module), back;
  for (const auto& [from, to] : there) back[to] = from;
  Module renamed = rename(module, there).value();
  assert_consistent(renamed);
  RC_ASSERT(rename(renamed, back).value().text == sample.text);
}

RC_GTEST_PROP(Property, RenamingChangesNamesOnly, ()) {
  Sample sample = a_module();
  Module module = parse(sample.text, "k.ptx").value();
  std::map<std::string, std::string> names = new_names(sample, module);
  std::vector<std::string> expected = words(sample.text);
  for (std::string& word : expected) {
    if (auto found = names.find(word); found != names.end()) word = found->second;
  }
  RC_ASSERT(words(rename(module, names).value().text) == expected);
}

RC_GTEST_PROP(Property, EveryOtherEditLeavesTheModuleConsistent, ()) {
  Sample sample = a_module();
  Module module = parse(sample.text, "k.ptx").value();
  assert_consistent(with_pragma(module, "mma_throughput", sample.symbols));
  assert_consistent(lower_for(module, "12.9").value().module);
  assert_consistent(retarget(module, "sm_107a").value());
}

RC_GTEST_PROP(Property, NamesAreValidOfOneLengthAndHoldWhatTheyShould, ()) {
  std::string symbol = *a_name();
  std::string neutral = neutral_name(symbol, *rc::gen::inRange(0, 100));
  std::string treated = name_with(symbol, "cutlass");
  RC_ASSERT(is_identifier(neutral));
  RC_ASSERT(is_identifier(treated));
  RC_ASSERT(neutral.size() == treated.size());
  RC_ASSERT(neutral.find("cutlass") == std::string::npos);
  RC_ASSERT(treated.find("cutlass") != std::string::npos);
}

}  // namespace
}  // namespace namesake::ptx
