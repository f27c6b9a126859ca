#include "cubin.h"

#include <elf.h>

#include <cstring>

namespace stand_in {
namespace {

constexpr uint16_t kMachineCuda = 190;
constexpr uint8_t kOsAbi = 0x41, kAbiVersion = 8;
constexpr uint32_t kTypeInfo = 0x70000000;
constexpr uint8_t kValueOfSize = 4, kRegisterCount = 0x2f, kFrameSize = 0x11, kMinStackSize = 0x12;
constexpr uint8_t kGlobalEntry = 0x10;  // st_other of an entry

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint32_t add_name(std::string& table, const std::string& name) {
  uint32_t offset = static_cast<uint32_t>(table.size());
  table.append(name).push_back('\0');
  return offset;
}

void attribute(std::string& info, uint8_t kind, uint32_t symbol, uint32_t value) {
  append(info, kValueOfSize);
  append(info, kind);
  append(info, uint16_t{8});
  append(info, symbol);
  append(info, value);
}

}  // namespace

std::string make_cubin(const std::vector<Piece>& pieces, int architecture) {
  constexpr uint32_t kFirstText = 5;  // after null, .shstrtab, .strtab, .symtab, .nv.info
  std::string section_names(1, '\0'), names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0'), info;
  std::vector<Elf64_Shdr> sections(kFirstText);
  std::string body;
  auto place = [&](const std::string& content, uint64_t alignment) {
    while ((sizeof(Elf64_Ehdr) + body.size()) % alignment != 0) body.push_back('\0');
    uint64_t offset = sizeof(Elf64_Ehdr) + body.size();
    body += content;
    return offset;
  };

  uint32_t first_global = 1;
  for (bool entries : {false, true}) {  // local symbols come first
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      if (piece.entry != entries) continue;
      uint32_t number = static_cast<uint32_t>(symbols.size() / sizeof(Elf64_Sym));
      if (!entries) first_global = number + 1;
      Elf64_Sym symbol{};
      symbol.st_name = add_name(names, piece.symbol);
      symbol.st_info = ELF64_ST_INFO(entries ? STB_GLOBAL : STB_LOCAL, STT_FUNC);
      symbol.st_other = entries ? kGlobalEntry : 0;
      symbol.st_shndx = static_cast<uint16_t>(sections.size());
      symbol.st_size = piece.code.bytes.size();
      append(symbols, symbol);
      attribute(info, kRegisterCount, number, static_cast<uint32_t>(piece.code.registers));
      attribute(info, kFrameSize, number, static_cast<uint32_t>(piece.spill_bytes));
      if (entries) attribute(info, kMinStackSize, number, static_cast<uint32_t>(piece.spill_bytes));
      Elf64_Shdr text{};
      text.sh_name = add_name(section_names, ".text." + piece.symbol);
      text.sh_type = SHT_PROGBITS;
      text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
      text.sh_offset = place(piece.code.bytes, 128);
      text.sh_size = piece.code.bytes.size();
      text.sh_link = 3;
      text.sh_info = number | static_cast<uint32_t>(piece.code.registers) << 24;
      text.sh_addralign = 128;
      sections.push_back(text);
    }
  }

  auto fill = [&](size_t i, const char* name, uint32_t type, uint64_t alignment) {
    sections[i].sh_name = add_name(section_names, name);
    sections[i].sh_type = type;
    sections[i].sh_addralign = alignment;
  };
  fill(1, ".shstrtab", SHT_STRTAB, 1);
  fill(2, ".strtab", SHT_STRTAB, 1);
  fill(3, ".symtab", SHT_SYMTAB, 8);
  fill(4, ".nv.info", kTypeInfo, 4);
  sections[3].sh_link = 2;
  sections[3].sh_info = first_global;
  sections[3].sh_entsize = sizeof(Elf64_Sym);
  sections[4].sh_link = 3;
  const std::string* contents[] = {nullptr, &section_names, &names, &symbols, &info};
  for (size_t i = 1; i < kFirstText; ++i) {
    sections[i].sh_offset = place(*contents[i], sections[i].sh_addralign);
    sections[i].sh_size = contents[i]->size();
  }
  uint64_t table = place("", 8);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = kOsAbi;
  header.e_ident[EI_ABIVERSION] = kAbiVersion;
  header.e_type = ET_EXEC;
  header.e_machine = kMachineCuda;
  header.e_version = EV_CURRENT;
  header.e_shoff = table;
  header.e_flags = 0x6000002u | static_cast<uint32_t>(architecture) << 8;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = 1;

  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += body;
  for (const Elf64_Shdr& section : sections) append(file, section);
  return file;
}

}  // namespace stand_in
