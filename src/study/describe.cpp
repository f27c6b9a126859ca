#include "study/describe.h"

#include <fmt/format.h>

#include <algorithm>

namespace namesake::study {
namespace {

report::Mix converted(const sass::Mix& mix) {
  report::Mix result;
  result.instructions = static_cast<int64_t>(mix.instructions);
  for (size_t i = 0; i < sass::kClassCount; ++i) {
    if (mix.by_class[i] == 0) continue;
    result.by_class[std::string(sass::class_name(static_cast<sass::Class>(i)))] =
        static_cast<int64_t>(mix.by_class[i]);
  }
  for (auto& [opcode, count] : mix.by_opcode) result.by_opcode[std::string(opcode)] = static_cast<int64_t>(count);
  result.stall_cycles = static_cast<int64_t>(mix.stall_cycles);
  result.waits = static_cast<int64_t>(mix.waits);
  result.yields = static_cast<int64_t>(mix.yields);
  result.reuses = static_cast<int64_t>(mix.reuses);
  result.local_memory = static_cast<int64_t>(mix.local_memory);
  return result;
}

// "[B01----:R-:W0:Y:S04] IMAD R2, R3, R4, R5": scoreboards waited for, set on read and on write, yield, stall.
std::string line(const sass::Instruction& instruction) {
  const sass::Scheduling& s = instruction.scheduling;
  std::string waits;
  for (int i = 0; i < 6; ++i) waits += s.wait_mask >> i & 1 ? static_cast<char>('0' + i) : '-';
  auto barrier = [](int8_t number) { return number < 0 ? '-' : static_cast<char>('0' + number); };
  return fmt::format("[B{}:R{}:W{}:{}:S{:02}] {}", waits, barrier(s.read_barrier), barrier(s.write_barrier),
                     s.yield ? 'Y' : '-', s.stall, instruction.text);
}

}  // namespace

void describe_code(const sass::Function& function, report::Side& side) {
  side.mix = converted(sass::mix_of(function));
  if (const sass::Loop* loop = sass::hottest_loop(function)) {
    side.hottest_loop = converted(sass::mix_of(function, loop->first, loop->last));
    side.hottest_loop_depth = loop->depth;
  }
}

std::vector<report::SassRow> side_by_side(const sass::Function& a, const sass::Function& b, size_t context) {
  constexpr size_t kShort = 400;   // rows up to which nothing is left out
  std::vector<sass::Row> rows = sass::align(a, b);
  std::vector<bool> kept(rows.size(), rows.size() <= kShort);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].change == sass::Change::equal) continue;
    size_t first = i > context ? i - context : 0, last = std::min(rows.size() - 1, i + context);
    std::fill(kept.begin() + static_cast<ptrdiff_t>(first), kept.begin() + static_cast<ptrdiff_t>(last) + 1, true);
  }
  std::vector<report::SassRow> result;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!kept[i]) {
      size_t end = i;
      while (end < rows.size() && !kept[end]) ++end;
      result.push_back({'.', fmt::format("{} equal instructions", end - i), ""});
      i = end - 1;
      continue;
    }
    report::SassRow row;
    if (rows[i].a >= 0) row.a = line(a.instructions[static_cast<size_t>(rows[i].a)]);
    if (rows[i].b >= 0) row.b = line(b.instructions[static_cast<size_t>(rows[i].b)]);
    switch (rows[i].change) {
      case sass::Change::equal: row.change = ' '; break;   // a branch and its target may have moved together
      case sass::Change::registers: row.change = '~'; break;
      case sass::Change::removed: row.change = '-'; break;
      case sass::Change::added: row.change = '+'; break;
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace namesake::study
