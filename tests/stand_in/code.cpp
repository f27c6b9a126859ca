#include "code.h"

#include <cstring>

namespace stand_in {
namespace {

struct Word {
  uint64_t low, high;
};

// The operands' places in a word: destination in bits 16-23, sources from bits 24, 32 and 64 on.
Word with_registers(Word word, uint64_t d, uint64_t a, uint64_t b) {
  word.low |= d << 16 | a << 24 | b << 32;
  return word;
}

Word iadd3(uint64_t d, uint64_t a, uint64_t b) {
  return with_registers({0x7210, 0x000fe20007ffe0ff}, d, a, b);
}
Word imad(uint64_t d, uint64_t a, uint64_t b) {
  return with_registers({0x7224, 0x000fca00078e0203}, d, a, b);
}
Word ffma(uint64_t d, uint64_t a, uint64_t b) {
  return with_registers({0x7223, 0x000fca0000000007}, d, a, b);
}
Word mov(uint64_t d, uint32_t value) {
  return {0x7802 | d << 16 | uint64_t{value} << 32, 0x000fc40000000f00};
}
constexpr Word kStore = {0x0000000001007387, 0x000fe20000100800};  // STL [R1], R0
constexpr Word kLoad = {0x0000000001007983, 0x000ea20000100800};   // LDL R0, [R1]
constexpr Word kExit = {0x000000000000794d, 0x000fea0003800000};
constexpr Word kNop = {0x0000000000007918, 0x000fc00000000000};

void append(Code& code, Word word) {
  char raw[16];
  std::memcpy(raw, &word.low, 8);
  std::memcpy(raw + 8, &word.high, 8);
  code.bytes.append(raw, sizeof raw);
}

}  // namespace

Code generate(const Function& function, const Choice& choice) {
  Code code;
  code.registers = 8 + static_cast<int>(function.statements.size() % 120) + (choice.treated ? 8 : 0);
  uint64_t seed = mixed(mixed(choice.architecture, choice.variant), choice.opt_level < 2 ? 1 : 0);
  append(code, mov(1, static_cast<uint32_t>(mixed(seed, "frame") & 0xfff)));
  for (uint64_t statement : function.statements) {
    uint64_t hash = mixed(seed, statement);
    uint64_t d = hash % 8, a = (hash >> 8) % 8, b = (hash >> 16) % 8;
    switch ((hash >> 24) % 4) {
      case 0:  // the one that a treatment changes, as the real one trades address arithmetic
        append(code, choice.treated ? imad(d, a, b) : iadd3(d, a, b));
        break;
      case 1:
        append(code, imad(d, a, b));
        break;
      case 2:
        append(code, ffma(d, a, b));
        break;
      default:
        append(code, mov(d, static_cast<uint32_t>(hash >> 32)));
    }
  }
  if (choice.treated) append(code, mov(7, 1));
  for (int spilt = 0; spilt < choice.spill_bytes; spilt += 4) {
    append(code, kStore);
    append(code, kLoad);
  }
  append(code, kExit);
  while (code.bytes.size() % 128 != 0) append(code, kNop);
  return code;
}

}  // namespace stand_in
