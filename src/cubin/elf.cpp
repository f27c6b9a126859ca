#include "cubin/elf.h"

#include <string>

namespace namesake::cubin {

namespace {

constexpr uint16_t kCudaMachine = 190;
constexpr size_t kSectionHeaderBytes = 64;
constexpr size_t kSymbolBytes = 24;
constexpr uint64_t kSharing = 8;

tl::unexpected<Error> broken(std::string_view origin, const std::string& what) {
  return error(std::string(origin) + ": not a usable cubin: " + what +
               " (truncated or damaged? assemble it again)");
}

// A name out of a string table; "" where the offset or the terminator is missing.
std::string_view name_at(Bytes table, uint32_t offset) {
  Cursor cursor(table);
  cursor.seek(offset);
  return cursor.take_string();
}

}  // namespace

// Everything is a view into the file, and section and symbol counts are bounded by its size, so
// time and memory are linear in it, whatever the headers claim.
Result<Elf> parse_elf(Bytes file, std::string_view origin, uint64_t whole_bytes) {
  Cursor header(file);
  if (header.take(4) != Bytes("\x7f"
                              "ELF",
                              4)) {
    return error(std::string(origin) + ": not a cubin: it does not begin with an ELF header");
  }
  uint8_t wide = header.read<uint8_t>(), endian = header.read<uint8_t>();
  header.skip(1);
  Elf elf;
  elf.os_abi = header.read<uint8_t>();
  elf.abi_version = header.read<uint8_t>();
  header.skip(7 + 2);
  uint16_t machine = header.read<uint16_t>();
  if (!header.ok()) return broken(origin, "the file ends inside its ELF header");
  if (wide != 2 || endian != 1 || machine != kCudaMachine) {
    return error(std::string(origin) + ": an ELF file, but no cubin (machine " +
                 std::to_string(machine) + ", expected 64 bits and machine 190)");
  }
  header.skip(4 + 8 + 8);
  uint64_t table_offset = header.read<uint64_t>();
  elf.flags = header.read<uint32_t>();
  header.skip(2 + 2 + 2);
  uint16_t entry_bytes = header.read<uint16_t>(), count = header.read<uint16_t>();
  uint16_t names_index = header.read<uint16_t>();
  if (!header.ok()) return broken(origin, "the file ends inside its ELF header");
  if (count == 0 || entry_bytes != kSectionHeaderBytes) {
    return broken(origin, "its section headers are missing or of an unknown size");
  }
  auto table = slice(file, table_offset, uint64_t{count} * kSectionHeaderBytes);
  if (!table) return broken(origin, "its section headers lie outside the file");

  std::vector<uint32_t> names;
  uint64_t section_bytes = 0, name_bytes = 0;
  Cursor rows(*table);
  for (uint16_t i = 0; i < count; ++i) {
    Section section;
    names.push_back(rows.read<uint32_t>());
    section.type = rows.read<uint32_t>();
    section.flags = rows.read<uint64_t>();
    rows.skip(8);
    uint64_t offset = rows.read<uint64_t>();
    section.size = rows.read<uint64_t>();
    section.link = rows.read<uint32_t>();
    section.info = rows.read<uint32_t>();
    rows.skip(16);
    if (!takes_no_room(section.type) && section.type != 0) {
      auto data = slice(file, offset, section.size);
      auto end = checked_add(offset, section.size);
      if (!data && (!end || *end > whole_bytes))
        return broken(origin, "section " + std::to_string(i) + " lies outside the file");
      if (data) section.data = *data;
      section_bytes += section.data.size();
    }
    elf.sections.push_back(section);
  }
  if (section_bytes > kSharing * file.size()) return broken(origin, "its sections overlap");
  if (names_index >= count) return broken(origin, "its section names are missing");
  for (uint16_t i = 0; i < count; ++i) {
    elf.sections[i].name = name_at(elf.sections[names_index].data, names[i]);
    name_bytes += elf.sections[i].name.size();
  }

  for (const Section& section : elf.sections) {
    if (section.type != kSymbolTable || section.name != ".symtab") continue;
    if (section.link >= elf.sections.size()) return broken(origin, "its symbol names are missing");
    Bytes strings = elf.sections[section.link].data;
    Cursor symbols(section.data);
    for (size_t i = 0; i < section.data.size() / kSymbolBytes; ++i) {
      Symbol symbol;
      symbol.name = name_at(strings, symbols.read<uint32_t>());
      uint8_t info = symbols.read<uint8_t>();
      symbol.type = info & 15;
      symbol.binding = info >> 4;
      symbol.other = symbols.read<uint8_t>();
      symbol.section = symbols.read<uint16_t>();
      symbol.value = symbols.read<uint64_t>();
      symbol.size = symbols.read<uint64_t>();
      elf.symbols.push_back(symbol);
      name_bytes += symbol.name.size();
    }
    break;
  }
  if (name_bytes > kSharing * file.size()) return broken(origin, "its names overlap");
  return elf;
}

}  // namespace namesake::cubin
