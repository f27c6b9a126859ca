#include "measure/first_launch_file.h"

#include <gtest/gtest.h>

#include "measure/launch_file.h"
#include "measure/plan.h"
#include "util/file.h"

using namespace namesake;
using namespace namesake::measure;

namespace {

ptx::Module module_of(const std::string& parameters, const std::string& directives = "") {
  const std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry mine(" +
                           parameters + ")\n" + directives + "\n{\n  ret;\n}\n";
  auto module = ptx::parse(text, "mine.ptx");
  EXPECT_TRUE(module) << module.error().message;
  return std::move(*module);
}

TEST(FirstLaunchFile, ParametersAreReadWithTheirAttributes) {
  const ptx::Module module = module_of(
      "\n  .param .u64 .ptr .global .align 16 mine_param_0, // the input\n  .param .align 64 .b8 "
      "map[128],\n  .param .f32 scale, .param .u32 n /* rows */\n");
  const auto parameters = parameters_of(module, module.functions[0]);
  ASSERT_TRUE(parameters) << parameters.error().message;
  ASSERT_EQ(parameters->size(), 4u);
  EXPECT_EQ((*parameters)[0].name, "mine_param_0");
  EXPECT_EQ((*parameters)[0].bytes, 8);
  EXPECT_TRUE((*parameters)[1].array);
  EXPECT_EQ((*parameters)[1].bytes, 128);
  EXPECT_EQ((*parameters)[2].type, "f32");
  EXPECT_EQ((*parameters)[3].name, "n");
}

TEST(FirstLaunchFile, CanBeReadAndPlannedAtOnce) {
  const auto text = first_launch_file(
      module_of("\n.param .u64 a,\n.param .u64 b,\n.param .u32 n,\n.param .f32 x\n",
                ".reqntid 64, 2, 1"),
      "");
  ASSERT_TRUE(text) << text.error().message;
  const auto file = parse_launch_file(*text, "mine.toml", "");
  ASSERT_TRUE(file) << file.error().message << "\n" << *text;
  const auto plan = make_plan(*file, {});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->launch.block.x, 64u);
  EXPECT_EQ(plan->launch.block.y, 2u);
  ASSERT_EQ(plan->buffers.size(), 2u);
  EXPECT_FALSE(plan->buffers[0].output);
  EXPECT_TRUE(plan->buffers[1].output);
  EXPECT_EQ(plan->arguments.size(), 4u);
}

TEST(FirstLaunchFile, IsWrittenForEveryBundledKernel) {
  size_t written = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(NAMESAKE_SOURCE_DIR) / "kernels/ptx")) {
    const auto module = ptx::parse(*read_file(entry.path()), entry.path().filename().string());
    const auto text = first_launch_file(*module, "");
    ASSERT_TRUE(text) << text.error().message;
    const auto file = parse_launch_file(*text, "x.toml", "");
    ASSERT_TRUE(file) << file.error().message << "\n" << *text;
    const auto own = read_launch_file(entry.path().parent_path().parent_path() /
                                      (entry.path().stem().string() + ".toml"));
    EXPECT_EQ(file->arguments.size(), own->arguments.size()) << entry.path();
    ++written;
  }
  EXPECT_GE(written, 20u);
}

TEST(FirstLaunchFile, NamesTheKernelsWhereThereAreSeveral) {
  const auto module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry one()\n{ ret; }\n.entry two()\n{ ret; "
      "}\n",
      "two.ptx");
  ASSERT_TRUE(module);
  const auto text = first_launch_file(*module, "");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message,
            "2 of the kernels in two.ptx match: name one with --kernel; there are one, two");
  EXPECT_TRUE(first_launch_file(*module, "two"));
}

TEST(FirstLaunchFile, SaysWhatItCannotExpress) {
  const auto text = first_launch_file(module_of(".param .align 8 .b8 parameters[72]"), "");
  ASSERT_FALSE(text);
  EXPECT_EQ(
      text.error().message,
      "mine takes a structure of 72 bytes (parameters) by value, which a launch file cannot say");
}

}  // namespace
