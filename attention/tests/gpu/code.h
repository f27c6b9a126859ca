// The machine code inside a binary, kernel by kernel: what was verified is told from what was not
// by its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace namesake::attention::test {

struct KernelCode {
  std::string symbol, arch;  // the mangled name, "sm_90"
  std::string hash;          // over the kernel's .text, .nv.constant* and .nv.info
  int registers = 0,
      frame = 0;           // the frame is local memory: 0 unless something spills or is indexed
  int wgmma = 0, mma = 0;  // matrix instructions of warpgroups (HGMMA, QGMMA) and of warps (HMMA)
  int local = 0;           // loads from and stores to local memory (LDL, STL)
};

// All kernels of the cubins that lie uncompressed in the file, sorted by architecture and symbol.
// Throws std::runtime_error on a file that cannot be read or a cubin that is cut short.
std::vector<KernelCode> kernels_in(const std::string& path);

}  // namespace namesake::attention::test
