#include "cubin/listing.h"

#include <algorithm>
#include <unordered_map>

#include "cubin/elf.h"
#include "cubin/info.h"

namespace namesake::cubin {
namespace {

constexpr uint8_t kEntryFlag = 0x10;      // STO_CUDA_ENTRY
constexpr uint8_t kRegisterCount = 0x2f;  // EIATTR_REGCOUNT
constexpr std::string_view kText = ".text.";

}  // namespace

Listing list_elf(const Elf& elf) {
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
    if (symbol.type != kFunctionSymbol || symbol.section == 0 ||
        symbol.section >= elf.sections.size())
      continue;
    const Section& section = elf.sections[symbol.section];
    if (!section.name.starts_with(kText) || section.type == kNoBits) continue;
    // Others are parts of a function: callees and the assembler's own routines, put behind it.
    bool entry = symbol.other & kEntryFlag, own = section.name.substr(kText.size()) == symbol.name;
    if (!entry && !own && symbol.binding != kGlobalBinding) continue;
    auto at = registers.find(i);
    // Up to CUDA 12 the header carries the register count too.
    uint32_t count = at != registers.end() ? at->second : section.info >> 24;
    listing.functions.push_back({symbol.name, entry, symbol.size, static_cast<int>(count)});
  }
  return listing;
}

Result<Listing> list_functions(Bytes file, std::string_view origin) {
  TRY_ASSIGN(Elf elf, parse_elf(file, origin));
  return list_elf(elf);
}

Result<Listing> list_entry(const FatbinEntry& entry, Detail detail, uint64_t limit,
                           std::string_view origin, Room& storage, uint64_t& unpacked) {
  if (entry.packing != Packing::none) {
    TRY_ASSIGN(HeadUnpacker unpacker, HeadUnpacker::start(entry, limit, origin, storage));
    HeadReader reader(entry.unpacked_bytes, detail);
    Bytes head;
    while (auto more = unpacker.more()) {
      head = *more;
      if (auto listing = reader.read(head)) {
        unpacked += head.size();
        return *listing;
      }
    }
    unpacked += head.size();
    if (unpacker.whole()) return list_functions(head, origin);
    unpacked += entry.unpacked_bytes;  // what is wrong with it, unpack() says
  }
  TRY_ASSIGN(Bytes file, unpack(entry, limit, origin, storage));
  return list_functions(file, origin);
}

}  // namespace namesake::cubin
