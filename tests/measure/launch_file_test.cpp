#include "measure/launch_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "measure/plan.h"
#include "measure/references.h"
#include "stand_in_kernel.h"

using namespace namesake;
using namespace namesake::measure;

namespace {

const std::string kGood = stand_in::kLaunchFile;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

std::string failure(const std::string& text) {
  const auto file = parse_launch_file(text, "double.toml", "");
  if (!file) return file.error().message;
  const auto plan = make_plan(*file, {});
  return plan ? "" : plan.error().message;
}

TEST(LaunchFile, IsReadIntoAPlan) {
  const auto file = parse_launch_file(kGood, "double.toml", "folder");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->kernel, "folder/double.cubin");
  const auto plan = make_plan(*file, {{"n", 300}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->launch.grid.x, 3u);
  EXPECT_EQ(plan->launch.block.x, 128u);
  EXPECT_EQ(plan->buffers.at(1).bytes(), 1200u);
  EXPECT_EQ(std::get<Scalar>(plan->arguments.at(2)).bits, 300u);
  EXPECT_EQ(plan->describe(), "3 blocks of 128 threads");
}

TEST(LaunchFile, SaysWhichSizesThereAre) {
  const auto file = parse_launch_file(kGood, "double.toml", "");
  const auto plan = make_plan(*file, {{"m", 3}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "double.toml has no size m; it has n");
}

struct Mistake {
  std::string from, to, said;
  std::string at = from;  // what stands on the line that the message names; "": no line
};

TEST(LaunchFile, PointsAtTheLineOfAMistake) {
  const std::vector<Mistake> mistakes = {
      {"tolerance =", "tolerence =",
       "unknown key 'tolerence' in a buffer; did you mean 'tolerance'?"},
      {"\"f32\"", "\"float\"", "there is no type 'float'; known are f64, f32"},
      {"count = \"n\"", "count = \"m\"", "\"m\" names m, which [sizes] does not have"},
      {"buffer = \"in\"", "buffer = \"inn\"", "there is no buffer 'inn'"},
      {"fill = \"normal\"", "fill = \"gauss\"", "'fill' is one of normal, uniform"},
      {"output = true", "output = 1", "'output' should be true or false"},
      {"output = true", "", "buffer 'out' is no output and has no fill",
       "[[buffer]]\nname = \"out\""},
      {"value = \"n\"", "value = 1.5", "1.5 is no whole number, as i32 wants"},
      {"[launch]", "[lunch]", "unknown key 'lunch' in a launch file; did you mean 'launch'?"},
      {"entry = \"double_floats\"\n", "", "the launch file has no 'entry'", ""},
      {"block = [128]", "block = [128", "", ""},
      {"block = [128]", "block = [2048]", "the block is 2048, which is not between 1 and 1024", ""},
      {"grid = [\"ceil_div(n, 128)\"]", "grid = [\"n - 1000\"]",
       "the grid is 0, which is not between 1 and", ""},
      {"type = \"i32\"\nvalue = \"n\"", "type = \"u8\"\nvalue = \"n\"", "does not fit into u8", ""},
      {"kernel", "k\x01rnel", "a control character"},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string said = failure(replaced(kGood, mistake.from, mistake.to));
    EXPECT_NE(said.find("double.toml"), std::string::npos) << said;
    EXPECT_NE(said.find(mistake.said), std::string::npos) << said;
    if (mistake.at.empty()) continue;
    const auto line =
        std::count(kGood.begin(),
                   kGood.begin() + static_cast<std::ptrdiff_t>(kGood.find(mistake.at)), '\n') +
        1;
    EXPECT_EQ(said.find("double.toml:" + std::to_string(line) + ": "), 0u) << said;
  }
}

TEST(LaunchFile, ChecksThatATensorMapLiesInsideItsBuffer) {
  const std::string map =
      replaced(kGood, "buffer = \"in\"",
               "tensor_map = \"in\"\nshape = [\"n\", 2]\nbox = [64, 2]\nswizzle = 128");
  EXPECT_NE(failure(map).find("larger than the buffer's 1000 elements"), std::string::npos)
      << failure(map);
  EXPECT_EQ(failure(replaced(map, "[\"n\", 2]", "[\"n\", 1]")), "");
  EXPECT_NE(failure(replaced(map, "swizzle = 128", "swizzle = 100"))
                .find("'swizzle' is 0, 32, 64 or 128"),
            std::string::npos);
}

TEST(LaunchFile, IsReadOfEveryBundledKernelAndItsReferenceFits) {
  size_t files = 0, references = 0;
  for (const char* folder : {"kernels", "kernels/triton"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(NAMESAKE_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".toml" || entry.path().filename() == "kernels.toml")
        continue;
      const auto file = read_launch_file(entry.path());
      ASSERT_TRUE(file) << file.error().message;
      const auto plan = make_plan(*file, {});
      ASSERT_TRUE(plan) << plan.error().message;
      ++files;
      if (file->reference.empty()) continue;
      std::vector<ReferenceArgument> arguments;
      for (const PlannedArgument& argument : plan->arguments) {
        const auto* pointer = std::get_if<BufferPointer>(&argument);
        const auto* map = std::get_if<BufferMap>(&argument);
        arguments.push_back({.buffer = pointer ? &plan->buffers[pointer->buffer]
                                       : map   ? &plan->buffers[map->buffer]
                                               : nullptr});
      }
      const auto fits = check_reference(file->reference, arguments);
      EXPECT_TRUE(fits) << entry.path() << ": " << fits.error().message;
      ++references;
    }
  }
  EXPECT_GT(files, 60u);
  EXPECT_GT(references, 50u);
}

}  // namespace
