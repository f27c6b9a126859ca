#include <algorithm>
#include <unordered_map>

#include "sass/normal.h"
#include "sass/sass.h"
#include "sass/sequence_diff.h"
#include "util/hash.h"

namespace namesake::sass {

namespace {

// Normalised instructions as small numbers, the same number for the same text in both functions.
class Interner {
 public:
  std::vector<uint32_t> tokens_of(const Function& function) {
    std::vector<uint32_t> tokens;
    tokens.reserve(function.instructions.size());
    for (const Instruction& instruction : function.instructions) {
      normalise(instruction, text_);
      tokens.push_back(
          numbers_.try_emplace(hash_bytes(text_), static_cast<uint32_t>(numbers_.size()))
              .first->second);
    }
    return tokens;
  }

 private:
  std::string text_;
  std::unordered_map<Hash, uint32_t> numbers_;
};

// Where a branch goes counts by the row that its target stands in: code that only moved is equal.
bool same_target(const Instruction& x, const Instruction& y, const std::vector<int32_t>& partner) {
  if (x.branch_target < 0 || y.branch_target < 0) return x.branch_target < 0 && y.branch_target < 0;
  constexpr int64_t kInstructionBytes = 16;
  return partner[static_cast<size_t>(x.branch_target / kInstructionBytes)] ==
         y.branch_target / kInstructionBytes;
}

}  // namespace

std::vector<Row> align(const Function& a, const Function& b) {
  Interner interner;
  std::vector<uint32_t> tokens_a = interner.tokens_of(a), tokens_b = interner.tokens_of(b);
  std::vector<Kept> kept = common_subsequence(tokens_a, tokens_b);
  std::vector<int32_t> partner(a.instructions.size(), -1);
  for (const Kept& pair : kept) partner[pair.a] = static_cast<int32_t>(pair.b);

  std::vector<Row> rows;
  rows.reserve(std::max(a.instructions.size(), b.instructions.size()));
  uint32_t at_a = 0, at_b = 0;
  auto gap_until = [&](uint32_t end_a, uint32_t end_b) {
    while (at_a < end_a) rows.push_back({Change::removed, static_cast<int32_t>(at_a++), -1});
    while (at_b < end_b) rows.push_back({Change::added, -1, static_cast<int32_t>(at_b++)});
  };
  for (const Kept& pair : kept) {
    gap_until(pair.a, pair.b);
    const Instruction& x = a.instructions[pair.a];
    const Instruction& y = b.instructions[pair.b];
    bool equal = without_target(x) == without_target(y) && x.scheduling == y.scheduling &&
                 same_target(x, y, partner);
    rows.push_back({equal ? Change::equal : Change::registers, static_cast<int32_t>(at_a++),
                    static_cast<int32_t>(at_b++)});
  }
  gap_until(static_cast<uint32_t>(a.instructions.size()),
            static_cast<uint32_t>(b.instructions.size()));
  return rows;
}

}  // namespace namesake::sass
