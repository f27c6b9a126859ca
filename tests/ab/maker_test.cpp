// Where loaded code came from, and the builds made beside it: with the stand-in assembler, and with
// real ones where they are at hand.
#include <gtest/gtest.h>

#include <filesystem>

#include "ab/maker.h"
#include "ab/nvrtc_program.h"
#include "cli/answering_hooks.h"
#include "cubin/fatbin.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

#include "../cubin/fatbin_writer.h"

using namespace namesake;
using namespace namesake::ab;
namespace fs = std::filesystem;

namespace {

const std::string kStandIn = NAMESAKE_BINARY_DIR "/stand_in/ptxas";

std::string kernel_text(const std::string& symbol) {
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " + symbol + "()\n{\n";
  for (const char* line :
       {"add.s32 %r1, %r2, %r3", "mul.lo.s32 %r2, %r1, %r3", "add.s32 %r3, %r2, %r1",
        "xor.b32 %r5, %r4, %r1", "mad.lo.s32 %r4, %r1, %r2, %r3", "add.s32 %r6, %r5, %r1",
        "sub.s32 %r7, %r6, %r5"})
    text += std::string(" ") + line + ";\n";
  return text + " ret;\n}\n";
}

class MakerTest : public testing::Test {
 protected:
  bool driver_options = false;
  Note whole;  // what the last answer says of the image
  TemporaryFolder folder = std::move(*TemporaryFolder::make("ab-maker"));
  cli::AnsweringHooks hooks = std::move(*cli::AnsweringHooks::make());

  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  std::string content(const std::string& name) const { return read_file(path(name)).value_or(""); }

  Settings settings() {
    fs::create_directories(folder.path() / "answers");
    Settings settings;
    settings.hooks = hooks.variables();
    settings.own_executable = NAMESAKE_BINARY_DIR "/namesake";
    return settings;
  }
  // Where the compilers that tests use lie.
  static std::vector<toolchain::Tool> tools() {
    static const std::vector<toolchain::Tool> found = toolchain::find_tools();
    return found;
  }

  std::string assembled(const std::string& text, const std::vector<std::string>& options = {}) {
    EXPECT_TRUE(write_file(path("kernel.ptx"), text));
    Command command;
    command.arguments = {kStandIn, "-arch=sm_90", path("kernel.ptx"), "-o", path("kernel.cubin")};
    command.arguments.insert(command.arguments.end(), options.begin(), options.end());
    auto done = run(command);
    EXPECT_TRUE(done && done->ok());
    return content("kernel.cubin");
  }

  std::vector<Note> answer(Maker& maker, const std::string& image) {
    ImageRequest request;
    request.hash = 0xabc;
    request.major = 9;
    request.bytes = image;
    request.driver_options = driver_options;
    EXPECT_TRUE(maker.answer(request));
    auto notes = decode_notes(content("answers/0000000000000abc.notes"));
    EXPECT_TRUE(notes);
    std::vector<Note> kernels = notes.value_or(std::vector<Note>());
    EXPECT_FALSE(kernels.empty());
    if (!kernels.empty()) whole = kernels.back();
    if (!kernels.empty()) kernels.pop_back();
    return kernels;
  }
};

TEST_F(MakerTest, CodeIsTracedToTheAssemblyThatMadeIt) {
  Maker maker(settings(), "", folder.path());
  std::string cubin = assembled(kernel_text("kernel"));
  maker.learn(ProgramRun{kStandIn, "/", {"-arch=sm_90"}, kernel_text("other")});
  maker.learn(ProgramRun{kStandIn, "/", {"-arch=sm_90"}, kernel_text("kernel")});
  std::vector<Note> notes = answer(maker, cubin);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::pair) << notes[0].why;
  EXPECT_TRUE(notes[0].a_is_loaded);
  EXPECT_FALSE(notes[0].b_is_loaded);
  EXPECT_TRUE(fs::exists(path("answers/0000000000000abc.b")));
  EXPECT_FALSE(fs::exists(path("answers/0000000000000abc.a")));
  EXPECT_EQ(read_file(notes[0].ptx).value_or(""), kernel_text("kernel"));
}

TEST_F(MakerTest, CodeThatComesOutOtherwiseIsNoTwin) {
  Maker maker(settings(), "", folder.path());
  std::string cubin = assembled(kernel_text("kernel"));
  std::string changed = kernel_text("kernel");
  changed.replace(changed.find("%r5, %r4"), 8, "%r4, %r5");
  maker.learn(ProgramRun{kStandIn, "/", {"-arch=sm_90"}, changed});
  std::vector<Note> notes = answer(maker, cubin);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::alone);
  EXPECT_FALSE(fs::exists(path("answers/0000000000000abc.b")));
}

TEST_F(MakerTest, TheOtherBuildMayBeAnotherAssemblers) {
  fs::create_directories(folder.path() / "new");
  fs::copy(kStandIn, path("new/ptxas"));
  ASSERT_TRUE(write_file(path("new/settings"), "version=13.9.1\ntrigger=kernel\n"));
  Settings asked = settings();
  asked.a = "natural";
  asked.b = path("new/ptxas");
  Maker maker(asked, "", folder.path());
  std::string cubin = assembled(kernel_text("kernel"));
  maker.learn(ProgramRun{kStandIn, "/", {"-arch=sm_90"}, kernel_text("kernel")});
  std::vector<Note> notes = answer(maker, cubin);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::pair) << notes[0].why;
  EXPECT_TRUE(notes[0].a_is_loaded);
}

TEST_F(MakerTest, NeitherBuildNeedsToBeTheLoadedOne) {
  Settings asked = settings();
  asked.a = "O1";
  asked.b = "treated";
  Maker maker(asked, "", folder.path());
  std::string cubin = assembled(kernel_text("kernel"));
  maker.learn(ProgramRun{kStandIn, "/", {"-arch=sm_90"}, kernel_text("kernel")});
  std::vector<Note> notes = answer(maker, cubin);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::pair) << notes[0].why;
  EXPECT_FALSE(notes[0].a_is_loaded || notes[0].b_is_loaded);
  EXPECT_TRUE(fs::exists(path("answers/0000000000000abc.a")));
}

// The driver's assembler is another assembler in a child of the tool; here the stand-in plays both.
TEST_F(MakerTest, PtxThatTheDriverAssemblesIsAssembledElsewhereAgain) {
  ASSERT_TRUE(
      write_file(path("tool"), "#!/bin/sh\nexec " + kStandIn + " -arch=$4 $5 -o $7\n", true));
  Settings asked = settings();
  asked.own_executable = path("tool");
  Maker maker(asked, "", folder.path());
  std::vector<Note> notes = answer(maker, kernel_text("kernel") + '\0');
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::pair) << notes[0].why;
  EXPECT_EQ(notes[0].assembler, "driver JIT");
  EXPECT_TRUE(notes[0].a_is_loaded);

  driver_options = true;
  notes = answer(maker, kernel_text("kernel"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::alone);
  EXPECT_NE(notes[0].why.find("options"), std::string::npos) << notes[0].why;
}

// As nvcc packs it for a driver that came after it.
TEST_F(MakerTest, PtxAloneInAFatbinIsAssembledByTheDriver) {
  ASSERT_TRUE(
      write_file(path("tool"), "#!/bin/sh\nexec " + kStandIn + " -arch=$4 $5 -o $7\n", true));
  Settings asked = settings();
  asked.own_executable = path("tool");
  Maker maker(asked, "", folder.path());
  cubin::EntrySource text{kernel_text("kernel"), cubin::Content::ptx, cubin::Packing::none, 80};
  cubin::EntrySource for_another = text;
  for_another.content = kernel_text("another");
  for_another.architecture = 89;
  for_another.flags = 0x100000;  // sm_89a, which this device is not
  std::vector<Note> notes = answer(maker, cubin::fatbin_of({text, for_another}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].symbol, "kernel");
  EXPECT_EQ(notes[0].standing, Standing::pair) << notes[0].why;
  EXPECT_EQ(notes[0].assembler, "driver JIT");

  driver_options = true;
  notes = answer(maker, cubin::fatbin_of({text}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::alone);
  EXPECT_NE(notes[0].why.find("options"), std::string::npos) << notes[0].why;
}

TEST_F(MakerTest, WhatIsNoCodeIsAnsweredWithNothing) {
  Maker maker(settings(), "", folder.path());
  for (const std::string& image : {std::string("\x7f"
                                               "ELF"),
                                   std::string("nonsense"), std::string(),
                                   std::string(cubin::kFatbinMagic) + std::string(40, '\xff')})
    EXPECT_TRUE(answer(maker, image).empty());
  EXPECT_NE(whole.why, "");
}

TEST_F(MakerTest, CodeFromBeforeTheRunIsMadeOfThePtxBesideIt) {
  Settings asked = settings();
  asked.tools = tools();
  auto nvcc = toolchain::choose(asked.tools, toolchain::Kind::nvcc, "13.0.88");
  if (!nvcc) GTEST_SKIP() << "no nvcc 13.0.88; to get it: namesake toolchain add nvcc-13.0.88";
  Command compile;
  compile.arguments = {nvcc->path.string(),
                       "-fatbin",
                       "-gencode",
                       "arch=compute_90,code=[sm_90,compute_90]",
                       NAMESAKE_SOURCE_DIR "/kernels/sgemm.cu",
                       "-o",
                       path("sgemm.fatbin")};
  auto done = run(compile);
  ASSERT_TRUE(done && done->ok()) << (done ? done->err : "");
  Maker maker(asked, "", folder.path());
  std::vector<Note> notes = answer(maker, content("sgemm.fatbin"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].symbol, "sgemm_tiled");
  EXPECT_EQ(notes[0].standing, Standing::pair) << notes[0].why;
  EXPECT_EQ(notes[0].assembler, "ptxas 13.0.88");

  Maker without(settings(), "", folder.path());
  notes = answer(without, content("sgemm.fatbin"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].why.find("no assembler at hand"), std::string::npos) << notes[0].why;
  EXPECT_NE(notes[0].why.find("cuda_13.0"), std::string::npos) << notes[0].why;
}

TEST_F(MakerTest, WhatNvrtcWasGivenIsCompiledElsewhereAgain) {
  Settings asked = settings();
  auto nvrtc = toolchain::choose(tools(), toolchain::Kind::nvrtc, "newest");
  if (!nvrtc) GTEST_SKIP() << "no NVRTC; to get it: namesake toolchain add nvrtc-13.0";
  NvrtcProgram program;
  program.library = nvrtc->path.string();
  program.source = read_file(NAMESAKE_SOURCE_DIR "/kernels/sgemm.cu").value_or("");
  program.name = "sgemm.cu";
  program.options = {"-arch=sm_90"};
  ASSERT_TRUE(write_file(path("program"), encode_request(program)));
  Command compile;
  compile.arguments = {NAMESAKE_BINARY_DIR "/namesake",
                       "assemble-in-process",
                       "nvrtc-program",
                       program.library,
                       "sm_90",
                       path("program"),
                       "-o",
                       path("loaded.cubin")};
  auto done = run(compile);
  ASSERT_TRUE(done && done->ok()) << (done ? done->err : "");
  Maker maker(asked, "", folder.path());
  maker.learn(program);
  std::vector<Note> notes = answer(maker, content("loaded.cubin"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].standing, Standing::pair) << notes[0].why;
  EXPECT_TRUE(notes[0].assembler.starts_with("NVRTC")) << notes[0].assembler;
  EXPECT_FALSE(notes[0].ptx.empty());
}

}  // namespace
