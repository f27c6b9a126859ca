#include <algorithm>

#include "sass/flow.h"
#include "sass/normal.h"
#include "util/hash.h"

namespace namesake::sass {

namespace {

bool identical(const Function& a, const Function& b) {
  return std::equal(a.instructions.begin(), a.instructions.end(), b.instructions.begin(),
                    b.instructions.end(), [](const Instruction& x, const Instruction& y) {
                      return x.low == y.low && x.high == y.high && x.text == y.text;
                    });
}

// A block's instructions as a sorted list of hashes: equal lists, equal multisets.
void fill_multiset(const Function& function, const Block& block, std::string& text,
                   std::vector<Hash>& out) {
  out.clear();
  for (uint32_t i = block.first; i <= block.last; ++i) {
    normalise(function.instructions[i], text);
    out.push_back(hash_bytes(text));
  }
  std::sort(out.begin(), out.end());
}

}  // namespace

// Blocks are matched by their order in memory. A build that only moved blocks about therefore
// counts as different; that errs towards showing the user more.
Relation relation(const Function& a, const Function& b) {
  if (identical(a, b)) return Relation::same;
  Graph graph_a = control_flow(a), graph_b = control_flow(b);
  if (graph_a.blocks.size() != graph_b.blocks.size() || graph_a.roots != graph_b.roots) {
    return Relation::different;
  }
  std::string text;
  std::vector<Hash> set_a, set_b;
  for (size_t i = 0; i < graph_a.blocks.size(); ++i) {
    const Block& block_a = graph_a.blocks[i];
    const Block& block_b = graph_b.blocks[i];
    if (block_a.successors != block_b.successors ||
        block_a.last - block_a.first != block_b.last - block_b.first) {
      return Relation::different;
    }
    fill_multiset(a, block_a, text, set_a);
    fill_multiset(b, block_b, text, set_b);
    if (set_a != set_b) return Relation::different;
  }
  return Relation::same_but_registers;
}

}  // namespace namesake::sass
