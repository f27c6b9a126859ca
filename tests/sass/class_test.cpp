#include <gtest/gtest.h>

#include "sample.h"

namespace namesake::sass {
namespace {

Class class_of(const std::string& instruction) {
  return written({instruction}).instructions[0].cls;
}

TEST(Classes, one_opcode_with_several_jobs_is_told_apart_by_modifier_and_operands) {
  EXPECT_EQ(class_of("IMAD R2, R3, R4, R5"), Class::integer);
  EXPECT_EQ(class_of("IMAD.WIDE R2, R3, 0x4, R4"), Class::address);
  EXPECT_EQ(class_of("IMAD.WIDE.U32 R2, R3, 0x4, R4"), Class::address);
  EXPECT_EQ(class_of("IMAD.IADD R2, R3, 0x1, R4"), Class::address);
  EXPECT_EQ(class_of("IMAD.MOV.U32 R2, RZ, RZ, R4"), Class::move);
  EXPECT_EQ(class_of("IMAD.U32 R9, RZ, RZ, UR5"), Class::move);
  EXPECT_EQ(class_of("HFMA2.MMA R10, -RZ, RZ, 0, 0"), Class::move);
  EXPECT_EQ(class_of("HFMA2 R10, -RZ, RZ, 1.875, 0"), Class::move);
  EXPECT_EQ(class_of("HFMA2 R10, R2.reuse, R3, R4"), Class::fp);
  EXPECT_EQ(class_of("HFMA2.MMA R10, R2, R3, R4"), Class::fp);
}

TEST(Classes, tensor_instructions_of_every_generation_are_tensor) {
  for (const char* text :
       {"HMMA.16816.F32 R4, R8, R12, R4", "IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4",
        "DMMA.8x8x4 R4, R8, R12, R4", "@!UP0 HGMMA.64x128x16.F32 R24, gdesc[UR8], R24",
        "QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR8], R24",
        "IGMMA.64x8x32.S8.S8 R24, gdesc[UR8], R24",
        "UTCHMMA gdesc[UR6], gdesc[UR14], tmem[UR22], tmem[UR34], idesc[UR35], !UPT",
        "UTCQMMA gdesc[UR6], gdesc[UR14], tmem[UR22], tmem[UR34], idesc[UR35], !UPT",
        "UTCOMMA.4X gdesc[UR6], gdesc[UR14], tmem[UR22], tmem[UR34], idesc[UR35], tmem[UR2], "
        "!UPT"}) {
    EXPECT_EQ(class_of(text), Class::tensor) << text;
  }
}

TEST(Classes, what_begins_with_U_is_uniform_unless_it_moves_memory_or_controls) {
  EXPECT_EQ(class_of("UIADD3 UR4, UR5, -0x40, URZ"), Class::uniform);
  EXPECT_EQ(class_of("R2UR UR16, R13"), Class::uniform);
  EXPECT_EQ(class_of("LDCU.64 UR20, c[0x0][0x358]"), Class::uniform);
  EXPECT_EQ(class_of("UTMALDG.2D [UR8], [UR6]"), Class::memory);
  EXPECT_EQ(class_of("UTCBAR [UR4], URZ"), Class::control);
  EXPECT_EQ(class_of("USETMAXREG.DEALLOC.CTAPOOL 0x18"), Class::control);
}

TEST(Classes, the_mix_keeps_the_modifiers_that_tell_jobs_apart_and_no_others) {
  EXPECT_EQ(base_opcode("IMAD.WIDE.U32"), "IMAD.WIDE");
  EXPECT_EQ(base_opcode("IMAD.MOV.U32"), "IMAD.MOV");
  EXPECT_EQ(base_opcode("IMAD"), "IMAD");
  EXPECT_EQ(base_opcode("HFMA2.MMA"), "HFMA2.MMA");
  EXPECT_EQ(base_opcode("HGMMA.64x128x16.F32"), "HGMMA");
  EXPECT_EQ(base_opcode("LDG.E.128.CONSTANT"), "LDG");
}

TEST(Mix, sums_over_classes_and_opcodes_are_the_instructions) {
  for (const std::string& name : all_samples()) {
    for (const Function& function : Sample(name).functions) {
      Mix mix = mix_of(function);
      size_t by_class = 0, by_opcode = 0;
      for (size_t count : mix.by_class) by_class += count;
      for (const auto& [opcode, count] : mix.by_opcode) by_opcode += count;
      EXPECT_EQ(by_class, mix.instructions);
      EXPECT_EQ(by_opcode, mix.instructions);
      EXPECT_EQ(mix.instructions, unpadded_size(function));
    }
  }
}

TEST(Mix, leaves_out_the_padding_behind_the_code) {
  Function function = written({"MOV R1, R2", "NOP", "EXIT", "BRA 0x30", "NOP", "NOP"});
  EXPECT_EQ(mix_of(function).instructions, 3u);
}

TEST(Mix, a_spilling_kernel_shows_local_memory_and_others_do_not) {
  Sample sample("shapes.sm_90");
  EXPECT_GT(mix_of(sample.function("spilled")).local_memory, 0u);
  EXPECT_EQ(mix_of(sample.function("nested")).local_memory, 0u);
}

}  // namespace
}  // namespace namesake::sass
