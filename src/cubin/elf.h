// The containers' container: ELF64, little-endian, as far as cubins need it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::cubin {

struct Section {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t size = 0;  // also of sections that take no room in the file
  Bytes data;         // empty for those
  uint32_t link = 0, info = 0;
};

struct Symbol {
  std::string_view name;
  uint8_t type = 0, binding = 0, other = 0;
  uint16_t section = 0;
  uint64_t value = 0, size = 0;
};

struct Elf {
  uint8_t os_abi = 0, abi_version = 0;
  uint32_t flags = 0;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;
};

// Sections with a size and no bytes in the file: the format's own kind, and CUDA's for global, local
// and shared memory.
constexpr bool takes_no_room(uint32_t type) {
  return type == 8 || type == 0x70000007 || type == 0x70000008 || type == 0x7000000a;
}

constexpr uint32_t kNoBits = 8, kSymbolTable = 2, kRelocationsWithAddend = 4, kRelocations = 9;
constexpr uint8_t kFunctionSymbol = 2, kLocalBinding = 0, kGlobalBinding = 1;

// `whole_bytes`: the size of a file of which only the beginning is given. What lies behind has no data.
Result<Elf> parse_elf(Bytes file, std::string_view origin, uint64_t whole_bytes = 0);

}  // namespace namesake::cubin
