#include "assembly/build.h"

#include <gtest/gtest.h>

namespace namesake::assembly {
namespace {

toolchain::Tool ptxas(const std::string& version) {
  toolchain::Tool tool;
  tool.kind = toolchain::Kind::ptxas;
  tool.version = version;
  tool.path = "/opt/" + version + "/ptxas";
  return tool;
}

class Builds : public testing::Test {
 protected:
  std::vector<toolchain::Tool> tools = {ptxas("13.5.37"), ptxas("12.9.86")};
  Build base;
  Builds() { base.assembler = tools[0]; }
};

TEST_F(Builds, TakeVersionTreatmentLevelAndOptions) {
  auto build = parse_build("12.9,treated,O2,--def-load-cache=ca", base, tools);
  ASSERT_TRUE(build) << build.error().message;
  EXPECT_EQ(build->assembler.version, "12.9.86");
  EXPECT_EQ(build->treatment, Treatment::treated);
  EXPECT_EQ(build->opt_level, 2);
  EXPECT_EQ(build->options, std::vector<std::string>{"--def-load-cache=ca"});
}

TEST_F(Builds, KeepWhatIsNotSaid) {
  base.opt_level = 1;
  auto build = parse_build("pragma", base, tools);
  ASSERT_TRUE(build);
  EXPECT_EQ(build->opt_level, 1);
  EXPECT_EQ(build->assembler.version, "13.5.37");
}

TEST_F(Builds, AWordThatIsNoneNamesWhatIsPossible) {
  auto build = parse_build("treatd", base, tools);
  ASSERT_FALSE(build);
  EXPECT_NE(build.error().message.find("\"treatd\""), std::string::npos);
  EXPECT_NE(build.error().message.find("untreated"), std::string::npos);
  EXPECT_FALSE(parse_build("", base, tools));
  EXPECT_FALSE(parse_build("O2,,treated", base, tools));
  EXPECT_FALSE(parse_build("11.1", base, tools));
}

TEST_F(Builds, LabelsSayOnlyWhatDiffers) {
  Build other = base;
  other.treatment = Treatment::treated;
  EXPECT_EQ(labels(base, other), (std::pair<std::string, std::string>{"natural", "treated"}));
  other = base;
  other.assembler = tools[1];
  EXPECT_EQ(labels(base, other), (std::pair<std::string, std::string>{"ptxas 13.5.37", "ptxas 12.9.86"}));
  other = base;
  other.opt_level = 2;
  EXPECT_EQ(labels(base, other), (std::pair<std::string, std::string>{"-O3", "-O2"}));
}

}  // namespace
}  // namespace namesake::assembly
