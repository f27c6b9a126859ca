#include "measure/advice.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace namesake::measure {
namespace {

constexpr const char* kSource =
    "// sgemm(x) is called below\n"
    "__global__ void sgemm_small(float* c);\n"
    "template <int N>\n"
    "__global__ void __launch_bounds__(256)\n"
    "    sgemm(float* c) { c[0] = N; }\n"
    "void host() { sgemm<1><<<1, 1>>>(nullptr); }\n";

report::Decision decision(std::string treatment, std::string file, std::string assembler) {
  report::Decision decision;
  decision.symbol = decision.name = "sgemm";
  decision.treatment = std::move(treatment);
  decision.file = std::move(file);
  decision.assembler = std::move(assembler);
  return decision;
}

TEST(Advice, FindsTheLineOfAKernelsDefinition) {
  EXPECT_EQ(place_of(kSource, "a.cu", "sgemm"), "a.cu:4");
}

TEST(Advice, FindsATemplateInANamespaceByItsOwnName) {
  EXPECT_EQ(place_of(kSource, "a.cu", "void ns::sgemm<128>(float*)"), "a.cu:4");
  EXPECT_EQ(place_of(kSource, "a.cu", "(anonymous namespace)::sgemm<128>"), "a.cu:4");
}

TEST(Advice, TakesNeitherCommentsNorCallsNorLongerNamesForADefinition) {
  EXPECT_EQ(
      place_of("// sgemm(x)\nint x = sgemm(1);\n__global__ void sgemm2(int);", "a.cu", "sgemm"),
      "");
}

RC_GTEST_PROP(AdviceProperty, AnySourceIsSearchedToItsEnd, (const std::string& source)) {
  place_of("__global__ void k(" + source + "k (", "a.cu", "k");
  place_of(source, "a.cu", source);
}

TEST(Advice, WritesThePragmaWhereTheAssemblerKnowsIt) {
  EXPECT_NE(advice_for(decision("treated", "a.cu", "13.3.73")).find("#pragma nv_mma_throughput"),
            std::string::npos);
  EXPECT_NE(advice_for(decision("treated", "a.ptx", "13.5.37")).find(".pragma \"mma_throughput\";"),
            std::string::npos);
}

TEST(Advice, WritesANameWhereTheAssemblerKnowsNoPragma) {
  EXPECT_NE(advice_for(decision("treated", "a.cu", "13.2.78")).find("sgemm_cutlass"),
            std::string::npos);
}

TEST(Advice, SaysHowToBeRidOfTheTreatment) {
  EXPECT_NE(advice_for(decision("untreated", "a.cu", "13.0.88")).find("-Xptxas -O2"),
            std::string::npos);
}

TEST(Advice, SpeaksOfTheSourceThatTheLaunchFileNames) {
  report::Tuning tuning;
  tuning.decisions = {decision("treated", "sgemm.ptx", "13.5.37")};
  tuning.decisions[0].symbol = tuning.decisions[0].name = "sgemm_tiled";
  tuning.decisions[0].launch_file = NAMESAKE_SOURCE_DIR "/kernels/sgemm.toml";
  add_advice(tuning);
  EXPECT_NE(tuning.decisions[0].place.find("kernels/sgemm.cu:"), std::string::npos);
  EXPECT_NE(tuning.decisions[0].advice.find("#pragma"), std::string::npos);
}

TEST(Advice, HasNothingToSayOfWhatIsBestLeftAlone) {
  EXPECT_EQ(advice_for(decision("natural", "a.cu", "13.5.37")), "");
}

}  // namespace
}  // namespace namesake::measure
