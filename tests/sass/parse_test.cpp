#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sample.h"
#include "util/text.h"

namespace namesake::sass {
namespace {

std::string listing(const Function& function) {
  std::string out;
  for (const Instruction& each : function.instructions) {
    char offset[16];
    std::snprintf(offset, sizeof offset, "%04x ", each.offset);
    out += offset + scheduling_text(each.scheduling) + ' ' + std::string(class_name(each.cls)) +
           ' ' + each.text;
    if (each.branch_target >= 0) out += "  -> " + std::to_string(each.branch_target / 16);
    out += '\n';
  }
  for (const Loop& loop : function.loops) {
    out += "loop " + std::to_string(loop.first) + "-" + std::to_string(loop.last) + " depth " +
           std::to_string(loop.depth) + '\n';
  }
  return out;
}

TEST(Parse, every_sample_gives_one_instruction_for_16_bytes_and_reuse_bits_that_match_the_text) {
  for (const std::string& name : all_samples()) {
    Sample sample(name);
    ASSERT_EQ(sample.functions.size(), sample.codes.size()) << name;
    size_t reuses = 0;
    for (size_t i = 0; i < sample.functions.size(); ++i) {
      EXPECT_EQ(sample.functions[i].instructions.size() * 16, sample.codes[i].bytes.size()) << name;
      EXPECT_EQ(sample.functions[i].reuse_mismatches, 0u) << name;
      reuses += mix_of(sample.functions[i]).reuses;
    }
    EXPECT_GT(reuses, 0u) << name << ": a sample without reuse proves nothing";
  }
}

TEST(Parse, no_opcode_of_the_samples_but_NOP_is_without_a_class) {
  for (const std::string& name : all_samples()) {
    for (const Function& function : Sample(name).functions) {
      for (const Instruction& each : function.instructions) {
        EXPECT_EQ(each.cls == Class::other, each.opcode == "NOP") << name << ": " << each.text;
      }
    }
  }
}

TEST(Parse, the_listing_of_the_shapes_is_the_golden_one) {
  std::string path = std::string(NAMESAKE_TEST_DIR) + "/golden/shapes.sm_90.txt";
  Sample sample("shapes.sm_90");
  std::string made;
  for (const Function& function : sample.functions)
    made += function.symbol + '\n' + listing(function);
  if (!environment("NAMESAKE_UPDATE_GOLDEN").empty()) {
    ASSERT_TRUE(write_file(path, made));
  }
  EXPECT_EQ(made, read_file(path).value_or("no golden; run again with NAMESAKE_UPDATE_GOLDEN=1"));
}

TEST(Parse, a_branch_says_its_target_relative_to_its_own_function) {
  std::string text =
      "        /*0000*/                   NOP;\n"
      "        /*0010*/              @!P0 BRA 0x10 ;\n"
      "        /*0020*/                   BSSY B0, 0x30 ;\n"
      "        /*0030*/                   WARPSYNC 0xffffffff ;\n"
      "        /*0040*/                   BRX R6 -0x1d0 ;\n"
      "        /*0050*/                   CALL.REL.NOINC 0x20 ;\n"
      "        /*0060*/                   CALL.ABS.NOINC 0x0 ;\n"
      "        /*0070*/                   BRA.U !UP0, 0x0 ;\n";
  std::string first(16, '\0'), second(7 * 16, '\0');
  auto functions = parse_disassembly(text, {{"a", first, {}, {}}, {"b", second, {}, {}}});
  ASSERT_TRUE(functions);
  const auto& made = (*functions)[1].instructions;
  EXPECT_EQ(made[0].text, "@!P0 BRA 0x0");
  EXPECT_EQ(made[0].branch_target, 0);
  EXPECT_EQ(made[1].text, "BSSY B0, 0x20");
  EXPECT_EQ(made[1].branch_target, -1);
  EXPECT_EQ(made[2].text, "WARPSYNC 0xffffffff");
  EXPECT_EQ(made[3].text, "BRX R6 -0x1d0");
  EXPECT_EQ(made[4].text, "CALL.REL.NOINC 0x10");
  EXPECT_EQ(made[5].text, "CALL.ABS.NOINC 0x0");
  EXPECT_EQ(made[6].text, "BRA.U !UP0, -0x10");
  EXPECT_EQ(made[6].branch_target, -1) << "outside of the function";
}

TEST(Parse, what_a_relocation_will_write_stands_in_the_text) {
  std::string bytes(32, '\0');
  Code code{"k", bytes, {}, {{0, 56, 0, ".nv.global.init+0x10"}, {16, 57, -8, "vprintf"}}};
  auto functions =
      parse_disassembly("/*0000*/ UMOV UR4, 0x0 ;\n/*0010*/ CALL.ABS.NOINC 0x0 ;\n", {code});
  ASSERT_TRUE(functions);
  EXPECT_EQ(functions->front().instructions[0].text,
            "UMOV UR4, 0x0 &(.nv.global.init+0x10, type 56)");
  EXPECT_EQ(functions->front().instructions[1].text, "CALL.ABS.NOINC 0x0 &(vprintf-0x8, type 57)");
}

TEST(Parse, an_instruction_left_out_is_an_error_that_names_function_counts_and_cure) {
  Sample sample("shapes.sm_90");
  std::string text = sample.text;
  size_t at = text.find("/*0050*/");
  size_t line = text.rfind('\n', at) + 1;
  text.erase(line, text.find('\n', at) + 1 - line);
  auto made = parse_disassembly(text, sample.codes);
  ASSERT_FALSE(made);
  const Code& code = sample.codes[0];
  EXPECT_NE(made.error().message.find("'" + code.symbol + "'"), std::string::npos);
  EXPECT_NE(made.error().message.find("printed 5 instructions"), std::string::npos);
  EXPECT_NE(made.error().message.find(std::to_string(code.bytes.size() / 16)), std::string::npos);
  EXPECT_NE(made.error().message.find("newer nvdisasm"), std::string::npos);
}

TEST(Parse, text_that_ends_early_or_goes_on_is_an_error) {
  Sample sample("shapes.sm_90");
  EXPECT_FALSE(parse_disassembly(sample.text.substr(0, sample.text.size() / 2), sample.codes));
  std::vector<Code> fewer(sample.codes.begin(), sample.codes.end() - 1);
  EXPECT_FALSE(parse_disassembly(sample.text, fewer));
}

TEST(Parse, code_that_is_no_multiple_of_16_bytes_is_an_error) {
  std::string bytes(24, '\0');
  EXPECT_FALSE(parse_disassembly("/*0000*/ NOP;\n", {Code{"k", bytes, {}, {}}}));
}

RC_GTEST_PROP(Parse, damaged_text_gives_an_error_or_functions_of_the_right_size, ()) {
  static const Sample kSample("shapes.sm_80");
  std::string text = kSample.text;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    size_t at = *rc::gen::inRange<size_t>(0, text.size());
    text[at] = *rc::gen::element('\n', ' ', '/', '*', '0', 'f', ';', ',', '@', '.', 'B', '\0');
  }
  auto made = parse_disassembly(text, kSample.codes);
  if (!made) {
    RC_ASSERT(!made.error().message.empty());
    return;
  }
  for (size_t i = 0; i < made->size(); ++i) {
    RC_ASSERT((*made)[i].instructions.size() * 16 == kSample.codes[i].bytes.size());
  }
}

TEST(Scheduling, the_fields_of_known_words_are_read) {
  // As public disassemblers of control words print these: S01; Y:S00; W0:S04 with a wait on 2
  // and 3.
  EXPECT_EQ(scheduling_text(decode_scheduling(0, 0x000fe20000000800)), "B------:R-:W-:-:S01");
  EXPECT_EQ(scheduling_text(decode_scheduling(0, 0x000fc00000000000)), "B------:R-:W-:Y:S00");
  EXPECT_EQ(scheduling_text(decode_scheduling(0, 0x000e280000002100)), "B------:R-:W0:-:S04");
  EXPECT_EQ(scheduling_text(decode_scheduling(0, 0x00cee80000000000)), "B--23--:R-:W3:-:S04");
  EXPECT_EQ(decode_scheduling(0, uint64_t{5} << 58).reuse, 5);
}

RC_GTEST_PROP(Scheduling, every_field_comes_back_from_the_word_it_was_packed_into, ()) {
  Scheduling made;
  made.stall = *rc::gen::inRange<uint8_t>(0, 16);
  made.yield = *rc::gen::arbitrary<bool>();
  made.write_barrier = *rc::gen::inRange<int8_t>(-1, 7);
  made.read_barrier = *rc::gen::inRange<int8_t>(-1, 7);
  made.wait_mask = *rc::gen::inRange<uint8_t>(0, 64);
  made.reuse = *rc::gen::inRange<uint8_t>(0, 16);
  auto barrier = [](int8_t number) { return static_cast<uint64_t>(number < 0 ? 7 : number); };
  uint64_t control = made.stall | uint64_t{!made.yield} << 4 | barrier(made.write_barrier) << 5 |
                     barrier(made.read_barrier) << 8 | uint64_t{made.wait_mask} << 11 |
                     uint64_t{made.reuse} << 17;
  uint64_t rest = *rc::gen::arbitrary<uint64_t>() & ((uint64_t{1} << 41) - 1);
  RC_ASSERT(decode_scheduling(0, control << 41 | rest) == made);
}

}  // namespace
}  // namespace namesake::sass
