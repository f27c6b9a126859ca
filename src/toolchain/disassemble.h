// Machine code → instructions, by nvdisasm.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cubin/cubin.h"
#include "sass/sass.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::toolchain {

struct CodeToDisassemble {
  std::string symbol;
  std::string architecture;  // "sm_90a"
  std::string_view code;     // must outlive the call
  std::vector<cubin::IndirectBranch> indirect_branches;
  std::vector<cubin::Relocation> relocations;
};
CodeToDisassemble code_to_disassemble(const cubin::Function& function,
                                      std::string_view architecture);

struct DisassemblyCost {
  size_t runs = 0;         // of nvdisasm
  double cpu_seconds = 0;  // of its processes
};

// Calls `receive(index, function)` once for each code, in any order, one call at a time. Equal
// codes are disassembled once. Memory is bounded by what `receive` keeps: codes go through in
// batches.
Result<DisassemblyCost> disassemble(
    const Tool& nvdisasm, const std::vector<CodeToDisassemble>& codes,
    const std::function<Status(size_t index, sass::Function function)>& receive, int workers = 1);

}  // namespace namesake::toolchain
