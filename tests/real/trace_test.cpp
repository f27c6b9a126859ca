// `namesake trace` of real compilers: who is asked about, and which questions are none.
#include "real.h"

#include <nlohmann/json.hpp>
#include <set>

namespace namesake::real {
namespace {

class RealTrace : public Real {
 protected:
  nlohmann::json trace(std::vector<std::string> options, const std::vector<std::string>& command) {
    options.insert(options.begin(), {kTool, "trace", "--json", path("trace.json")});
    options.push_back("--");
    options.insert(options.end(), command.begin(), command.end());
    said_ = must(options).err;
    return nlohmann::json::parse(*read_file(path("trace.json")));
  }
  std::string said_;
};

TEST_F(RealTrace, NvccIsSeenToAskAboutBothKernelsForEachArchitecture) {
  NEED_TOOL(nvcc, nvcc, "13.0");
  auto found = trace({}, {nvcc, "-fatbin", "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90",
                          write("two.cu", gather("first_kernel") + gather("second_kernel")), "-o", path("two.fatbin")});
  std::set<std::string> asked;
  for (const auto& process : found["processes"]) {
    EXPECT_EQ(process["version"], "13.0.88");
    for (const auto& test : process["tests"]) {
      if (test["needle"] == "cutlass") asked.insert(test["name"].get<std::string>().substr(0, 6) + " " + test["architecture"].get<std::string>());
    }
  }
  EXPECT_EQ(asked, (std::set<std::string>{"first_ sm_80", "first_ sm_90", "second sm_80", "second sm_90"}));
  EXPECT_NE(said_.find("Kernels' names are tested for 1 text: \"cutlass\" in ptxas 13.0.88."), std::string::npos) << said_;
}

// Names are looked up in tables and met in the symbol table; none of that is a special case.
class RealTraceOfAll : public RealTrace, public testing::WithParamInterface<const char*> {};

TEST_P(RealTraceOfAll, OnlyTheTriggerIsLeftWhenLookUpsAreSetApart) {
  NEED_TOOL(ptxas, ptxas, GetParam());
  std::string kernels = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (std::string name : {"first_kernel", "second_kernel"}) {
    kernels += ".visible .entry " + name + "(.param .u64 " + name + "_param_0)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n" +
               "ld.param.u64 %rd1, [" + name + "_param_0];\nmov.u32 %r1, %tid.x;\n$L__BB0_1:\nadd.s32 %r1, %r1, 7;\nst.global.u32 [%rd1], %r1;\n" +
               "setp.lt.s32 %p1, %r1, 999;\n@%p1 bra $L__BB0_1;\nret;\n}\n";
  }
  auto found = trace({"--all-tests"}, {ptxas, "-arch=sm_90", write("two.ptx", kernels), "-o", path("two.cubin")});
  std::set<std::string> questions;
  size_t look_ups = 0;
  for (const auto& process : found["processes"]) {
    for (const auto& test : process["tests"]) {
      if (test["look_up"].get<bool>()) {
        ++look_ups;
      } else {
        questions.insert(test["needle"].get<std::string>());
      }
    }
  }
  EXPECT_GT(look_ups, 4u);
  EXPECT_LE(questions.size(), 1u) << found.dump(1);
  if (std::string(GetParam()) != "13.5") {  // which skips simple kernels
    EXPECT_EQ(questions, (std::set<std::string>{"cutlass"}));
  }
}
INSTANTIATE_TEST_SUITE_P(Releases, RealTraceOfAll, testing::Values("12.9", "13.0", "13.5"));

}  // namespace
}  // namespace namesake::real
