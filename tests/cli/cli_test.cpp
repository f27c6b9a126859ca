// The tool as people and scripts meet it: streams, exit statuses, words.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake {
namespace {
namespace fs = std::filesystem;

class Tool : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-cli"));

  Completed call(std::vector<std::string> arguments, std::vector<std::string> more = {}) {
    Command command;
    command.arguments = std::move(arguments);
    command.arguments.insert(command.arguments.begin(), NAMESAKE_BINARY_DIR "/namesake");
    command.environment = {"NAMESAKE_KERNELS=" NAMESAKE_SOURCE_DIR "/kernels", "XDG_CACHE_HOME=" + folder.path().string(),
                           "XDG_STATE_HOME=" + folder.path().string(), "COLUMNS=100"};
    for (std::string& variable : more) command.environment.push_back(std::move(variable));
    auto done = run(command);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Completed();
  }

  // A stand-in assembler and a kernel for it.
  std::string assembler(const std::string& settings = "") {
    fs::create_directories(folder.path() / "bin");
    fs::copy_file(NAMESAKE_BINARY_DIR "/stand_in/ptxas", folder.path() / "bin" / "ptxas", fs::copy_options::overwrite_existing);
    EXPECT_TRUE(write_file(folder.path() / "bin" / "settings", "version=13.5.37\n" + settings + "\n"));
    return (folder.path() / "bin" / "ptxas").string();
  }
  std::string kernel() {
    std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry gemm_kernel()\n{\n.reg .b32 %r<9>;\n";
    for (int i = 0; i < 8; ++i) text += "add.s32 %r1, %r1, " + std::to_string(i) + ";\n";
    EXPECT_TRUE(write_file(folder.path() / "gemm.ptx", text + "ret;\n}\n"));
    return (folder.path() / "gemm.ptx").string();
  }
};

TEST_F(Tool, WithoutACommandSaysHowToBegin) {
  Completed done = call({});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_NE((done.out + done.err).find("--help"), std::string::npos);
}

TEST_F(Tool, AMisspelledOptionIsAUsageError) {
  Completed done = call({"diff", "--asembler", "13.0"});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_EQ(done.out, "");
}

TEST_F(Tool, EveryCommandHasHelpWithAnExample) {
  for (const char* name : {"census", "diff", "trace", "run", "toolchain", "doctor", "completion", "manual"}) {
    Completed done = call({name, "--help"});
    EXPECT_EQ(done.exit_status, 0) << name;
    EXPECT_NE(done.out.find("namesake " + std::string(name)), std::string::npos) << name;
  }
}

TEST_F(Tool, TheManPageHoldsEveryOptionOfTheHelp) {
  std::string page = call({"manual"}).out;
  for (const char* name : {"diff", "trace", "run", "doctor"}) {
    for (std::string_view word : split(call({name, "--help"}).out, ' ')) {
      word = trimmed(word);
      if (!word.starts_with("--") || word == "--") continue;
      std::string option(word.substr(0, word.find_first_of(",= \n")));
      std::string roff;
      for (char c : option) roff += c == '-' ? std::string("\\-") : std::string(1, c);
      if (option.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos) {
        EXPECT_NE(page.find(roff), std::string::npos) << name << " " << option;
      }
    }
  }
}

TEST_F(Tool, TheBashCompletionOffersCommandsAndOptions) {
  ASSERT_TRUE(write_file(folder.path() / "completion", call({"completion", "bash"}).out));
  std::string script = ". " + (folder.path() / "completion").string() +
                       "; COMP_WORDS=(namesake diff --ke); COMP_CWORD=2; _namesake; echo ${COMPREPLY[@]}"
                       "; COMP_WORDS=(namesake tr); COMP_CWORD=1; _namesake; echo ${COMPREPLY[@]}";
  auto done = run({.arguments = {"bash", "-c", script}});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "--kernel\ntrace\n") << done->err;
}

TEST_F(Tool, DiffWritesTheSameFindingsAsTextJsonAndHtml) {
  fs::path json = folder.path() / "d.json", html = folder.path() / "d.html";
  Completed done = call({"diff", kernel(), "--assembler", assembler(), "--json", json.string(), "--html", html.string()});
  ASSERT_EQ(done.exit_status, 0) << done.err;
  EXPECT_NE(done.out.find("gemm_kernel"), std::string::npos);
  auto document = nlohmann::json::parse(*read_file(json));
  EXPECT_EQ(document["schema"], "namesake.diff/1.0");
  EXPECT_EQ(document["functions"][0]["verdict"], "different");
  EXPECT_NE(read_file(html)->find("gemm_kernel"), std::string::npos);
}

TEST_F(Tool, JsonOnStdoutIsOneDocumentAndNothingElse) {
  Completed done = call({"diff", kernel(), "--assembler", assembler(), "--json", "-"});
  ASSERT_EQ(done.exit_status, 0) << done.err;
  EXPECT_TRUE(nlohmann::json::accept(done.out));
}

TEST_F(Tool, FailOnGivesOneOnlyForWhatWasAsked) {
  std::string file = kernel(), ptxas = assembler();
  EXPECT_EQ(call({"diff", file, "--assembler", ptxas, "--fail-on", "different"}).exit_status, 1);
  EXPECT_EQ(call({"diff", file, "--assembler", ptxas, "--fail-on", "lottery,spills,control"}).exit_status, 0);
  EXPECT_EQ(call({"diff", file, "--assembler", ptxas, "--fail-on", "everything"}).exit_status, 2);
}

TEST_F(Tool, EqualBuildsAreRefusedWithACure) {
  Completed done = call({"diff", kernel(), "--assembler", assembler(), "--a", "natural", "--b", "natural"});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_NE(done.err.find("--b"), std::string::npos);
}

TEST_F(Tool, AMissingFileIsOneSentence) {
  Completed done = call({"diff", "none.ptx", "--assembler", assembler()});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  EXPECT_NE(done.err.find("none.ptx"), std::string::npos);
}

TEST_F(Tool, AReportThatCannotBeWrittenLeavesNoPart) {
  fs::path target = folder.path() / "missing" / "d.html";
  Completed done = call({"diff", kernel(), "--assembler", assembler(), "--html", target.string()});
  EXPECT_EQ(done.exit_status, 2);
  EXPECT_FALSE(fs::exists(target));
}

TEST_F(Tool, RunTreatsAndCountsAndPassesTheStatusOn) {
  std::string output = (folder.path() / "o.cubin").string();
  Completed done = call({"run", "--treat", "gemm*", "--", assembler(), "-arch=sm_90", kernel(), "-o", output});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_NE(done.err.find("1 treated, 0 left, 0 unseen"), std::string::npos) << done.err;
  EXPECT_EQ(call({"run", "--treat", "*", "--", "sh", "-c", "exit 7"}).exit_status, 7);
  EXPECT_EQ(call({"run", "--treat", "*", "--", "namesake-no-such-command"}).exit_status, 127);
}

TEST_F(Tool, RunLetsTheLastGlobThatFitsDecide) {
  std::string ptxas = assembler(), file = kernel();
  auto counts = [&](std::vector<std::string> globs) {
    std::vector<std::string> arguments = {"run"};
    arguments.insert(arguments.end(), globs.begin(), globs.end());
    for (const std::string& word : {std::string("--"), ptxas, std::string("-arch=sm_90"), file, std::string("-o"), (folder.path() / "o").string()}) arguments.push_back(word);
    call(arguments);
    return *read_file(folder.path() / "o");
  };
  std::string treated = counts({"--treat", "*"}), untreated = counts({"--untreat", "*"});
  EXPECT_NE(treated, untreated);
  EXPECT_EQ(counts({"--untreat", "*", "--treat", "gemm*"}), treated);
  EXPECT_EQ(counts({"--treat", "*", "--untreat", "gemm*"}), untreated);
}

TEST_F(Tool, RunFallsBackToTheNaturalRunAndSaysSo) {
  std::string output = (folder.path() / "o.cubin").string();
  Completed done = call({"run", "--treat", "*", "--", assembler("crash=treated"), "-arch=sm_90", kernel(), "-o", output});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_TRUE(fs::exists(output));
  EXPECT_NE(done.err.find("ran naturally"), std::string::npos) << done.err;
}

TEST_F(Tool, StrictRefusesARunInWhichNothingWasAssembled) {
  EXPECT_EQ(call({"run", "--treat", "*", "--strict", "--", "true"}).exit_status, 125);
  EXPECT_EQ(call({"run", "--treat", "*", "--", "true"}).exit_status, 0);
}

TEST_F(Tool, RunWithoutAnythingToDecideIsAnErrorOfOurs) {
  EXPECT_EQ(call({"run", "--", "true"}).exit_status, 125);
  EXPECT_EQ(call({"run", "--treat", "*"}).exit_status, 125);
}

TEST_F(Tool, RunTellsInOneLineWhichCachesWereItsOwnAndListsThemWhenAsked) {
  Completed brief = call({"run", "--treat", "*", "--", "true"});
  size_t line = brief.err.find("compile caches");
  ASSERT_NE(line, std::string::npos) << brief.err;
  EXPECT_EQ(brief.err.find("TRITON_CACHE_DIR"), std::string::npos) << brief.err;
  EXPECT_NE(brief.err.find(folder.path().string(), line), std::string::npos) << brief.err;
  Completed whole = call({"run", "--verbose", "--treat", "*", "--", "true"});
  EXPECT_NE(whole.err.find("TRITON_CACHE_DIR=" + folder.path().string()), std::string::npos) << whole.err;
  EXPECT_EQ(call({"run", "--shared-caches", "--treat", "*", "--", "true"}).err.find("caches"), std::string::npos);
}

TEST_F(Tool, RunRefusesToBeNested) {
  Completed done = call({"run", "--treat", "*", "--", NAMESAKE_BINARY_DIR "/namesake", "run", "--treat", "*", "--", "true"});
  EXPECT_EQ(done.exit_status, 125) << done.err;
}

TEST_F(Tool, TraceShowsTheQuestionAndLeavesTheCodeAlone) {
  std::string ptxas = assembler(), file = kernel(), output = (folder.path() / "o").string();
  ASSERT_TRUE(run({.arguments = {ptxas, "-arch=sm_90", file, "-o", output}}));
  std::string plain = *read_file(output);
  Completed done = call({"trace", "--json", (folder.path() / "t.json").string(), "--", ptxas, "-arch=sm_90", file, "-o", output});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_NE(done.err.find("cutlass"), std::string::npos);
  EXPECT_EQ(*read_file(output), plain);
  EXPECT_TRUE(nlohmann::json::accept(*read_file(folder.path() / "t.json")));
}

TEST_F(Tool, AColourIsOnlyWhereAskedFor) {
  std::string file = kernel(), ptxas = assembler();
  EXPECT_EQ(call({"diff", file, "--assembler", ptxas}).out.find('\033'), std::string::npos);
  EXPECT_NE(call({"--color", "always", "diff", file, "--assembler", ptxas}).out.find('\033'), std::string::npos);
}

TEST_F(Tool, WorksWithoutAHomeInAReadOnlyFolder) {
  Command command;
  command.arguments = {NAMESAKE_BINARY_DIR "/namesake", "diff", kernel(), "--assembler", assembler()};
  command.unset = {"HOME", "XDG_CACHE_HOME"};
  command.folder = "/proc";
  auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_status, 0) << done->err;
}

TEST_F(Tool, AnInterruptEndsItSoonWithTheUsualStatus) {
  std::string ptxas = assembler("hang=always"), file = kernel();
  auto done = run({.arguments = {"sh", "-c", "\"$@\" & pid=$!; sleep 1; kill -INT $pid; wait $pid; echo $?", "sh",
                                 NAMESAKE_BINARY_DIR "/namesake", "diff", file, "--assembler", ptxas}});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "130\n") << done->err;
  EXPECT_LT(done->wall_seconds, 20);
}

}  // namespace
}  // namespace namesake
