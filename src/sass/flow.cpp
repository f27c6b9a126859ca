// Loops are found from control flow, not from backward branches alone: the assembler moves slow
// paths behind the end of a kernel and jumps back into its middle, which looks like a loop and is
// none. So a backward branch closes a loop only where its target dominates it. Dominators are
// Lengauer and Tarjan's with path compression, and nesting is found with a union-find from the
// innermost loop outwards, so that a function of any shape takes time almost linear in its size.
//
// What is given up: cycles with two entries (irreducible ones) are not reported; the assembler
// makes none that we have seen.
#include "sass/flow.h"

#include <algorithm>
#include <charconv>

namespace namesake::sass {

namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kInstructionBytes = 16;

std::string_view base_of(const Instruction& instruction) {
  std::string_view opcode = instruction.opcode;
  return opcode.substr(0, opcode.find('.'));
}

bool predicated(const Instruction& instruction) {
  return instruction.text.starts_with('@') && !instruction.text.starts_with("@PT ") &&
         !instruction.text.starts_with("@UPT ");
}

// A branch may hang on a predicate before the opcode ("@P0 BRA 0x40") or among its operands
// ("BRA.U !UP0, 0x40", "BRA.DIV UR4, 0x40").
bool conditional(const Instruction& branch) {
  return predicated(branch) || branch.text.find(',') != std::string::npos;
}

bool branches_to_itself(const Instruction& instruction) {
  return instruction.branch_target == instruction.offset && !conditional(instruction);
}

enum class End { none, branch, indirect, leave };
End end_of(const Instruction& instruction) {
  std::string_view base = base_of(instruction);
  if (base == "BRA") return End::branch;
  if (base == "BRX" || base == "BRXU" || base == "JMX" || base == "JMXU") return End::indirect;
  if (base == "EXIT" || base == "RET" || base == "JMP" || base == "KILL") return End::leave;
  return End::none;
}

// The part of the section that a direct call enters, or nothing.
int64_t called_offset(const Instruction& instruction) {
  if (!instruction.opcode.starts_with("CALL.REL")) return -1;
  size_t at = instruction.text.rfind(" 0x");
  if (at == std::string::npos) return -1;
  int64_t offset = -1;
  std::from_chars(instruction.text.data() + at + 3,
                  instruction.text.data() + instruction.text.size(), offset, 16);
  return offset;
}

// Visits every target inside [0, count) that the ending instruction may jump to.
template <class Visit>
void for_each_target(const Function& function, const Instruction& instruction, End end,
                     size_t count, Visit visit) {
  auto offer = [&](int64_t offset) {
    if (offset < 0 || offset % static_cast<int64_t>(kInstructionBytes) != 0) return;
    uint64_t index = static_cast<uint64_t>(offset) / kInstructionBytes;
    if (index < count) visit(static_cast<uint32_t>(index));
  };
  if (end == End::branch) offer(instruction.branch_target);
  if (end != End::indirect) return;
  for (const cubin::IndirectBranch& branch : function.indirect_branches) {
    if (branch.offset != instruction.offset) continue;
    for (uint32_t target : branch.targets) offer(target);
  }
}

struct Dominators {
  std::vector<uint32_t> order;   // reachable blocks in depth-first order
  std::vector<uint32_t> number;  // place in that order, or kNone
  std::vector<uint32_t> idom;    // by block; kNone for a root
};

// Lengauer–Tarjan over a graph whose roots hang on one virtual node (the last).
class DominatorFinder {
 public:
  explicit DominatorFinder(const Graph& graph)
      : graph_(graph), root_(static_cast<uint32_t>(graph.blocks.size())) {
    size_t nodes = graph.blocks.size() + 1;
    number_.assign(nodes, kNone);
    parent_.assign(nodes, kNone);
    predecessors_.resize(nodes);
  }

  Dominators find() {
    visit_all();
    size_t nodes = number_.size();
    semi_.resize(nodes);
    label_.resize(nodes);
    ancestor_.assign(nodes, kNone);
    std::vector<uint32_t> idom(nodes, kNone);
    std::vector<std::vector<uint32_t>> bucket(nodes);
    for (uint32_t node = 0; node < nodes; ++node) {
      semi_[node] = number_[node];
      label_[node] = node;
    }
    for (size_t i = order_.size(); i-- > 1;) {
      uint32_t node = order_[i];
      for (uint32_t predecessor : predecessors_[node]) {
        if (number_[predecessor] == kNone) continue;
        semi_[node] = std::min(semi_[node], semi_[best(predecessor)]);
      }
      bucket[order_[semi_[node]]].push_back(node);
      uint32_t parent = parent_[node];
      ancestor_[node] = parent;
      for (uint32_t waiting : bucket[parent]) {
        uint32_t u = best(waiting);
        idom[waiting] = semi_[u] < semi_[waiting] ? u : parent;
      }
      bucket[parent].clear();
    }
    for (size_t i = 1; i < order_.size(); ++i) {
      uint32_t node = order_[i];
      if (idom[node] != order_[semi_[node]]) idom[node] = idom[idom[node]];
    }
    return {std::move(order_), std::move(number_), std::move(idom)};
  }

 private:
  const std::vector<uint32_t>& successors(uint32_t node) const {
    return node == root_ ? graph_.roots : graph_.blocks[node].successors;
  }

  void visit_all() {
    struct Frame {
      uint32_t node;
      size_t next;
    };
    std::vector<Frame> stack{{root_, 0}};
    number_[root_] = 0;
    order_.push_back(root_);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto& next = successors(frame.node);
      if (frame.next == next.size()) {
        stack.pop_back();
        continue;
      }
      uint32_t from = frame.node, to = next[frame.next++];
      predecessors_[to].push_back(from);
      if (number_[to] != kNone) continue;
      number_[to] = static_cast<uint32_t>(order_.size());
      order_.push_back(to);
      parent_[to] = from;
      stack.push_back({to, 0});
    }
  }

  // The node with the least semidominator between `node` and the root of its tree so far.
  uint32_t best(uint32_t node) {
    if (ancestor_[node] == kNone) return label_[node];
    path_.clear();
    for (uint32_t at = node; ancestor_[ancestor_[at]] != kNone; at = ancestor_[at])
      path_.push_back(at);
    while (!path_.empty()) {
      uint32_t at = path_.back(), above = ancestor_[at];
      path_.pop_back();
      if (semi_[label_[above]] < semi_[label_[at]]) label_[at] = label_[above];
      ancestor_[at] = ancestor_[above];
    }
    return label_[node];
  }

  const Graph& graph_;
  uint32_t root_;
  std::vector<uint32_t> order_, number_, parent_, semi_, label_, ancestor_, path_;
  std::vector<std::vector<uint32_t>> predecessors_;
};

// Numbers of entry and exit in the dominator tree: a dominates b iff a's interval holds b's.
struct Intervals {
  std::vector<uint32_t> enter, leave;
  bool dominates(uint32_t a, uint32_t b) const {
    return enter[a] <= enter[b] && leave[b] <= leave[a];
  }
};

Intervals intervals_of(const Dominators& dominators) {
  size_t nodes = dominators.idom.size();
  std::vector<std::vector<uint32_t>> children(nodes);
  for (size_t i = 1; i < dominators.order.size(); ++i) {
    children[dominators.idom[dominators.order[i]]].push_back(dominators.order[i]);
  }
  Intervals result{std::vector<uint32_t>(nodes, 0), std::vector<uint32_t>(nodes, 0)};
  uint32_t clock = 0;
  std::vector<std::pair<uint32_t, size_t>> stack{{dominators.order[0], 0}};
  result.enter[dominators.order[0]] = clock++;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == children[node].size()) {
      result.leave[node] = clock++;
      stack.pop_back();
      continue;
    }
    uint32_t child = children[node][next++];
    result.enter[child] = clock++;
    stack.push_back({child, 0});
  }
  return result;
}

uint32_t find(std::vector<uint32_t>& up, uint32_t node) {
  while (up[node] != node) {
    up[node] = up[up[node]];
    node = up[node];
  }
  return node;
}

}  // namespace

size_t unpadded_size(const Function& function) {
  const auto& all = function.instructions;
  size_t count = all.size();
  while (count > 0 && all[count - 1].opcode == "NOP") --count;
  if (count > 1 && branches_to_itself(all[count - 1])) --count;
  return count;
}

Graph control_flow(const Function& function) {
  const auto& all = function.instructions;
  size_t count = unpadded_size(function);
  Graph graph;
  if (count == 0) return graph;

  std::vector<End> ends(count);
  std::vector<bool> leader(count + 1, false);
  leader[0] = true;
  std::vector<uint32_t> called;
  for (size_t i = 0; i < count; ++i) {
    ends[i] = end_of(all[i]);
    if (ends[i] != End::none) leader[i + 1] = true;
    for_each_target(function, all[i], ends[i], count,
                    [&](uint32_t target) { leader[target] = true; });
    int64_t callee = called_offset(all[i]);
    if (callee > 0 && static_cast<uint64_t>(callee) / kInstructionBytes < count) {
      called.push_back(static_cast<uint32_t>(callee / static_cast<int64_t>(kInstructionBytes)));
      leader[called.back()] = true;
    }
  }

  std::vector<uint32_t> block_of(count);
  for (size_t i = 0; i < count; ++i) {
    if (leader[i]) graph.blocks.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(i), {}});
    block_of[i] = static_cast<uint32_t>(graph.blocks.size() - 1);
    graph.blocks.back().last = static_cast<uint32_t>(i);
  }

  std::vector<bool> entered(graph.blocks.size(), false);
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    Block& block = graph.blocks[b];
    const Instruction& last = all[block.last];
    End end = ends[block.last];
    bool stays = end == End::none || (end == End::branch ? conditional(last) : predicated(last));
    std::vector<uint32_t> jumps;
    for_each_target(function, last, end, count,
                    [&](uint32_t target) { jumps.push_back(block_of[target]); });
    std::sort(jumps.begin(), jumps.end());
    if (stays && b + 1 < graph.blocks.size())
      block.successors.push_back(static_cast<uint32_t>(b + 1));
    for (uint32_t jump : jumps) {
      if (std::find(block.successors.begin(), block.successors.end(), jump) ==
          block.successors.end()) {
        block.successors.push_back(jump);
      }
    }
    for (uint32_t successor : block.successors) {
      if (successor != b) entered[successor] = true;
    }
  }

  std::vector<bool> root(graph.blocks.size(), false);
  root[0] = true;
  for (uint32_t instruction : called) root[block_of[instruction]] = true;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    if (root[b] || !entered[b]) graph.roots.push_back(b);
  }
  return graph;
}

std::vector<Loop> find_loops(const Function& function) {
  Graph graph = control_flow(function);
  size_t blocks = graph.blocks.size();
  if (blocks == 0) return {};
  Dominators dominators = DominatorFinder(graph).find();
  Intervals intervals = intervals_of(dominators);

  std::vector<std::vector<uint32_t>> predecessors(blocks), latches(blocks);
  for (uint32_t b = 0; b < blocks; ++b) {
    if (dominators.number[b] == kNone) continue;
    for (uint32_t successor : graph.blocks[b].successors) {
      predecessors[successor].push_back(b);
      bool trap = successor == b && branches_to_itself(function.instructions[graph.blocks[b].last]);
      if (!trap && intervals.dominates(successor, b)) latches[successor].push_back(b);
    }
  }

  // Headers from the last visited to the first: an inner loop's header comes after its outer
  // loop's. A finished loop is folded into its header, which then stands for it in the loops
  // around.
  std::vector<uint32_t> up(blocks), parent(blocks, kNone), lowest(blocks), highest(blocks);
  for (uint32_t b = 0; b < blocks; ++b) {
    up[b] = b;
    lowest[b] = graph.blocks[b].first;
    highest[b] = graph.blocks[b].last;
  }
  std::vector<uint32_t> headers, work;
  for (size_t i = dominators.order.size(); i-- > 1;) {
    uint32_t header = dominators.order[i];
    if (latches[header].empty()) continue;
    headers.push_back(header);
    for (uint32_t latch : latches[header]) work.push_back(latch);
    while (!work.empty()) {
      uint32_t member = find(up, work.back());
      work.pop_back();
      if (member == header) continue;
      up[member] = header;
      if (!latches[member].empty()) parent[member] = header;
      lowest[header] = std::min(lowest[header], lowest[member]);
      highest[header] = std::max(highest[header], highest[member]);
      for (uint32_t predecessor : predecessors[member]) work.push_back(predecessor);
    }
  }

  std::vector<int> depth(blocks, 0);
  std::vector<Loop> loops;
  for (size_t i = headers.size(); i-- > 0;) {  // outer before inner
    uint32_t header = headers[i];
    depth[header] = parent[header] == kNone ? 1 : depth[parent[header]] + 1;
    uint32_t last = 0;
    for (uint32_t latch : latches[header]) last = std::max(last, graph.blocks[latch].last);
    Loop loop;
    loop.first = graph.blocks[header].first;
    loop.last = last;
    if (loop.last < loop.first) {  // laid out backwards: take the whole extent
      loop.first = lowest[header];
      loop.last = highest[header];
    }
    loop.depth = depth[header];
    loops.push_back(loop);
  }
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& x, const Loop& y) {
    return x.depth != y.depth ? x.depth < y.depth : x.first < y.first;
  });
  return loops;
}

}  // namespace namesake::sass
