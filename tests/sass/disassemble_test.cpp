#include "toolchain/disassemble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sample.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

// A stand-in for nvdisasm: prints one NOP for every 16 bytes, writes a line to `log` at each run,
// and refuses code that holds the word BAD. With `leaves_out` it forgets the last instruction.
class StandIn {
 public:
  explicit StandIn(bool leaves_out = false)
      : folder_(std::move(*TemporaryFolder::make("stand-in"))) {
    std::string script =
        "#!/bin/sh\n"
        "echo \"$@\" >> '" +
        log() +
        "'\n"
        "if grep -q BAD \"$3\"; then echo 'nvdisasm error   : Illegal instruction found' >&2; exit "
        "1; fi\n"
        "size=$(wc -c < \"$3\")\n" +
        (leaves_out ? "size=$((size - 16))\n" : "") +
        "i=0\n"
        "while [ $i -lt $size ]; do printf '        /*%04x*/  NOP;\\n' $i; i=$((i + 16)); done\n";
    EXPECT_TRUE(write_file(path(), script, true));
  }
  Tool tool() const {
    Tool tool;
    tool.kind = Kind::nvdisasm;
    tool.path = path();
    tool.version = "0.0.1";
    return tool;
  }
  std::vector<std::string> runs() const {
    std::vector<std::string> lines;
    std::string text = read_file(log()).value_or("");
    for (std::string_view line : split(text, '\n')) {
      if (!line.empty()) lines.emplace_back(line);
    }
    return lines;
  }

 private:
  std::string path() const { return (folder_.path() / "nvdisasm").string(); }
  std::string log() const { return (folder_.path() / "log").string(); }
  TemporaryFolder folder_;
};

CodeToDisassemble code(const std::string& symbol, std::string_view bytes,
                       const std::string& architecture = "sm_90a") {
  return {symbol, architecture, bytes, {}, {}};
}

const std::string kOne(16, 'a'), kTwo(32, 'b'), kThree(48, 'c');

TEST(Disassemble, hands_over_each_code_once_with_its_own_symbol) {
  StandIn nvdisasm;
  std::vector<CodeToDisassemble> codes = {code("x", kOne), code("y", kTwo), code("z", kThree)};
  std::vector<std::string> symbols(codes.size());
  std::vector<size_t> instructions(codes.size());
  auto cost = disassemble(nvdisasm.tool(), codes, [&](size_t i, sass::Function function) -> Status {
    symbols[i] += function.symbol;
    instructions[i] += function.instructions.size();
    return {};
  });
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_EQ(symbols, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(instructions, (std::vector<size_t>{1, 2, 3}));
}

TEST(Disassemble, runs_once_for_an_architecture_however_many_functions) {
  StandIn nvdisasm;
  std::vector<CodeToDisassemble> codes = {code("x", kOne), code("y", kTwo),
                                          code("z", kThree, "sm_120")};
  auto cost =
      disassemble(nvdisasm.tool(), codes, [](size_t, sass::Function) -> Status { return {}; });
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->runs, 2u);
  ASSERT_EQ(nvdisasm.runs().size(), 2u);
  EXPECT_NE((nvdisasm.runs()[0] + nvdisasm.runs()[1]).find("--binary SM90a"), std::string::npos);
  EXPECT_NE((nvdisasm.runs()[0] + nvdisasm.runs()[1]).find("--binary SM120"), std::string::npos);
}

TEST(Disassemble, equal_codes_are_disassembled_once) {
  StandIn nvdisasm;
  std::string same = kTwo;
  std::vector<CodeToDisassemble> codes(300, code("x", kTwo));
  codes.push_back(code("y", same));
  size_t received = 0, instructions = 0;
  auto cost = disassemble(nvdisasm.tool(), codes, [&](size_t i, sass::Function function) -> Status {
    EXPECT_EQ(function.symbol, i == 300 ? "y" : "x");
    instructions += function.instructions.size();
    ++received;
    return {};
  });
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->runs, 1u);
  EXPECT_EQ(received, codes.size());
  EXPECT_EQ(instructions, 2 * codes.size());
}

TEST(Disassemble, large_code_goes_through_in_batches_and_in_parallel) {
  StandIn nvdisasm;
  // Distinct codes of 160 kB: 13 to a batch of 2 MB.
  std::vector<std::string> bytes;
  for (int i = 0; i < 28; ++i) bytes.emplace_back(160'000, static_cast<char>('a' + i % 26));
  bytes[26].front() = bytes[27].front() = '!';
  std::vector<CodeToDisassemble> codes;
  for (const std::string& each : bytes) codes.push_back(code("k", each));
  std::vector<int> received(codes.size());
  auto cost = disassemble(
      nvdisasm.tool(), codes,
      [&](size_t i, sass::Function function) -> Status {
        EXPECT_EQ(function.instructions.size(), 10'000u);
        ++received[i];
        return {};
      },
      2);
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_EQ(cost->runs, 2u);
  EXPECT_EQ(received, std::vector<int>(codes.size(), 1));
}

TEST(Disassemble, a_code_it_cannot_read_is_named_among_many) {
  StandIn nvdisasm;
  const std::string bad = "BAD" + std::string(13, ' ');
  std::vector<std::string> bytes;
  for (int i = 0; i < 20; ++i) bytes.emplace_back(16, static_cast<char>('a' + i));
  std::vector<CodeToDisassemble> codes;
  for (const std::string& each : bytes) codes.push_back(code("fine", each));
  codes.insert(codes.begin() + 13, code("culprit", bad));
  auto cost =
      disassemble(nvdisasm.tool(), codes, [](size_t, sass::Function) -> Status { return {}; });
  ASSERT_FALSE(cost);
  EXPECT_NE(cost.error().message.find("'culprit' for sm_90a: exit status 1"), std::string::npos)
      << cost.error().message;
  EXPECT_NE(cost.error().message.find("Illegal instruction found"), std::string::npos);
}

TEST(Disassemble, one_that_leaves_instructions_out_is_caught) {
  StandIn nvdisasm(true);
  auto cost = disassemble(nvdisasm.tool(), {code("x", kThree)},
                          [](size_t, sass::Function) -> Status { return {}; });
  ASSERT_FALSE(cost);
  EXPECT_NE(cost.error().message.find("newer nvdisasm"), std::string::npos);
}

TEST(Disassemble, an_error_of_the_receiver_ends_it) {
  StandIn nvdisasm;
  auto cost = disassemble(nvdisasm.tool(), {code("x", kOne), code("y", kTwo)},
                          [](size_t, sass::Function) -> Status { return error("enough"); });
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().message, "enough");
}

TEST(Disassemble, bad_input_is_refused_in_a_sentence) {
  StandIn nvdisasm;
  auto ignore = [](size_t, sass::Function) -> Status { return {}; };
  EXPECT_NE(
      disassemble(nvdisasm.tool(), {code("x", kOne, "90")}, ignore).error().message.find("'90'"),
      std::string::npos);
  std::string odd(17, 'x');
  EXPECT_NE(disassemble(nvdisasm.tool(), {code("x", odd)}, ignore).error().message.find("17 bytes"),
            std::string::npos);
}

// What an instruction of the cubin mode says without labels, symbols and annotations, blanks made
// single; and whether that is all of it.
std::pair<std::string, bool> known_part(std::string_view text) {
  size_t symbolic = std::min({text.find('`'), text.find("32@"), text.find("(*")});
  if (symbolic != std::string_view::npos) text = text.substr(0, text.rfind(' ', symbolic));
  std::string known;
  for (char c : trimmed(text)) {
    if (c != ' ' || known.back() != ' ') known += c;
  }
  return {known, symbolic == std::string_view::npos};
}

// The sample texts came out of the mode that disassemble() uses. This compares with the other mode,
// over whole cubins, so that the choice of mode stays a proven one.
TEST(Disassemble, the_real_tool_prints_in_binary_mode_what_it_prints_for_the_cubin) {
  std::string path = environment("NAMESAKE_NVDISASM");
  if (path.empty()) {
    std::vector<Tool> tools = find_tools();
    if (auto tool = choose(tools, Kind::nvdisasm, "newest")) path = tool->path.string();
  }
  if (path.empty()) {
    GTEST_SKIP()
        << "no nvdisasm at hand: set NAMESAKE_NVDISASM, or run namesake toolchain add newest";
  }
  Tool tool;
  tool.kind = Kind::nvdisasm;
  tool.path = path;
  std::vector<std::string> files;
  for (const std::string& name : sass::all_samples())
    files.push_back(sass::fixture(name + ".cubin"));
  std::vector<CodeToDisassemble> codes;
  std::vector<std::string> keys;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& name = sass::all_samples()[i];
    auto module = cubin::parse(files[i], name);
    ASSERT_TRUE(module);
    for (const auto& function : module->functions) {
      codes.push_back(code_to_disassemble(function, name.substr(name.rfind("sm_"))));
      keys.push_back(name + ' ' + function.symbol);
    }
  }
  std::map<std::string, sass::Function> made;
  size_t instructions = 0, compared = 0;
  auto cost = disassemble(tool, codes, [&](size_t i, sass::Function function) -> Status {
    EXPECT_EQ(function.reuse_mismatches, 0u);
    instructions += function.instructions.size();
    made[keys[i]] = std::move(function);
    return {};
  });
  ASSERT_TRUE(cost) << cost.error().message;

  for (const std::string& name : sass::all_samples()) {
    Command command;
    command.arguments = {path, "-c",
                         std::string(NAMESAKE_TEST_DIR) + "/fixtures/" + name + ".cubin"};
    auto whole = namesake::run(command);
    ASSERT_TRUE(whole && whole->ok());
    const sass::Function* function = nullptr;
    size_t index = 0;
    for (std::string_view line : split(whole->out, '\n')) {
      size_t section = line.find(".section\t.text.");
      if (section != std::string_view::npos) {
        std::string symbol(line.substr(section + 15, line.find(',') - section - 15));
        ASSERT_TRUE(made.contains(name + ' ' + symbol)) << name << ' ' << symbol;
        function = &made[name + ' ' + symbol];
        index = 0;
      }
      size_t open = line.find("/*"), close = line.find("*/");
      if (open == std::string_view::npos || close == std::string_view::npos || !function) continue;
      std::string_view text = trimmed(line.substr(close + 2));
      text = trimmed(text.substr(0, text.find(';')));
      ASSERT_LT(index, function->instructions.size());
      const std::string& ours = function->instructions[index++].text;
      auto [known, whole_text] = known_part(text);
      if (whole_text) {
        EXPECT_EQ(ours, known);
      } else {
        EXPECT_TRUE(ours.starts_with(known)) << ours << " | " << text;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, instructions);
}

}  // namespace
}  // namespace namesake::toolchain
