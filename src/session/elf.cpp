#include "session/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace namesake::session {
namespace {

constexpr uint64_t kMostSymbols = 4 << 20;

Bytes part(Bytes file, uint64_t offset, uint64_t size) {
  return slice(file, offset, size).value_or(Bytes());
}

std::string string_at(Bytes strings, uint64_t offset) {
  Cursor cursor(strings);
  cursor.seek(offset);
  return std::string(cursor.take_string());
}

std::string build_id_of(Bytes notes) {
  for (Cursor cursor(notes); cursor.left() >= sizeof(Elf64_Nhdr);) {
    auto head = cursor.read<Elf64_Nhdr>();
    Bytes owner = cursor.take((uint64_t{head.n_namesz} + 3) & ~uint64_t{3});
    Bytes content = cursor.take((uint64_t{head.n_descsz} + 3) & ~uint64_t{3});
    if (!cursor.ok()) break;
    if (head.n_type != NT_GNU_BUILD_ID || !owner.starts_with("GNU")) continue;
    std::string hex;
    for (char c : content.substr(0, head.n_descsz)) {
      hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    return hex;
  }
  return "";
}

bool imports(Bytes symbols, Bytes strings, std::string_view name) {
  Cursor cursor(symbols);
  for (uint64_t i = 0; i < kMostSymbols && cursor.left() >= sizeof(Elf64_Sym); i++) {
    auto symbol = cursor.read<Elf64_Sym>();
    if (symbol.st_shndx == SHN_UNDEF && string_at(strings, symbol.st_name) == name) return true;
  }
  return false;
}

}  // namespace

bool is_sanitizer(std::string_view library) {
  std::string_view base = library.substr(library.rfind('/') + 1);
  return base.starts_with("libasan") || base.starts_with("libtsan") ||
         base.starts_with("libhwasan") || base.starts_with("libclang_rt.");
}

// Sections serve here, not segments: a file without section headers only loses the remarks that
// need them.
Result<Elf> parse_elf(Bytes file) {
  if (!file.starts_with(ELFMAG) || file.size() < EI_NIDENT) return error("it is no ELF file");
  Elf elf;
  elf.is_64_bit = file[EI_CLASS] == ELFCLASS64;
  Cursor cursor(file);
  if (!elf.is_64_bit) {
    elf.machine = cursor.read<Elf32_Ehdr>().e_machine;
    return elf;
  }
  auto head = cursor.read<Elf64_Ehdr>();
  elf.machine = head.e_machine;
  cursor.seek(head.e_phoff);
  for (int i = 0; i < head.e_phnum; i++) {
    auto segment = cursor.read<Elf64_Phdr>();
    if (!cursor.ok()) return error("its program headers lie outside the file");
    Bytes content = part(file, segment.p_offset, segment.p_filesz);
    if (segment.p_type == PT_INTERP) elf.interpreter = string_at(content, 0);
    if (segment.p_type == PT_DYNAMIC) elf.dynamic = true;
    if (segment.p_type == PT_NOTE && elf.build_id.empty()) elf.build_id = build_id_of(content);
  }
  std::vector<Elf64_Shdr> sections;
  cursor.seek(head.e_shoff);
  for (int i = 0; i < head.e_shnum && cursor.ok(); i++)
    sections.push_back(cursor.read<Elf64_Shdr>());
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& link = sections[section.sh_link];
    Bytes content = part(file, section.sh_offset, section.sh_size);
    Bytes strings = part(file, link.sh_offset, link.sh_size);
    if (section.sh_type == SHT_DYNAMIC) {
      for (Cursor entries(content); entries.left() >= sizeof(Elf64_Dyn);) {
        auto entry = entries.read<Elf64_Dyn>();
        if (entry.d_tag == DT_NEEDED) elf.needed.push_back(string_at(strings, entry.d_un.d_val));
      }
    }
    if (section.sh_type == SHT_DYNSYM) elf.imports_strstr = imports(content, strings, "strstr");
  }
  return elf;
}

Result<Elf> read_elf(const std::filesystem::path& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    if (fd >= 0) ::close(fd);
    return error(fmt::format("cannot read {}", path.string()));
  }
  size_t size = static_cast<size_t>(status.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return error(fmt::format("cannot map {}", path.string()));
  auto elf = parse_elf(Bytes(static_cast<const char*>(mapped), size));
  ::munmap(mapped, size);
  if (!elf) return error(fmt::format("{}: {}", path.string(), elf.error().message));
  return elf;
}

}  // namespace namesake::session
