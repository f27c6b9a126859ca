// The real assembler: answering gives the code that renaming gives, and recording disturbs nothing.
// Needs NAMESAKE_CUDA_ROOT, a folder with bin/ptxas in it.
#include <fmt/format.h>

#include <map>

#include "session/elf.h"
#include "targets.h"

namespace namesake::session {
namespace {

// A kernel that reacts: a tile in shared memory, eight sums. The names are of one length.
std::string ptx(const std::string& name) {
  std::string body;
  for (int i = 0; i < 24; i++) {
    body += fmt::format(
        "  ld.global.f32 %f{0}, [%rd1+{1}];\n  mul.lo.s32 %r{0}, %r1, {2};\n"
        "  mul.wide.s32 %rd{3}, %r{0}, 4;\n  add.s64 %rd{4}, %rd1, %rd{3};\n"
        "  ld.global.f32 %f{5}, [%rd{4}];\n  fma.rn.f32 %f1, %f{0}, %f{5}, %f1;\n",
        i + 2, i * 4, i * 7 + 3, i * 2 + 10, i * 2 + 11, i + 40);
  }
  return ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry " + name +
         "(.param .u64 p, .param .u32 n)\n{\n  .reg .pred %p<4>;\n  .reg .f32 %f<80>;\n"
         "  .reg .b32 %r<80>;\n  .reg .b64 %rd<80>;\n  ld.param.u64 %rd2, [p];\n"
         "  ld.param.u32 %r70, [n];\n  cvta.to.global.u64 %rd1, %rd2;\n  mov.u32 %r1, %tid.x;\n"
         "  mov.u32 %r71, 0;\n  mov.f32 %f1, 0f00000000;\nL:\n" +
         body +
         "  add.s32 %r1, %r1, %r70;\n  add.s32 %r71, %r71, 1;\n  setp.lt.s32 %p1, %r71, %r70;\n"
         "  @%p1 bra L;\n  st.global.f32 [%rd1], %f1;\n  ret;\n}\n";
}

class RealPtxas : public testing::Test {
 protected:
  void SetUp() override {
    std::string root = environment("NAMESAKE_CUDA_ROOT");
    ptxas_ = root + "/bin/ptxas";
    if (root.empty() || !std::filesystem::exists(ptxas_)) {
      GTEST_SKIP()
          << "set NAMESAKE_CUDA_ROOT to a folder with bin/ptxas to test the real assembler";
    }
  }

  // The code section of the kernel.
  std::string code(const std::string& name, const Settings& settings) {
    Input input(ptx(name));
    auto hooked = run_hooked({ptxas_, "-arch=sm_80", input.path(), "-o", input.output()}, settings);
    EXPECT_EQ(hooked.completed.exit_status, 0) << hooked.completed.err;
    recording_ = hooked.recording;
    return section(input.assembled(), ".text." + name);
  }

  static std::string section(const std::string& file, const std::string& wanted) {
    Cursor cursor(file);
    cursor.seek(0x28);
    uint64_t headers = cursor.read<uint64_t>();
    cursor.seek(0x3a);
    cursor.skip(2);
    uint16_t count = cursor.read<uint16_t>(), names = cursor.read<uint16_t>();
    auto field = [&](uint16_t index, uint64_t at) {
      Cursor header(file);
      header.seek(headers + index * uint64_t{64} + at);
      return header.read<uint64_t>();
    };
    for (uint16_t i = 0; i < count; i++) {
      Cursor text(file);
      text.seek(field(names, 0x18) + (field(i, 0) & 0xffffffff));
      if (text.take_string() == wanted) {
        return std::string(slice(file, field(i, 0x18), field(i, 0x20)).value_or(""));
      }
    }
    return "";
  }

  std::string ptxas_;
  Recording recording_;
};

TEST_F(RealPtxas, treated_gives_the_code_of_the_renamed_kernel) {
  std::string neutral = code("kernel_neutral", {});
  std::string renamed = code("kernel_cutlass", {});
  ASSERT_NE(neutral, "");
  ASSERT_NE(neutral, renamed) << "the kernel does not react, so this test shows nothing";
  EXPECT_EQ(code("kernel_neutral", {.rules = {treat("*")}}), renamed);
  EXPECT_EQ(code("kernel_cutlass", {.rules = {untreat("*")}}), neutral);
}

TEST_F(RealPtxas, asks_once_about_the_name_and_for_the_architecture) {
  code("kernel_neutral", {});
  auto tests = asked(recording_, "cutlass");
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].name, "kernel_neutral");
  EXPECT_EQ(tests[0].architecture, "sm_80");
  EXPECT_EQ(recording_.lost + recording_.unfinished, 0u);
}

TEST_F(RealPtxas, gives_the_same_cubin_plain_preloaded_audited_and_with_all_tests) {
  std::map<std::string, std::string> cubins;
  Input input(ptx("kernel_neutral"));
  std::vector<std::string> command = {ptxas_, "-arch=sm_80", input.path(), "-o", input.output()};
  ASSERT_TRUE(run(Command{.arguments = command})->ok());
  std::string plain = input.assembled();
  run_hooked(command, {});
  EXPECT_EQ(input.assembled(), plain);
  run_hooked(command, {}, Via::audit);
  EXPECT_EQ(input.assembled(), plain);
  auto all = run_hooked(command, {.all_tests = true, .names = {"kernel_neutral"}});
  EXPECT_EQ(input.assembled(), plain);
  EXPECT_GT(all.recording.tests.size(), 2u);
}

TEST_F(RealPtxas, is_treated_under_the_guard_with_the_same_code) {
  std::string renamed = code("kernel_cutlass", {});
  EXPECT_EQ(code("kernel_neutral", {.rules = {treat("kernel_*", "sm_80")},
                                    .guard = Guard{target("guard"), 60, std::nullopt}}),
            renamed);
}

}  // namespace
}  // namespace namesake::session
