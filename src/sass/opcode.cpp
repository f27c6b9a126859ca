// Which class an instruction belongs to.
//
// NVIDIA documents opcodes in one line each (CUDA Binary Utilities), so the table below sorts by
// what the line says. The base opcode decides, except where one opcode does several jobs: IMAD is
// how the assembler spells a move, an add and a multiply-add alike, and HFMA2 with zero factors is
// a move that goes through the half-precision pipe. Those are told apart by modifier and operands.
#include <algorithm>
#include <iterator>

#include "sass/sass.h"

namespace namesake::sass {

namespace {

struct Entry {
  std::string_view opcode;
  Class cls;
};

using enum Class;
// Sorted, for binary search (a test holds it so). What begins with U and is not listed is uniform.
constexpr Entry kTable[] = {
    {"ACQBULK", control},
    {"ACQSHMINIT", control},
    {"ARRIVES", control},
    {"ATOM", memory},
    {"ATOMG", memory},
    {"ATOMS", memory},
    {"B2R", move},
    {"BAR", control},
    {"BFE", integer},
    {"BFI", integer},
    {"BGMMA", tensor},
    {"BMMA", tensor},
    {"BMOV", control},
    {"BMSK", integer},
    {"BPT", control},
    {"BRA", control},
    {"BREAK", control},
    {"BREV", integer},
    {"BRX", control},
    {"BRXU", control},
    {"BSSY", control},
    {"BSYNC", control},
    {"CALL", control},
    {"CCTL", memory},
    {"CCTLL", memory},
    {"CCTLT", memory},
    {"CGAERRBAR", control},
    {"CREDUX", integer},
    {"CS2R", move},
    {"DADD", fp},
    {"DEPBAR", control},
    {"DFMA", fp},
    {"DMMA", tensor},
    {"DMNMX", fp},
    {"DMUL", fp},
    {"DSET", fp},
    {"DSETP", fp},
    {"ELECT", control},
    {"ENDCOLLECTIVE", control},
    {"ERRBAR", control},
    {"EXIT", control},
    {"F2F", fp},
    {"F2FP", fp},
    {"F2I", fp},
    {"F2IP", fp},
    {"FADD", fp},
    {"FADD2", fp},
    {"FADD32I", fp},
    {"FCHK", fp},
    {"FENCE", control},
    {"FFMA", fp},
    {"FFMA2", fp},
    {"FFMA32I", fp},
    {"FHADD", fp},
    {"FHFMA", fp},
    {"FLO", integer},
    {"FMNMX", fp},
    {"FMNMX3", fp},
    {"FMUL", fp},
    {"FMUL2", fp},
    {"FMUL32I", fp},
    {"FRND", fp},
    {"FSEL", fp},
    {"FSET", fp},
    {"FSETP", fp},
    {"FSWZADD", fp},
    {"GETLMEMBASE", move},
    {"HADD2", fp},
    {"HADD2_32I", fp},
    {"HFMA2", fp},
    {"HFMA2_32I", fp},
    {"HGMMA", tensor},
    {"HMMA", tensor},
    {"HMNMX2", fp},
    {"HMUL2", fp},
    {"HMUL2_32I", fp},
    {"HSET2", fp},
    {"HSETP2", fp},
    {"I2F", fp},
    {"I2FP", fp},
    {"I2I", integer},
    {"I2IP", integer},
    {"IABS", integer},
    {"IADD", address},
    {"IADD3", address},
    {"IADD32I", address},
    {"IDP", integer},
    {"IDP4A", integer},
    {"IGMMA", tensor},
    {"IMAD", integer},
    {"IMMA", tensor},
    {"IMNMX", integer},
    {"IMUL", integer},
    {"IMUL32I", integer},
    {"ISCADD", address},
    {"ISCADD32I", address},
    {"ISETP", integer},
    {"JMP", control},
    {"JMX", control},
    {"JMXU", control},
    {"KILL", control},
    {"LD", memory},
    {"LDC", memory},
    {"LDCU", uniform},
    {"LDG", memory},
    {"LDGDEPBAR", control},
    {"LDGMC", memory},
    {"LDGSTS", memory},
    {"LDL", memory},
    {"LDS", memory},
    {"LDSM", memory},
    {"LDT", memory},
    {"LDTM", memory},
    {"LEA", address},
    {"LEPC", move},
    {"LOP", integer},
    {"LOP3", integer},
    {"LOP32I", integer},
    {"MATCH", integer},
    {"MEMBAR", control},
    {"MOV", move},
    {"MOV32I", move},
    {"MOVM", move},
    {"MUFU", fp},
    {"NANOSLEEP", control},
    {"NOP", other},
    {"OMMA", tensor},
    {"P2R", move},
    {"PLOP3", integer},
    {"PMTRIG", other},
    {"POPC", integer},
    {"PREEXIT", control},
    {"PRMT", move},
    {"PSETP", integer},
    {"QGMMA", tensor},
    {"QMMA", tensor},
    {"QSPC", memory},
    {"R2B", control},
    {"R2P", move},
    {"R2UR", uniform},
    {"RED", memory},
    {"REDAS", memory},
    {"REDG", memory},
    {"REDUX", integer},
    {"RET", control},
    {"RPCMOV", control},
    {"S2R", move},
    {"S2UR", uniform},
    {"SEL", move},
    {"SETCTAID", control},
    {"SETLMEMBASE", move},
    {"SGXT", integer},
    {"SHF", integer},
    {"SHFL", move},
    {"SHL", integer},
    {"SHR", integer},
    {"ST", memory},
    {"STAS", memory},
    {"STG", memory},
    {"STL", memory},
    {"STS", memory},
    {"STSM", memory},
    {"STT", memory},
    {"STTM", memory},
    {"SUATOM", memory},
    {"SULD", memory},
    {"SUQUERY", memory},
    {"SURED", memory},
    {"SUST", memory},
    {"SYNCS", control},
    {"TEX", memory},
    {"TLD", memory},
    {"TLD4", memory},
    {"TMML", memory},
    {"TXD", memory},
    {"TXQ", memory},
    {"UBLKCP", memory},
    {"UBLKPF", memory},
    {"UBLKRED", memory},
    {"UCGABAR_ARV", control},
    {"UCGABAR_WAIT", control},
    {"UGETNEXTWORKID", control},
    {"UMEMSETS", memory},
    {"UREDGR", memory},
    {"USETMAXREG", control},
    {"USETSHMSZ", control},
    {"USTGR", memory},
    {"UTCATOMSWS", memory},
    {"UTCBAR", control},
    {"UTCCP", memory},
    {"UTCSHIFT", memory},
    {"UTMACCTL", memory},
    {"UTMACMDFLUSH", memory},
    {"UTMALDG", memory},
    {"UTMALST", memory},
    {"UTMAPF", memory},
    {"UTMAREDG", memory},
    {"UTMASTG", memory},
    {"VABSDIFF", integer},
    {"VABSDIFF4", integer},
    {"VHMNMX", fp},
    {"VIADD", address},
    {"VIADDMNMX", integer},
    {"VIMNMX", integer},
    {"VIMNMX3", integer},
    {"VOTE", integer},
    {"VOTEU", uniform},
    {"WARPGROUP", control},
    {"WARPGROUPSET", control},
    {"WARPSYNC", control},
    {"YIELD", control},
};
constexpr bool sorted() {
  for (size_t i = 1; i < std::size(kTable); ++i) {
    if (!(kTable[i - 1].opcode < kTable[i].opcode)) return false;
  }
  return true;
}
static_assert(sorted(), "kTable must be sorted by opcode");

std::string_view first_part(std::string_view opcode) {
  return opcode.substr(0, opcode.find('.'));
}

// The operand at `index`, without blanks around it.
std::string_view operand(std::string_view operands, size_t index) {
  for (; index > 0; --index) {
    size_t comma = operands.find(',');
    if (comma == std::string_view::npos) return {};
    operands.remove_prefix(comma + 1);
  }
  operands = operands.substr(0, operands.find(','));
  while (operands.starts_with(' ')) operands.remove_prefix(1);
  while (operands.ends_with(' ')) operands.remove_suffix(1);
  return operands;
}

// A product of nothing: what is added is moved.
bool factors_are_zero(std::string_view operands) {
  auto zero = [](std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return text == "RZ" || text == "RZ.reuse";
  };
  return zero(operand(operands, 1)) && zero(operand(operands, 2));
}

bool has_modifier(std::string_view opcode, std::string_view modifier) {
  for (size_t at = opcode.find(modifier); at != std::string_view::npos;
       at = opcode.find(modifier, at + 1)) {
    size_t end = at + modifier.size();
    if (end == opcode.size() || opcode[end] == '.') return true;
  }
  return false;
}

}  // namespace

std::string_view class_name(Class cls) {
  constexpr std::string_view kNames[kClassCount] = {
      "address", "integer", "move", "fp", "tensor", "memory", "control", "uniform", "other"};
  return kNames[static_cast<size_t>(cls)];
}

Class classify(std::string_view opcode, std::string_view operands) {
  std::string_view base = first_part(opcode);
  if (base == "IMAD") {
    if (has_modifier(opcode, ".MOV") || factors_are_zero(operands)) return move;
    if (has_modifier(opcode, ".WIDE") || has_modifier(opcode, ".IADD") ||
        has_modifier(opcode, ".X")) {
      return address;
    }
    return integer;
  }
  if (base == "HFMA2" && factors_are_zero(operands)) return move;
  auto at =
      std::lower_bound(std::begin(kTable), std::end(kTable), base,
                       [](const Entry& entry, std::string_view key) { return entry.opcode < key; });
  if (at != std::end(kTable) && at->opcode == base) return at->cls;
  if (base.starts_with("UTC") && base.ends_with("MMA")) return tensor;
  return base.starts_with('U') ? uniform : other;
}

std::string_view base_opcode(std::string_view opcode) {
  std::string_view base = first_part(opcode);
  auto with = [&](std::string_view modifier) {
    return opcode.substr(base.size()).starts_with(modifier)
               ? opcode.substr(0, base.size() + modifier.size())
               : std::string_view{};
  };
  if (base == "IMAD") {
    for (std::string_view modifier : {".WIDE", ".MOV", ".IADD", ".SHL", ".HI", ".X", ".U32"}) {
      if (auto longer = with(modifier); !longer.empty()) return longer;
    }
  }
  if (base == "HFMA2") {
    if (auto longer = with(".MMA"); !longer.empty()) return longer;
  }
  return base;
}

}  // namespace namesake::sass
