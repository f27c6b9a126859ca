#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sample.h"
#include "sass/normal.h"

namespace namesake::sass {
namespace {

std::string normal(const std::string& line) {
  Function function = written({line, "EXIT"});
  std::string out;
  normalise(function.instructions[0], out);
  return out;
}

TEST(Normal, erases_register_numbers_and_reuse_and_keeps_the_rest) {
  EXPECT_EQ(normal("@!P2 IADD3 R4, P1, R5.reuse, -0x1, RZ"), "@!P IADD3 R, P, R, -0x1, RZ");
  EXPECT_EQ(normal("LDG.E.64 R2, desc[UR4][R6.64+0x10]"), "LDG.E.64 R, desc[UR][R.64+0x10]");
  EXPECT_EQ(normal("IMAD R2, R3, c[0x0][0x188], R4"), "IMAD R, R, c[0x0][0x188], R");
  EXPECT_EQ(normal("S2R R2, SR_TID.X"), "S2R R, SR_TID.X");
  EXPECT_EQ(normal("DEPBAR.LE SB0, 0x2"), "DEPBAR.LE SB, 0x2");
  EXPECT_EQ(normal("LOP3.LUT P0, RZ, R2, 0x3, RZ, 0xc0, !PT"),
            "LOP3.LUT P, RZ, R, 0x3, RZ, 0xc0, !PT");
  EXPECT_EQ(normal("HMMA.16816.F32 R48, R76.reuse, R100, R48"), "HMMA.16816.F32 R, R, R, R");
  EXPECT_EQ(normal("@P0 BRA 0x10"), "@P BRA ");
}

// Another register allocation of the same code: each number of a file goes to another one.
Function reallocated(Function function, uint32_t shift) {
  for (Instruction& each : function.instructions) {
    std::string out;
    for (size_t i = 0; i < each.text.size(); ++i) {
      bool starts =
          each.text[i] == 'R' &&
          (i == 0 || std::string_view(" ,[-|!").find(each.text[i - 1]) != std::string_view::npos);
      size_t end = i + 1;
      while (end < each.text.size() && each.text[end] >= '0' && each.text[end] <= '9') ++end;
      if (!starts || end == i + 1) {
        out += each.text[i];
        continue;
      }
      uint32_t number = static_cast<uint32_t>(std::stoul(each.text.substr(i + 1, end - i - 1)));
      out += "R" + std::to_string((number + shift) % 250);
      i = end - 1;
    }
    each.text = out;
    each.low ^= shift;
  }
  return function;
}

RC_GTEST_PROP(Relation, another_register_allocation_is_same_but_registers, ()) {
  static const Sample kSample("shapes.sm_90");
  uint32_t shift = *rc::gen::inRange<uint32_t>(1, 249);
  for (const Function& function : kSample.functions) {
    Function other = reallocated(function, shift);
    RC_ASSERT(relation(function, function) == Relation::same);
    RC_ASSERT(relation(function, other) == Relation::same_but_registers);
    RC_ASSERT(relation(other, function) == Relation::same_but_registers);
  }
}

TEST(Relation, another_order_inside_a_block_is_forgiven_and_across_blocks_is_not) {
  Function a = written({"FADD R1, R2, R3", "FMUL R4, R5, R6", "@P0 BRA 0x0", "EXIT"});
  Function b = written({"FMUL R1, R2, R3", "FADD R4, R5, R6", "@P1 BRA 0x0", "EXIT"});
  Function c = written({"FADD R1, R2, R3", "@P0 BRA 0x0", "FMUL R4, R5, R6", "EXIT"});
  EXPECT_EQ(relation(a, b), Relation::same_but_registers);
  EXPECT_EQ(relation(a, c), Relation::different);
}

TEST(Relation, another_immediate_or_constant_or_relocation_is_different) {
  EXPECT_EQ(relation(written({"MOV R1, 0x10", "EXIT"}), written({"MOV R1, 0x11", "EXIT"})),
            Relation::different);
  EXPECT_EQ(relation(written({"MOV R1, c[0x0][0x160]", "EXIT"}),
                     written({"MOV R1, c[0x0][0x168]", "EXIT"})),
            Relation::different);
  EXPECT_EQ(relation(written({"FMUL R1, R2, 0.5", "EXIT"}), written({"FMUL R1, R2, 0.25", "EXIT"})),
            Relation::different);
  EXPECT_EQ(relation(written({"UMOV UR4, 0x0 &(.nv.global.init, type 56)", "EXIT"}),
                     written({"UMOV UR4, 0x0 &(.nv.global.init+0x8, type 56)", "EXIT"})),
            Relation::different);
}

TEST(Relation, another_way_to_go_is_different) {
  EXPECT_EQ(relation(written({"NOP", "@P0 BRA 0x0", "FADD R1, R1, R1", "@P0 BRA 0x0", "EXIT"}),
                     written({"NOP", "@P0 BRA 0x0", "FADD R1, R1, R1", "@P0 BRA 0x20", "EXIT"})),
            Relation::different);
  EXPECT_EQ(relation(written({"@P0 EXIT", "EXIT"}), written({"@!P0 EXIT", "EXIT"})),
            Relation::different);
}

TEST(Relation, scheduling_alone_is_same_but_registers) {
  Function a = written({"FADD R1, R2, R3", "EXIT"}), b = a;
  b.instructions[0].high ^= uint64_t{1} << 41;
  EXPECT_EQ(relation(a, b), Relation::same_but_registers);
}

TEST(Relation, treated_and_natural_builds_of_a_reacting_kernel_are_different) {
  EXPECT_EQ(
      relation(Sample("stencil.sm_90").functions[0], Sample("stencil_treated.sm_90").functions[0]),
      Relation::different);
}

void expect_valid_edit(const Function& a, const Function& b, const std::vector<Row>& rows) {
  int32_t next_a = 0, next_b = 0;
  std::string normal_a, normal_b;
  for (const Row& row : rows) {
    bool in_a = row.change != Change::added, in_b = row.change != Change::removed;
    ASSERT_EQ(row.a, in_a ? next_a++ : -1);
    ASSERT_EQ(row.b, in_b ? next_b++ : -1);
    if (!in_a || !in_b) continue;
    normalise(a.instructions[static_cast<size_t>(row.a)], normal_a);
    normalise(b.instructions[static_cast<size_t>(row.b)], normal_b);
    ASSERT_EQ(normal_a, normal_b);
  }
  ASSERT_EQ(next_a, static_cast<int32_t>(a.instructions.size()));
  ASSERT_EQ(next_b, static_cast<int32_t>(b.instructions.size()));
}

TEST(Align, rows_hold_every_instruction_of_both_sides_once_and_in_order) {
  std::vector<Function> functions;
  for (const std::string& name : all_samples()) {
    for (Function& function : Sample(name).functions) functions.push_back(std::move(function));
  }
  for (const Function& a : functions) {
    for (const Function& b : functions) expect_valid_edit(a, b, align(a, b));
  }
}

TEST(Align, a_function_with_itself_gives_equal_rows_only) {
  for (const std::string& name : all_samples()) {
    for (const Function& function : Sample(name).functions) {
      for (const Row& row : align(function, function)) EXPECT_EQ(row.change, Change::equal);
    }
  }
}

TEST(Align, a_register_or_scheduling_difference_is_no_removal) {
  Function a = written({"FADD R1, R2, R3", "FMUL R1, R1, R1", "EXIT"});
  Function b = written({"FADD R9, R2, R3", "FMUL R1, R1, R1", "EXIT"});
  b.instructions[1].scheduling.stall = 4;
  std::vector<Row> expected = {
      {Change::registers, 0, 0}, {Change::registers, 1, 1}, {Change::equal, 2, 2}};
  EXPECT_EQ(align(a, b), expected);
}

TEST(Align, a_branch_that_moved_with_its_target_is_equal) {
  Function a = written({"FADD R1, R2, R3", "@P0 BRA 0x0", "EXIT"});
  Function b = written({"MOV R1, 0x5", "FADD R1, R2, R3", "@P0 BRA 0x10", "EXIT"});
  std::vector<Row> expected = {
      {Change::added, -1, 0}, {Change::equal, 0, 1}, {Change::equal, 1, 2}, {Change::equal, 2, 3}};
  EXPECT_EQ(align(a, b), expected);
  Function c = written({"MOV R1, 0x5", "FADD R1, R2, R3", "@P0 BRA 0x0", "EXIT"});
  EXPECT_EQ(align(a, c)[2].change, Change::registers) << "it goes somewhere else";
}

TEST(Align, most_of_two_treatments_of_one_kernel_stands_side_by_side) {
  Function a = Sample("stencil.sm_90").functions[0],
           b = Sample("stencil_treated.sm_90").functions[0];
  size_t kept = 0;
  for (const Row& row : align(a, b)) kept += row.a >= 0 && row.b >= 0;
  EXPECT_GT(kept, a.instructions.size() / 2);
  EXPECT_LT(kept, a.instructions.size());
}

}  // namespace
}  // namespace namesake::sass
