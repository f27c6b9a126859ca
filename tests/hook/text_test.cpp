#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "util/file.h"
#include "util/text.h"

extern "C" {
#include "hook/name.h"
#include "hook/text.h"
}

namespace {

std::string qualified(const std::string& symbol) {
  std::string name(4096, '\0');
  if (!name_qualified(symbol.c_str(), name.data(), name.size())) return "";
  return name.c_str();
}

// Few letters make matches, near matches and periods likely.
rc::Gen<std::string> texts() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string("aab")));
}

RC_GTEST_PROP(Search, finds_what_a_plain_search_finds, ()) {
  std::string haystack = *texts(), needle = *texts();
  const char* found = text_find(haystack.c_str(), needle.c_str());
  size_t expected = haystack.find(needle);
  RC_ASSERT((found ? static_cast<size_t>(found - haystack.c_str()) : std::string::npos) ==
            expected);
}

RC_GTEST_PROP(Search, finds_bytes_that_a_plain_search_finds, ()) {
  std::string haystack = *texts(), needle = *texts();
  const char* found =
      text_find_bytes(haystack.data(), haystack.size(), needle.data(), needle.size());
  size_t expected = haystack.find(needle);
  RC_ASSERT((found ? static_cast<size_t>(found - haystack.data()) : std::string::npos) == expected);
}

// The two-way half of the search starts only after enough wasted work; a long common start does
// that.
RC_GTEST_PROP(Search, finds_what_a_plain_search_finds_in_repetitive_texts, ()) {
  std::string period = *rc::gen::nonEmpty(texts());
  std::string haystack, needle;
  int haystack_periods = *rc::gen::inRange(1, 200), needle_periods = *rc::gen::inRange(1, 100);
  for (int i = 0; i < haystack_periods; i++) haystack += period;
  for (int i = 0; i < needle_periods; i++) needle += period;
  haystack += *texts();
  needle += *texts();
  for (int i = 0; i < *rc::gen::inRange(0, 3); i++) haystack += haystack;
  const char* found = text_find(haystack.c_str(), needle.c_str());
  size_t expected = haystack.find(needle);
  RC_ASSERT((found ? static_cast<size_t>(found - haystack.c_str()) : std::string::npos) ==
            expected);
}

TEST(Search, is_linear_where_a_simple_search_is_quadratic) {
  auto seconds_for = [](size_t size) {
    std::string haystack(size, 'a'), needle(size / 2, 'a');
    needle += 'b';
    auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(text_find(haystack.c_str(), needle.c_str()), nullptr);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // A quadratic search needs some 10^11 steps here, a linear one 10^6.
  EXPECT_LT(seconds_for(1 << 20), 2.0);
}

RC_GTEST_PROP(Glob, agrees_with_the_library, ()) {
  auto pattern = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab*?")));
  auto text = *texts();
  RC_ASSERT((text_glob(pattern.c_str(), text.c_str()) != 0) == namesake::glob_match(pattern, text));
}

TEST(Glob, agrees_with_the_library_on_sets) {
  for (const char* pattern : {"[ab]c", "[a-c]x", "[!a]x", "x[", "[]a]", "*[0-9]", "[a-]x"}) {
    for (const char* text : {"ac", "bc", "cx", "ax", "-x", "x[", "]", "a", "k7", "k", ""}) {
      EXPECT_EQ(text_glob(pattern, text) != 0, namesake::glob_match(pattern, text))
          << pattern << " on " << text;
    }
  }
}

TEST(QualifiedName, leaves_out_template_arguments_and_parameters) {
  EXPECT_EQ(qualified("_Z5sgemmiPf"), "sgemm");
  EXPECT_EQ(qualified("_ZN2ns5outer6kernelEv"), "ns::outer::kernel");
  EXPECT_EQ(qualified("_ZN2ns6kernelILi128EfEEvPT0_"), "ns::kernel");
  EXPECT_EQ(qualified("_Z6kernelIN2ns1AILi3EEEEvT_"), "kernel");
  EXPECT_EQ(qualified("_ZL6kernelPf"), "kernel");
  EXPECT_EQ(qualified("_ZN12_GLOBAL__N_16kernelEv"), "(anonymous namespace)::kernel");
  EXPECT_EQ(qualified("_ZSt4sortIPiEvT_S1_"), "std::sort");
  EXPECT_EQ(qualified("_ZN5thrust4sortB5cxx11EPi"), "");  // five characters are "thrus"
  EXPECT_EQ(qualified("_ZN6thrust4sortB5cxx11EPi"), "thrust::sort");
  EXPECT_EQ(qualified("_Z3cutlass"), "cut");
  EXPECT_EQ(qualified("sgemm"), "");
  EXPECT_EQ(qualified(""), "");
}

TEST(QualifiedName, gets_through_the_names_of_real_gemms) {
  EXPECT_EQ(
      qualified("_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEE"
                "NS1_10collective13CollectiveMmaINS1_34MainloopSm90TmaGmmaWarpSpecializedILi5ENS"
                "5_IJNS4_1CILi2EEENSA_ILi1EEESC_EEENS1_24KernelTmaWarpSpecializedEEEEEEEEEvNT_6"
                "ParamsE"),
      "cutlass::device_kernel");
  EXPECT_EQ(qualified("_Z6kernelILb1ELn4EXadL_ZN2ns3addEiiEEEvv"), "kernel");
}

// The readable name that the demangler gives, cut down to what is promised.
std::string without_arguments(std::string name) {
  // Its space is the only one inside a name.
  const std::string anonymous = "(anonymous namespace)";
  for (size_t at; (at = name.find(anonymous)) != std::string::npos;) {
    name.replace(at, anonymous.size(), "(anonymous\1namespace)");
  }
  std::string result;
  int depth = 0;
  for (char c : name) {
    if (c == '<') depth++;
    if (depth == 0) result += c;
    if (c == '>') depth--;
  }
  size_t space = result.rfind(' ');
  if (space != std::string::npos) result = result.substr(space + 1);
  std::replace(result.begin(), result.end(), '\1', ' ');
  return result;
}

TEST(QualifiedName, agrees_with_the_demangler_on_a_real_library) {
  // The C++ library's own symbols: thousands of names by other people.
  std::string binary = *namesake::read_file("/proc/self/exe");
  size_t decoded = 0, seen = 0;
  for (size_t at = binary.find("_ZN"); at != std::string::npos; at = binary.find("_ZN", at + 1)) {
    std::string symbol = binary.c_str() + at;
    std::string readable = namesake::demangled(symbol);
    // Variables, operators, and results that are functions, whose readable form is no simple
    // prefix.
    bool simple = symbol.size() <= 2000 && readable != symbol && readable.back() == ')';
    for (const char* odd : {"operator", "{", "@", "[", "(*", "(&", ")("}) {
      simple &= readable.find(odd) == std::string::npos;
    }
    if (!simple) continue;
    seen++;
    std::string name = qualified(symbol);
    if (name.empty()) continue;
    decoded++;
    EXPECT_EQ(name, without_arguments(namesake::demangled_name(symbol))) << symbol;
    if (HasFailure()) break;
  }
  ASSERT_GT(seen, 100u);
  // What is not decoded is the rare thing.
  EXPECT_GT(decoded, seen * 8 / 10);
}

RC_GTEST_PROP(QualifiedName, survives_any_text, ()) {
  auto symbol =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("_ZNKSIELTPJXadt0123Ek:B")));
  std::string mangled = "_Z" + symbol;
  std::string name(8, 'x');
  name_qualified(mangled.c_str(), name.data(), name.size());
  RC_ASSERT(std::strlen(name.c_str()) < name.size());
}

TEST(QualifiedName, stops_at_endless_nesting) {
  std::string symbol = "_Z1kI" + std::string(100000, 'P');
  EXPECT_EQ(qualified(symbol), "");
}

}  // namespace
