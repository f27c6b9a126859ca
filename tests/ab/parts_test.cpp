#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <random>

#include "ab/judge.h"
#include "ab/library.h"
#include "ab/notes.h"
#include "ab/own_variables.h"
#include "ab/records.h"
#include "ab/requests.h"
#include "ab/witness.h"
#include "live/protocol.h"
#include "report/live_pages.h"
#include "util/file.h"

using namespace namesake;
using namespace namesake::ab;

namespace {

ptx::Module module_of(const std::string& text) {
  auto module = ptx::parse(text, "test");
  EXPECT_TRUE(module) << module.error().message;
  return module ? *module : ptx::Module();
}

const std::string kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

TEST(OwnVariables, AreThoseThatTheKernelTouches) {
  ptx::Module module =
      module_of(kHead +
                ".global .align 4 .u32 counter;\n.const .align 4 .b8 table[8] = {1, 2};\n"
                ".visible .entry one()\n{\n ld.global.u32 %r1, [counter];\n ret;\n}\n"
                ".visible .entry two()\n{\n ld.const.u32 %r1, [table+4];\n ret;\n}\n"
                ".visible .entry three()\n{\n mov.u32 %counter_1, 0;\n ret;\n}\n");
  EXPECT_EQ(own_variables(module, "one"), std::vector<std::string>{"counter"});
  EXPECT_EQ(own_variables(module, "two"), std::vector<std::string>{"table"});
  EXPECT_TRUE(own_variables(module, "three").empty());
}

TEST(OwnVariables, OfAFunctionBelongToEveryKernelThatMayCallIt) {
  ptx::Module module = module_of(kHead +
                                 ".global .align 4 .u32 counter;\n.func helper()\n{\n "
                                 "ld.global.u32 %r1, [counter];\n ret;\n}\n"
                                 ".visible .entry one()\n{\n call helper;\n ret;\n}\n");
  EXPECT_EQ(own_variables(module, "one"), std::vector<std::string>{"counter"});
}

TEST(OwnVariables, TextsOfPrintfAndSharedMemoryAreNone) {
  ptx::Module module = module_of(
      kHead +
      ".global .align 1 .b8 $str[4] = {104, 105, 10};\n.extern .shared .align 16 .b8 pool[];\n"
      ".visible .entry one()\n{\n mov.u64 %rd1, $str;\n mov.u64 %rd2, pool;\n ret;\n}\n");
  EXPECT_TRUE(own_variables(module, "one").empty());
}

TEST(AssemblerOptions, AreReadAsPtxasTakesThem) {
  auto folder = TemporaryFolder::make("ab-options");
  ASSERT_TRUE(folder);
  std::string input = (folder->path() / "a.ptx").string();
  ASSERT_TRUE(write_file(input, "x"));
  AssemblerOptions options = read_assembler_options(
      {"-lineinfo", "-v", "--gpu-name=sm_90a", "-m64", input, "-dlcm", "ca", "-o", "x.o", "-O2"});
  EXPECT_EQ(options.architecture, "sm_90a");
  EXPECT_EQ(options.input, input);
  EXPECT_EQ(options.output, "x.o");
  EXPECT_EQ(options.opt_level, 2);
  EXPECT_EQ(options.others, (std::vector<std::string>{"-lineinfo", "-m64", "-dlcm", "ca"}));
  options =
      read_assembler_options({"-arch", "sm_80", "--opt-level", "1", "-c", "--maxrregcount", "64"});
  EXPECT_EQ(options.architecture, "sm_80");
  EXPECT_EQ(options.opt_level, 1);
  EXPECT_TRUE(options.relocatable);
  EXPECT_EQ(options.others, (std::vector<std::string>{"--maxrregcount", "64"}));
}

TEST(Requests, ComeBackAsTheyWere) {
  rc::check([](const std::string& source, const std::vector<std::string>& options,
               const std::string& text) {
    NvrtcProgram program{"lib", source, "name", {text}, {"header"}, options, {}};
    auto back = parse_request(encode_request(program));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->nvrtc.source == source);
    RC_ASSERT(back->nvrtc.options == options);
    RC_ASSERT(back->nvrtc.headers == std::vector<std::string>{text});
    ProgramRun run{"file", "folder", options, text};
    back = parse_request(encode_request(run));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->program.arguments == options);
    RC_ASSERT(back->program.text == text);
  });
}

TEST(Requests, CutShortAreRefused) {
  std::string whole = encode_request(ProgramRun{"file", "folder", {"a", "b"}, "text"});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_request(whole.substr(0, size))) << size;
}

TEST(Notes, ComeBackAsTheyWere) {
  Note note;
  note.image = ~uint64_t{0};
  note.symbol = "kernel";
  note.standing = Standing::pair;
  note.why = "because";
  note.a = {"id", 32, 8, 1024};
  note.b_is_loaded = true;
  note.ptx = "/x";
  auto back = decode_notes(encode({note, Note()}));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].image, note.image);
  EXPECT_EQ((*back)[0].symbol, "kernel");
  EXPECT_EQ((*back)[0].standing, Standing::pair);
  EXPECT_EQ((*back)[0].a.registers, 32);
  EXPECT_TRUE((*back)[0].b_is_loaded);
  EXPECT_FALSE((*back)[0].a_is_loaded);
}

TEST(Records, OfAnotherProtocolOrCutShortAreRefused) {
  ns_live_record head{};
  head.magic = NAMESAKE_LIVE_MAGIC;
  head.protocol = NAMESAKE_LIVE_PROTOCOL;
  std::string file(reinterpret_cast<const char*>(&head), sizeof head);
  EXPECT_FALSE(parse_record(file));
  file.resize(NS_LIVE_SIZE);
  EXPECT_TRUE(parse_record(file));
  file[8] = 99;
  EXPECT_FALSE(parse_record(file));
}

// Any process may scribble in the folder.
TEST(Records, FullOfAnythingAreJudgedWithoutHarm) {
  rc::check([](uint64_t seed) {
    ns_live_record head{};
    head.magic = NAMESAKE_LIVE_MAGIC;
    head.protocol = NAMESAKE_LIVE_PROTOCOL;
    std::string file(NS_LIVE_SIZE, '\0');
    std::mt19937_64 random(seed);
    for (size_t at = 0; at + 8 <= file.size(); at += 8 * (1 + random() % 64)) {
      uint64_t word = random() % 4 ? random() % 9000 : random();
      std::memcpy(file.data() + at, &word, 8);
    }
    std::memcpy(file.data(), &head, sizeof head);
    auto record = parse_record(file);
    RC_ASSERT(record.has_value());
    Launched launched;
    launched.records.push_back(*record);
    report::Live live = judge(launched, "untreated", "treated");
    advise(live, {"./app"});
    RC_ASSERT(!report::to_text(live, {}).empty());
    RC_ASSERT(report::live_from_json(report::to_json(live)).has_value());
  });
}

TEST(Library, HoldsItsFolder) {
  auto library = library_for("/run/somewhere");
  ASSERT_TRUE(library);
  EXPECT_NE(library->find(NAMESAKE_LIVE_MARK "/run/somewhere"), std::string::npos);
  EXPECT_EQ(library->size(), embedded_library().size());
}

// What the user's process gets to see: libc, and no C++ runtime.
TEST(Library, NeedsLibcAlone) {
  std::string library(embedded_library());
  EXPECT_EQ(library.find("libstdc++"), std::string::npos);
  EXPECT_EQ(library.find("libgcc_s"), std::string::npos);
  EXPECT_NE(library.find("libc.so.6"), std::string::npos);
}

}  // namespace
