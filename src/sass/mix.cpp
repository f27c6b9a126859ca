#include <unordered_map>

#include "sass/sass.h"

namespace namesake::sass {

Mix mix_of(const Function& function, size_t first, size_t last) {
  Mix mix;
  std::unordered_map<std::string_view, size_t> by_opcode;
  for (size_t i = first; i <= last && i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    ++mix.instructions;
    ++mix.by_class[static_cast<size_t>(instruction.cls)];
    ++by_opcode[base_opcode(instruction.opcode)];
    mix.stall_cycles += instruction.scheduling.stall;
    mix.waits += instruction.scheduling.wait_mask != 0;
    mix.yields += instruction.scheduling.yield;
    mix.reuses += static_cast<size_t>(__builtin_popcount(instruction.scheduling.reuse));
    mix.local_memory += instruction.local_memory;
  }
  for (const auto& [opcode, count] : by_opcode) mix.by_opcode.emplace(opcode, count);
  return mix;
}

Mix mix_of(const Function& function) {
  size_t count = unpadded_size(function);
  return count == 0 ? Mix{} : mix_of(function, 0, count - 1);
}

namespace {

// "while any thread is left": how one warp feeds its threads' values to an instruction that takes
// uniform operands. It looks like a loop and goes round once where the values agree.
bool serialises_threads(const Function& function, const Loop& loop) {
  return function.instructions[loop.last].opcode.ends_with(".ANY");
}

}  // namespace

// Depth says how often a loop's body runs, work says whether it is the kernel's point: a spin on a
// barrier is the deepest loop of many kernels and holds no time of interest. So the deepest loop
// that does the most telling kind of work itself (not only in loops inside it) wins.
const Loop* hottest_loop(const Function& function) {
  const auto& loops = function.loops;
  constexpr size_t kKinds = 3;  // tensor, FP, any
  std::vector<std::array<size_t, kKinds>> own(loops.size());
  // Loops are outer before inner, so the last one that covers an instruction is its own.
  constexpr uint32_t kNoLoop = UINT32_MAX;
  std::vector<uint32_t> owner(function.instructions.size(), kNoLoop);
  for (uint32_t l = 0; l < loops.size(); ++l) {
    if (serialises_threads(function, loops[l])) continue;
    for (size_t i = loops[l].first; i <= loops[l].last && i < owner.size(); ++i) owner[i] = l;
  }
  for (size_t i = 0; i < owner.size(); ++i) {
    if (owner[i] == kNoLoop) continue;
    Class cls = function.instructions[i].cls;
    own[owner[i]][0] += cls == Class::tensor;
    own[owner[i]][1] += cls == Class::fp;
    own[owner[i]][2] += 1;
  }
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Loop* best = nullptr;
    size_t most = 0;
    for (size_t l = 0; l < loops.size(); ++l) {
      size_t count = own[l][kind];
      if (count == 0) continue;
      if (!best || loops[l].depth > best->depth ||
          (loops[l].depth == best->depth && count > most)) {
        best = &loops[l];
        most = count;
      }
    }
    if (best) return best;
  }
  return nullptr;
}

}  // namespace namesake::sass
