// The probe over a stand-in assembler in which triggers are planted.
#include "study/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "study/probe_bench.h"
#include "util/file.h"

namespace namesake::study {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kArchitectures = {"sm_80", "sm_90"};

class Probe : public testing::Test {
 protected:
  Program stand_in(const std::string& settings) {
    fs::path home = folder_.path() / ("assembler" + std::to_string(++count_));
    fs::create_directories(home);
    fs::copy_file(NAMESAKE_BINARY_DIR "/stand_in/ptxas", home / "ptxas");
    EXPECT_TRUE(write_file(home / "settings", settings + "\n"));
    Program program;
    program.tool.path = home / "ptxas";
    program.tool.version = "13.5.37";
    return program;
  }

  // A kernel of eight statements, told from others by the instruction it uses.
  static ProbeKernel kernel(const std::string& name, const std::string& instruction) {
    std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry " + name +
                       "(.param .u64 p)\n{\n.reg .b32 %r<9>;\n";
    for (int i = 0; i < 8; ++i) text += instruction + " %r1, %r1, " + std::to_string(i) + ";\n";
    return probe_kernels(text + "ret;\n}\n", name + ".ptx").value().front();
  }

  ProbeRequest request(const std::string& settings, const std::vector<std::string>& words) {
    ProbeRequest request;
    request.programs = {stand_in(settings)};
    request.kernels = {kernel("adds", "add.s32"), kernel("multiplies", "mul.lo.s32")};
    request.architectures = kArchitectures;
    fs::path nothing = folder_.path() / "nothing";
    EXPECT_TRUE(write_file(nothing, std::string_view()));
    request.dictionaries = {nothing};
    request.words = words;
    request.workers = 2;
    request.timeout = std::chrono::seconds(1);
    return request;
  }

  static report::ProbedProgram probed(const ProbeRequest& request) {
    Result<report::Probe> result = probe(request);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? result->programs.front() : report::ProbedProgram{};
  }

  static const std::vector<std::string>& some_words() {
    static const std::vector<std::string> kWords = {
        "alignment",     "barrier_wait",    "cutlass_gemm", "descriptor",
        "epilogue",      "flash_attention", "gather4",      "__cuda_uf_stub_",
        "__nv_reserved", "main_loop",       "pipeline",     "vectorised"};
    return kWords;
  }

  TemporaryFolder folder_ = std::move(*TemporaryFolder::make("namesake-probe-test"));
  int count_ = 0;
};

// "cutlass substring" for each finding.
std::vector<std::string> found(const report::ProbedProgram& program) {
  std::vector<std::string> result;
  for (const report::ProbeFinding& finding : program.findings)
    result.push_back(finding.text + " " + finding.match);
  std::sort(result.begin(), result.end());
  return result;
}

// "adds sm_80" for each kernel and architecture that a finding changes.
std::vector<std::string> changed(const report::ProbeFinding& finding) {
  std::vector<std::string> result;
  for (const report::ProbeReaction& reaction : finding.reactions) {
    if (!reaction.change.empty()) result.push_back(reaction.kernel + " " + reaction.architecture);
  }
  return result;
}

TEST_F(Probe, FindsTheTriggerThatACallBetrays) {
  report::ProbedProgram program = probed(request("", some_words()));
  EXPECT_EQ(found(program), std::vector<std::string>{"cutlass substring"});
  EXPECT_EQ(program.findings[0].found_in, "cutlass_gemm");
  EXPECT_EQ(program.findings[0].reactions.size(), 4u);
}

TEST_F(Probe, FindsTriggersThatNoCallBetraysOfEachKind) {
  report::ProbedProgram program = probed(request(
      "trigger=none plant=flash,__cuda_uf_stub_/prefix,sed/suffix,pipeline/exact", some_words()));
  EXPECT_EQ(found(program), (std::vector<std::string>{"__cuda_uf_stub_ prefix", "flash substring",
                                                      "pipeline exact", "sed suffix"}));
}

TEST_F(Probe, SaysWhichKernelOnWhichArchitectureReacts) {
  report::ProbedProgram program =
      probed(request("trigger=none plant=flash/substring/same/mul.lo.s32/sm_90", some_words()));
  ASSERT_EQ(found(program), std::vector<std::string>{"flash substring"});
  EXPECT_EQ(changed(program.findings[0]), std::vector<std::string>{"multiplies sm_90"});
}

TEST_F(Probe, ACodeThatDependsOnTheNamesLengthIsNoFinding) {
  EXPECT_EQ(found(probed(request("length=yes", some_words()))),
            std::vector<std::string>{"cutlass substring"});
}

TEST_F(Probe, ALotteryIsNoFinding) {
  report::ProbedProgram program = probed(request("trigger=none lottery=3", some_words()));
  EXPECT_TRUE(program.findings.empty());
}

TEST_F(Probe, ACrashIsFoundAndToldFromOtherCode) {
  ProbeRequest asked = request("trigger=none plant=flash crash=treated", some_words());
  asked.architectures = {"sm_90"};
  report::ProbedProgram program = probed(asked);
  ASSERT_EQ(found(program), std::vector<std::string>{"flash substring"});
  EXPECT_EQ(program.findings[0].reactions[0].change, "crash");
}

TEST_F(Probe, ANameThatNeverEndsIsFound) {
  ProbeRequest asked = request("trigger=none plant=flash hang=treated", {"flash", "other"});
  asked.architectures = {"sm_90"};
  asked.kernels.resize(1);
  asked.names = false;
  asked.timeout = std::chrono::milliseconds(100);
  report::ProbedProgram program = probed(asked);
  ASSERT_EQ(found(program), std::vector<std::string>{"flash substring"});
  EXPECT_EQ(program.findings[0].reactions[0].change, "hang");
}

TEST_F(Probe, AProgramThatTakesNothingSaysWhy) {
  Result<report::Probe> result = probe(request("fail=Whatever", some_words()));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("Whatever"), std::string::npos) << result.error().message;
}

TEST_F(Probe, AKernelForAnotherArchitectureIsNotTried) {
  ProbeRequest asked = request("", some_words());
  asked.architectures = {"sm_75"};
  Result<report::Probe> result = probe(asked);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("sm_75"), std::string::npos) << result.error().message;
}

TEST_F(Probe, AnyCommandCanBeProbed) {
  ProbeRequest asked = request("trigger=none plant=flash", some_words());
  asked.programs[0].command = asked.programs[0].tool.path.string() + " -arch={arch} {in} -o {out}";
  asked.architectures = {"sm_90"};
  EXPECT_EQ(found(probed(asked)), std::vector<std::string>{"flash substring"});
}

TEST_F(Probe, ACommandWithoutItsPlacesIsRefused) {
  EXPECT_FALSE(check_command("ptxas {in}"));
  EXPECT_FALSE(check_command("ptxas -o {out}"));
  EXPECT_TRUE(check_command("ptxas {in} -o {out}"));
}

TEST_F(Probe, AWordThatIsNoNameIsLeftOutByItsLine) {
  EXPECT_EQ(lines_named("ptxas module.ptx, line 25; fatal   : Parsing error near 'WARP_SZ'\nptxas "
                        "fatal   : aborted\n"),
            std::vector<size_t>{25});
  EXPECT_EQ(lines_named("kernel.cu(7): error: expected an identifier\nkernel.cu(7): error: "
                        "again\nkernel.cu(9): warning: no\n"),
            std::vector<size_t>{7});
}

TEST_F(Probe, ASecondRunAssemblesNothingThatWasClean) {
  ProbeRequest asked = request("trigger=none", some_words());
  asked.journal_folder = folder_.path() / "journal";
  for (int i = 0; i < 30; ++i) asked.words.push_back("more" + std::to_string(i));
  report::ProbedProgram first = probed(asked), second = probed(asked);
  EXPECT_EQ(first.searches[0].remembered, 0);
  EXPECT_GT(second.searches[0].remembered, 0);
  EXPECT_LT(second.searches[0].assemblies, first.searches[0].assemblies);
  EXPECT_EQ(found(second), found(first));
}

TEST_F(Probe, AnInterruptedRunGoesOnWhereItWas) {
  ProbeRequest asked = request("plant=flash", some_words());
  asked.journal_folder = folder_.path() / "journal";
  asked.architectures = {"sm_90"};
  asked.kernels.resize(1);
  for (int i = 0; i < 600; ++i) asked.words.push_back("more" + std::to_string(i));
  std::atomic<bool> enough = false;
  asked.progress = [&](std::string_view text) {
    enough = enough || text.find("texts as names") != text.npos;
  };
  asked.stop = [&] { return enough.load(); };
  EXPECT_FALSE(probe(asked));
  asked.stop = {};
  report::ProbedProgram program = probed(asked);
  EXPECT_GT(program.searches[0].remembered, 0);
  EXPECT_EQ(found(program), (std::vector<std::string>{"cutlass substring", "flash substring"}));
}

TEST_F(Probe, AJournalWithATornEndIsReadUpToIt) {
  fs::path file = folder_.path() / "torn";
  Hash hash = hash_bytes("module");
  ASSERT_TRUE(write_file(file, hash.hex() + "\n" + hash.hex().substr(0, 9)));
  ProbeJournal journal(file);
  EXPECT_TRUE(journal.holds(hash));
  EXPECT_FALSE(journal.holds(Hash{}));
}

TEST_F(Probe, KernelsOfOneModuleAreStampedEachByItself) {
  std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.global .u32 counter;\n.visible .entry "
      "one()\n{\nret;\n}\n"
      ".visible .entry two()\n{\nret;\n}\n";
  std::vector<ProbeKernel> kernels = probe_kernels(text, "both.ptx").value();
  ASSERT_EQ(kernels.size(), 2u);
  Stamped stamped = stamp(kernels[1], {"first", "second"});
  EXPECT_EQ(stamped.text.find("one"), std::string::npos);
  EXPECT_NE(stamped.text.find(".entry first("), std::string::npos);
  EXPECT_NE(stamped.text.find(".global .u32 counter"), std::string::npos);
  EXPECT_EQ(stamped.first_lines.size(), 2u);
}

TEST_F(Probe, ACudaKernelIsStampedByItsName) {
  std::string text =
      "#define N 2\nextern \"C\" __global__ void __launch_bounds__(128) mine(int* out) {\n  if (N) "
      "{ *out = '}'; }\n}\n";
  std::vector<ProbeKernel> kernels = probe_kernels(text, "mine.cu").value();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].after.substr(0, 10), "(int* out)");
  EXPECT_EQ(kernels[0].foot, "\n");
  EXPECT_FALSE(probe_kernels("void host() {}", "none.cu"));
}

// What the search promises: all of fifty triggers, whatever their text, their match, and the kernel
// and architecture they are for; five at a time, so that they stand in each other's way.
TEST_F(Probe, FiftyPlantedTriggersAreAllFound) {
  std::mt19937 random(20260101);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  auto letters = [&](size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + below(26));
    return text;
  };
  const std::vector<std::string> kMatches = {"substring", "prefix", "suffix", "exact"},
                                 kKernels = {"add.s32", "mul.lo.s32"};
  for (int run = 0; run < 10; ++run) {
    std::vector<std::string> words, expected;
    std::string settings = "trigger=none plant=";
    for (int i = 0; i < 40; ++i) words.push_back(letters(4 + below(12)));
    for (int i = 0; i < 5; ++i) {
      std::string text = letters(6 + below(6)), match = kMatches[below(4)];
      bool any_case = below(4) == 0;
      std::string before = match == "substring" || match == "suffix" ? letters(below(5)) : "";
      std::string after = match == "substring" || match == "prefix" ? letters(below(5)) : "";
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(below(words.size())),
                   before + text + after);
      expected.push_back(text + " " + match + (any_case ? " any" : ""));
      settings += text + "/" + match + "/" + (any_case ? "any" : "same") + "/" +
                  kKernels[below(2)] + "/" + kArchitectures[below(2)] + ",";
    }
    report::ProbedProgram program = probed(request(settings, words));
    std::vector<std::string> seen;
    for (const report::ProbeFinding& finding : program.findings) {
      seen.push_back(finding.text + " " + finding.match + (finding.any_case ? " any" : ""));
      EXPECT_EQ(changed(finding).size(), 1u) << finding.text;
    }
    std::sort(seen.begin(), seen.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(seen, expected) << settings;
  }
}

TEST_F(Probe, FiftyCleanAssemblersRaiseNoAlarm) {
  const std::vector<std::string> kWays = {"", "length=yes", "lottery=2", "lottery=5",
                                          "spill=always:16"};
  for (size_t i = 0; i < 50; ++i) {
    ProbeRequest asked = request("trigger=none " + kWays[i % kWays.size()], some_words());
    asked.architectures = {kArchitectures[i % 2]};
    asked.kernels = {asked.kernels[i / 2 % 2]};
    report::ProbedProgram program = probed(asked);
    EXPECT_TRUE(program.findings.empty()) << kWays[i % kWays.size()];
    EXPECT_TRUE(program.unexplained.empty());
  }
}

}  // namespace
}  // namespace namesake::study
