// Machine code as instructions: nvdisasm's text joined with the bits it does not print.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cubin/cubin.h"
#include "util/cursor.h"
#include "util/error.h"

namespace namesake::sass {

// Bits 105-125 of the 128-bit instruction word (sm_75 and newer).
struct Scheduling {
  uint8_t stall = 0;  // cycles before the next instruction of the warp may issue
  bool yield = false;
  int8_t write_barrier = -1;  // scoreboard set when the result is written, or -1
  int8_t read_barrier = -1;   // scoreboard set when the operands are read, or -1
  uint8_t wait_mask = 0;      // scoreboards waited for
  uint8_t reuse = 0;          // operand reuse flags
  bool operator==(const Scheduling&) const = default;
};
Scheduling decode_scheduling(uint64_t low, uint64_t high);
// As people write it: "B01----:R-:W2:Y:S04" (waits, read barrier, write barrier, yield, stall).
std::string scheduling_text(const Scheduling&);

enum class Class : uint8_t {
  address,  // integer address arithmetic: IMAD.WIDE, LEA, IADD3, …
  integer,  // other integer and logic
  move,     // MOV, IMAD.MOV, HFMA2.MMA as move, SEL, PRMT, …
  fp,       // FP32/FP16/FP64 arithmetic and conversion
  tensor,   // HMMA, IMMA, DMMA, HGMMA, QGMMA, UTC*MMA
  memory,   // LDG, STG, LDS, STS, LDSM, LDL, STL, UTMA*, atomics, …
  control,  // BRA, EXIT, BAR, SYNCS, WARPSYNC, …
  uniform,  // the uniform datapath: U* and R2UR
  other,    // NOP and what no class claims
};
constexpr size_t kClassCount = 9;
std::string_view class_name(Class);
// The class of an instruction without its predicate: "IMAD.MOV.U32 R1, RZ, RZ, R2".
Class classify(std::string_view opcode, std::string_view operands);
// What a mix counts by: the base opcode with the modifiers that matter, "IMAD.WIDE", "HGMMA".
std::string_view base_opcode(std::string_view opcode);

struct Instruction {
  uint32_t offset = 0;  // bytes from the function's start
  std::string
      text;  // as nvdisasm prints it, without predicate padding: "@P0 IMAD.WIDE R2, R3, 0x4, R4"
  std::string opcode;  // "IMAD.WIDE"
  Class cls = Class::other;
  uint64_t low = 0, high = 0;  // the instruction word
  Scheduling scheduling;
  int64_t branch_target = -1;  // byte offset, for direct branches inside the function
  bool local_memory = false;   // LDL/STL: a spill or a local array
};

struct Loop {
  size_t first = 0, last = 0;  // instruction indices; last is the backward branch
  int depth = 1;
  size_t instructions() const { return last - first + 1; }
};

struct Function {
  std::string symbol;
  std::vector<Instruction> instructions;  // trailing padding NOPs and the self-branch included
  std::vector<Loop> loops;                // innermost last
  std::vector<cubin::IndirectBranch> indirect_branches;
  size_t reuse_mismatches = 0;  // instructions whose reuse bits and `.reuse` texts disagree; 0
                                // unless the decoding is wrong
};

// What a function's code consists of, counted over a range of instructions.
struct Mix {
  size_t instructions = 0;
  std::array<size_t, kClassCount> by_class{};
  std::map<std::string, size_t>
      by_opcode;            // base opcode with its modifiers that matter: "IMAD.WIDE", "HGMMA"
  size_t stall_cycles = 0;  // sum of the stall fields: a lower bound on issue time of one warp
  size_t waits = 0;         // instructions that wait on a scoreboard
  size_t yields = 0;
  size_t reuses = 0;  // operands kept in the reuse cache
  size_t local_memory = 0;
};
Mix mix_of(const Function&, size_t first, size_t last);  // inclusive range
Mix mix_of(const Function&);                             // all but trailing padding

// Instructions before the trailing padding (NOPs, and the branch to itself before them).
size_t unpadded_size(const Function&);

// The loop most likely to hold the time: deepest with tensor (else FP, else any) work; nullptr if
// none.
const Loop* hottest_loop(const Function&);

// One function's code, as the disassembler got it.
struct Code {
  std::string symbol;
  Bytes bytes;
  std::vector<cubin::IndirectBranch> indirect_branches;
  std::vector<cubin::Relocation> relocations;
};
Code code_of(const cubin::Function&);

// Parses what `nvdisasm --binary SMxx` printed for these codes, one behind the other. Why that
// mode: see toolchain/disassemble.cpp. Branch targets come out relative to their function, and what
// a relocation will write is appended to its instruction ("UMOV UR4, 0x0 &(.nv.global.init+0x10,
// type 56)"). Instruction count × 16 must equal the bytes, else an error that names function,
// count, size and the cure (a newer nvdisasm).
Result<std::vector<Function>> parse_disassembly(std::string_view text,
                                                const std::vector<Code>& codes);

// How two functions' codes relate. Byte equality is the caller's first question.
enum class Relation : uint8_t {
  same,                // the same instructions in the same order, scheduling included
  same_but_registers,  // same control-flow graph and, per block, the same multiset of instructions
                       // with registers, barriers and scheduling erased
  different,
};
Relation relation(const Function& a, const Function& b);

// Instruction-level difference, aligned by a sequence diff over instructions with registers
// normalised. `registers` also covers rows that differ in scheduling alone.
enum class Change : uint8_t { equal, registers, removed, added };
struct Row {
  Change change = Change::equal;
  int32_t a = -1, b = -1;  // instruction indices
  bool operator==(const Row&) const = default;
};
std::vector<Row> align(const Function& a, const Function& b);

}  // namespace namesake::sass
