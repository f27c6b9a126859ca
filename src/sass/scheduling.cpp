#include "sass/sass.h"

namespace namesake::sass {

// The high half of the word starts at bit 64, so bit 105 is its bit 41. Barrier number 7 means
// none.
Scheduling decode_scheduling(uint64_t, uint64_t high) {
  auto field = [high](unsigned first, unsigned width) {
    return static_cast<uint8_t>((high >> (first - 64)) & ((1u << width) - 1));
  };
  auto barrier = [](uint8_t number) { return static_cast<int8_t>(number == 7 ? -1 : number); };
  Scheduling result;
  result.stall = field(105, 4);
  result.yield = field(109, 1) == 0;  // the bit says "stay": a clear one lets another warp go first
  result.write_barrier = barrier(field(110, 3));
  result.read_barrier = barrier(field(113, 3));
  result.wait_mask = field(116, 6);
  result.reuse = field(122, 4);
  return result;
}

std::string scheduling_text(const Scheduling& scheduling) {
  std::string text = "B------:R-:W-:-:S00";
  for (int i = 0; i < 6; ++i) {
    if (scheduling.wait_mask >> i & 1) text[1 + i] = static_cast<char>('0' + i);
  }
  if (scheduling.read_barrier >= 0) text[9] = static_cast<char>('0' + scheduling.read_barrier);
  if (scheduling.write_barrier >= 0) text[12] = static_cast<char>('0' + scheduling.write_barrier);
  if (scheduling.yield) text[14] = 'Y';
  text[17] = static_cast<char>('0' + scheduling.stall / 10);
  text[18] = static_cast<char>('0' + scheduling.stall % 10);
  return text;
}

}  // namespace namesake::sass
