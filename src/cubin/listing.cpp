#include "cubin/listing.h"

#include <unordered_map>

#include "cubin/elf.h"
#include "cubin/info.h"

namespace namesake::cubin {
namespace {

constexpr uint8_t kEntryFlag = 0x10;  // STO_CUDA_ENTRY
constexpr uint8_t kRegisterCount = 0x2f;  // EIATTR_REGCOUNT

}  // namespace

Result<Listing> list_functions(Bytes file, std::string_view origin) {
  TRY_ASSIGN(Elf elf, parse_elf(file, origin));
  Listing listing;
  Target target = read_target(elf);
  listing.architecture = target.architecture;
  listing.architecture_specific = target.specific;

  std::unordered_map<uint32_t, uint32_t> registers;
  for (const Section& section : elf.sections) {
    if (section.name != ".nv.info") continue;
    Cursor cursor(section.data);
    for (Info info; !cursor.at_end() && next_info(cursor, info);) {
      Cursor payload(info.payload);
      uint32_t symbol = payload.read<uint32_t>(), value = payload.read<uint32_t>();
      if (payload.ok() && info.attribute == kRegisterCount) registers[symbol] = value;
    }
  }
  for (uint32_t i = 0; i < elf.symbols.size(); ++i) {
    const Symbol& symbol = elf.symbols[i];
    if (symbol.type != kFunctionSymbol || symbol.section == 0 || symbol.section >= elf.sections.size()) continue;
    const Section& section = elf.sections[symbol.section];
    bool entry = symbol.other & kEntryFlag;
    // Local symbols that are no entries are parts of a function: its callees inlined behind it.
    bool own = section.name.size() > 6 && section.name.starts_with(".text.") && section.name.substr(6) == symbol.name;
    if (!entry && !own && symbol.binding != kGlobalBinding) continue;
    if (!section.name.starts_with(".text.") || section.type == kNoBits) continue;
    auto at = registers.find(i);
    // Up to CUDA 12 the header carries the register count too.
    uint32_t count = at != registers.end() ? at->second : section.info >> 24;
    listing.functions.push_back({symbol.name, entry, symbol.size, static_cast<int>(count)});
  }
  return listing;
}

}  // namespace namesake::cubin
