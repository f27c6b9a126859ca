#include <gtest/gtest.h>

#include <chrono>

#include "ptx/ptx.h"

namespace namesake::ptx {
namespace {

Module parsed(std::string text) {
  Result<Module> module = parse(std::move(text), "k.ptx");
  EXPECT_TRUE(module) << module.error().message;
  return module ? *module : Module{};
}

std::string refusal(std::string text) {
  Result<Module> module = parse(std::move(text), "k.ptx");
  return module ? "(accepted)" : module.error().message;
}

const std::string kHead = ".version 8.0\n.target sm_90a\n.address_size 64\n";

TEST(Parse, ReadsVersionAndTarget) {
  Module module = parsed("// made by hand\n/* two\nlines */ .version 8.7\n.target sm_100a, debug\n");
  EXPECT_EQ(module.version, (Version{8, 7}));
  EXPECT_EQ(module.target, "sm_100a");
  EXPECT_TRUE(module.debug);
}

TEST(Parse, FindsEntriesAndFunctionsWithTheirBodies) {
  Module module = parsed(kHead +
                         ".visible .entry one(.param .u64 p) .maxntid 128, 1, 1 { ret; }\n"
                         ".weak .func (.param .b32 r) two (.param .b32 a) { { ret; } }\n");
  ASSERT_EQ(module.functions.size(), 2u);
  const Function& one = module.functions[0];
  EXPECT_EQ(one.symbol, "one");
  EXPECT_TRUE(one.entry);
  EXPECT_EQ(one.linkage, Linkage::visible);
  EXPECT_EQ(module.text.substr(one.body_begin, one.body_end - one.body_begin), "{ ret; }");
  const Function& two = module.functions[1];
  EXPECT_EQ(two.symbol, "two");
  EXPECT_FALSE(two.entry);
  EXPECT_EQ(two.linkage, Linkage::weak);
  EXPECT_EQ(module.text.substr(two.body_begin, two.body_end - two.body_begin), "{ { ret; } }");
}

TEST(Parse, ADeclarationGivesWayToItsDefinition) {
  Module module = parsed(kHead + ".extern .func f;\n.func g() { call f; ret; }\n.func f { ret; }\n");
  ASSERT_EQ(module.functions.size(), 2u);
  EXPECT_EQ(module.functions[0].symbol, "f");
  EXPECT_TRUE(module.functions[0].defined);
}

TEST(Parse, ADeclarationAloneIsNotFound) {
  Module module = parsed(kHead + ".extern .func vprintf(.param .b64 a);\n");
  EXPECT_EQ(module.find("vprintf"), nullptr);
  EXPECT_FALSE(module.functions[0].defined);
}

TEST(Parse, BracesInCommentsAndStringsAreText) {
  Module module = parsed(kHead + ".entry k { // }\n /* } */ .pragma \"}{\"; ret; }\n.entry l { ret; }");
  EXPECT_EQ(module.functions.size(), 2u);
  EXPECT_NE(module.find("l"), nullptr);
}

TEST(Parse, APragmaBeforeTheBodyDoesNotEndTheHeader) {
  Module module = parsed(kHead + ".entry k .pragma \"nounroll\"; { ret; }\n");
  EXPECT_NE(module.find("k"), nullptr);
}

TEST(Parse, DebugSectionsAndInitialisersAreNoFunctions) {
  Module module = parsed(kHead + ".global .b8 t[2] = {1, 2};\n.entry k { ret; }\n"
                                 ".section .debug_str {\n.b8 102\n}\n");
  EXPECT_EQ(module.functions.size(), 1u);
}

TEST(Parse, ADirectiveNamedInABodyIsNoFunction) {
  Module module = parsed(kHead + ".entry k { .func x; ret; }\n");
  EXPECT_EQ(module.functions.size(), 1u);
}

TEST(Parse, TheTerminatingZeroOfARuntimeCompilerIsDropped) {
  Module module = parsed(kHead + std::string(1, '\0'));
  EXPECT_EQ(module.text, kHead);
}

TEST(Parse, SaysWhereAndWhyForWhatIsNoModule) {
  EXPECT_EQ(refusal(""), "k.ptx:1: no PTX: a module begins with .version, this with the end of the file");
  EXPECT_EQ(refusal("\n__global__ void k();"),
            "k.ptx:2: no PTX: a module begins with .version, this with '__global__'");
  EXPECT_EQ(refusal(std::string("\x7f" "ELF\x02\x01", 6)),
            "k.ptx: no PTX but an ELF file; is it a cubin or an object?");
  EXPECT_EQ(refusal(".version 8\n.target sm_90"),
            "k.ptx:1: .version needs a number like 8.8, not '8'");
  EXPECT_EQ(refusal(".version 8.0\n.entry k {}"),
            "k.ptx:2: after .version comes .target, not '.entry'");
  EXPECT_EQ(refusal(kHead + std::string("a\0b", 3)),
            "k.ptx: no PTX: a zero byte in line 4; PTX is text");
}

TEST(Parse, RefusesARegistersNameForATargetOrAFunction) {
  EXPECT_EQ(refusal(".version 8.0\n.target%a"), "k.ptx:2: .target needs an architecture like sm_90, not '%a'");
  EXPECT_EQ(refusal(kHead + ".entry%k { ret; }"), "k.ptx:4: '%k' names a register");
}

TEST(Parse, SaysWhereATextIsCutOff) {
  EXPECT_EQ(refusal(kHead + ".entry k {\n ret;"),
            "k.ptx:4: the body of k is never closed; is the file cut off?");
  EXPECT_EQ(refusal(kHead + "\n.entry k ("), "k.ptx:5: this .entry is cut off by the end of the file");
  EXPECT_EQ(refusal(kHead + "/* no end"), "k.ptx:4: this comment is never closed");
  EXPECT_EQ(refusal(kHead + ".file 1 \"a"), "k.ptx:4: this string is never closed");
  EXPECT_EQ(refusal(kHead + "}"), "k.ptx:4: a '}' without a '{' before it");
}

TEST(Parse, RefusesTwoModulesInOneFile) {
  EXPECT_EQ(refusal(kHead + kHead),
            "k.ptx:4: a second .version: these are several modules in one file; split them");
}

TEST(Parse, RefusesASymbolDefinedTwice) {
  EXPECT_EQ(refusal(kHead + ".entry k { }\n.entry k { }"), "k.ptx:5: k is defined twice, first in line 4");
}

TEST(Parse, TwentyThousandFunctionsTakeTwentyTimesAThousand) {
  auto seconds = [](int count) {
    std::string text = kHead, body;
    for (int i = 0; i < 100; ++i) body += "  add.f32 %f1, %f2, %f3; // comment\n";
    for (int i = 0; i < count; ++i) text += ".entry kernel_" + std::to_string(i) + "{\n" + body + "}\n";
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      std::string copy = text;
      auto start = std::chrono::steady_clock::now();
      Result<Module> module = parse(std::move(copy), "k.ptx");
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      EXPECT_EQ(module->functions.size(), static_cast<size_t>(count));
    }
    return best;
  };
  double small = seconds(1000), large = seconds(20000);
  EXPECT_LT(large, 20 * small * 4) << "of " << small << " s; a square would be 400 times";
}

}  // namespace
}  // namespace namesake::ptx
