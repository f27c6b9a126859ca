// A library holds gigabytes of packed cubins, and a list of kernels needs of each what lies in its
// first tenth: names, symbols, attributes. Unpacking no more is what makes a scan fast. But a
// cubin's table of sections, which says where those lie, stands at its end.
//
// Assemblers have laid cubins out in one way for as long as they could be looked at (11.7 to 13.5):
// section names at 64, symbols' names behind them, symbols behind those, code last. Here that
// layout is assumed, and then proven by what the pieces say of each other:
//
//   - there is one place for the names at which every code section's symbol is called ".text." and
//     then what its function's symbol is called;
//   - every code section has a symbol and a function, and the section names know of no more;
//   - there is a function, or else nothing would contradict;
//   - each function has one register count, and no symbol that was not read has one.
//
// Libraries also hold cubins of another make, whose table stands in front. They are read by it.
//
// Anything else gives no answer, and the cubin is unpacked whole. A wrong answer would take a file
// made to be told wrongly, whose two halves are two different cubins.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cubin/elf.h"
#include "cubin/listing.h"

namespace namesake::cubin {
namespace {

constexpr size_t kElfHeader = 64, kSymbolBytes = 24;
constexpr Bytes kNames("\0.shstrtab\0.strtab\0.symtab\0", 27);
constexpr std::string_view kText = ".text.";
constexpr uint8_t kSectionSymbol = 3, kEntryFlag = 0x10;

struct RawSymbol {
  uint32_t name = 0;
  uint8_t type = 0, binding = 0, other = 0;
  uint16_t section = 0;
  uint64_t value = 0, size = 0;
};

RawSymbol symbol_at(Bytes head, size_t at) {
  Cursor cursor(head);
  cursor.seek(at);
  RawSymbol symbol;
  symbol.name = cursor.read<uint32_t>();
  uint8_t info = cursor.read<uint8_t>();
  symbol.type = info & 15;
  symbol.binding = info >> 4;
  symbol.other = cursor.read<uint8_t>();
  symbol.section = cursor.read<uint16_t>();
  symbol.value = cursor.read<uint64_t>();
  symbol.size = cursor.read<uint64_t>();
  return symbol;
}

// Symbols begin with one of zeros, at a multiple of 8. Tables of names have runs of zeros too,
// where names were taken out: this is the next place at or behind `from` where symbols may begin.
std::optional<size_t> next_symbols(Bytes head, size_t from) {
  for (size_t at = (from + 7) / 8 * 8; at + 2 * kSymbolBytes <= head.size(); at += 8) {
    size_t first = head.find_first_not_of('\0', at);
    if (first == Bytes::npos) return std::nullopt;
    if (first >= at + kSymbolBytes) return first / 8 * 8 - kSymbolBytes;
    at = first / 8 * 8;
  }
  return std::nullopt;
}

std::string_view name_at(Bytes names, uint32_t offset) {
  if (offset >= names.size()) return {};
  std::string_view rest = names.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

size_t count(Bytes text, std::string_view word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != Bytes::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// What the symbols say if their names begin at `names`; nothing where they contradict each other.
std::optional<std::vector<std::pair<uint32_t, ListedFunction>>> functions_of(
    const std::vector<RawSymbol>& symbols, Bytes names, size_t& code_sections) {
  std::unordered_map<uint16_t, std::string_view> sections;
  for (const RawSymbol& symbol : symbols) {
    if (symbol.type == kSectionSymbol)
      sections.try_emplace(symbol.section, name_at(names, symbol.name));
  }
  std::vector<std::pair<uint32_t, ListedFunction>> functions;
  std::unordered_set<uint16_t> owned;
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const RawSymbol& symbol = symbols[i];
    if (symbol.type != kFunctionSymbol || symbol.section == 0) continue;
    auto section = sections.find(symbol.section);
    if (section == sections.end() || !section->second.starts_with(kText)) return std::nullopt;
    std::string_view name = name_at(names, symbol.name);
    bool entry = symbol.other & kEntryFlag, own = section->second.substr(kText.size()) == name;
    if (own) owned.insert(symbol.section);
    if (!entry && !own && symbol.binding != kGlobalBinding) continue;
    functions.push_back({i, {name, entry, symbol.size, -1}});
  }
  code_sections = 0;
  for (const auto& [number, name] : sections) {
    if (!name.starts_with(kText)) continue;
    ++code_sections;
    if (!owned.count(number)) return std::nullopt;
  }
  return functions;
}

// Register counts stand somewhere behind `from`: format 4, attribute 0x2f, 8 bytes, which are the
// symbol's number and the count. Whether every function has one.
bool read_registers(Bytes head, size_t from, size_t symbols,
                    std::vector<std::pair<uint32_t, ListedFunction>>& functions) {
  constexpr Bytes kCount("\x04\x2f\x08\x00", 4);
  constexpr uint32_t kMost = 1024;
  std::unordered_map<uint32_t, size_t> wanted;
  for (size_t i = 0; i < functions.size(); ++i) wanted.emplace(functions[i].first, i);
  size_t told = 0;
  for (size_t at = head.find(kCount, from); at != Bytes::npos; at = head.find(kCount, at + 1)) {
    Cursor cursor(head);
    cursor.seek(at + kCount.size());
    uint32_t number = cursor.read<uint32_t>(), registers = cursor.read<uint32_t>();
    if (at % 4 != 0 || !cursor.ok()) continue;
    if (number >= symbols) return false;  // there are more symbols than were read
    auto which = wanted.find(number);
    if (which == wanted.end()) continue;
    int& known = functions[which->second].second.registers;
    if (registers > kMost || (known >= 0 && known != static_cast<int>(registers))) return false;
    if (known < 0) ++told;
    known = static_cast<int>(registers);
  }
  return told == functions.size();
}

// The list if symbols begin at `begin` and the first usual entries of their names stand at
// `second`.
std::optional<std::vector<ListedFunction>> functions_at(Bytes head, size_t second, size_t begin,
                                                        uint16_t section_count) {
  std::vector<RawSymbol> symbols(1);
  size_t end = begin + kSymbolBytes;
  for (; end + kSymbolBytes <= head.size(); end += kSymbolBytes) {
    RawSymbol symbol = symbol_at(head, end);
    constexpr uint16_t kReserved = 0xff00;
    bool usual = symbol.name < begin - kElfHeader &&
                 (symbol.section < section_count || symbol.section >= kReserved) &&
                 (symbol.name != 0 || symbol.type == kSectionSymbol ||
                  (symbol.type == 0 && symbol.section == 0));
    if (!usual) break;
    symbols.push_back(symbol);
  }
  if (symbols.size() == 1 || end + kSymbolBytes > head.size())
    return std::nullopt;  // none, or they may go on

  // The names begin at a zero byte a little before their first usual entries.
  constexpr size_t kOddNames = 4096;
  for (size_t names = second; names-- > second - std::min(second, kOddNames);) {
    if (head[names] != '\0' || head[names + 1] == '\0') continue;
    size_t code_sections = 0;
    auto functions = functions_of(symbols, head.substr(names, begin - names), code_sections);
    if (!functions || functions->empty() ||
        count(head.substr(kElfHeader, names - kElfHeader), Bytes("\0.text.", 7)) > code_sections)
      continue;
    if (!read_registers(head, end, symbols.size(), *functions)) return std::nullopt;
    std::vector<ListedFunction> list;
    for (auto& [number, function] : *functions) list.push_back(function);
    return list;
  }
  return std::nullopt;
}

struct Head {
  uint16_t machine = 0;
  uint8_t abi = 0;
  uint32_t flags = 0;
  uint64_t section_table = 0;
  uint16_t sections = 0;
};

std::optional<Head> read_header(Bytes file) {
  Cursor cursor(file);
  if (cursor.take(7) != Bytes("\x7f"
                              "ELF\x02\x01\x01",
                              7))
    return std::nullopt;
  Head head;
  cursor.skip(1);
  head.abi = cursor.read<uint8_t>();
  cursor.seek(18);
  head.machine = cursor.read<uint16_t>();
  cursor.seek(40);
  head.section_table = cursor.read<uint64_t>();
  head.flags = cursor.read<uint32_t>();
  cursor.seek(60);
  head.sections = cursor.read<uint16_t>();
  if (!cursor.ok() || head.machine != 190) return std::nullopt;
  return head;
}

bool table_in_front(const Head& head) {
  return head.section_table == kElfHeader;
}

// Where the table of sections stands in front it says where things lie, and each function's size
// and registers: its code may lie behind the head.
std::optional<Listing> list_by_table(Bytes head, uint64_t whole_bytes) {
  auto elf = parse_elf(head, "", whole_bytes);
  if (!elf || elf->symbols.empty()) return std::nullopt;
  for (const Section& section : elf->sections) {
    bool names = section.type == 3, needed = names || section.type == kSymbolTable;
    if (needed && section.data.size() != section.size) return std::nullopt;
  }
  Listing listing = list_elf(*elf);
  for (const ListedFunction& function : listing.functions) {
    if (function.registers == 0) return std::nullopt;  // the count stands elsewhere
  }
  return listing;
}

}  // namespace

bool has_usual_layout(Bytes file) {
  auto head = read_header(file);
  return head && (table_in_front(*head) || file.substr(kElfHeader, kNames.size()) == kNames);
}

std::optional<Listing> list_head(Bytes file, uint64_t whole_bytes) {
  auto header = read_header(file);
  if (!header) return std::nullopt;
  if (table_in_front(*header)) return list_by_table(file, whole_bytes);
  Bytes head = file;
  if (head.substr(kElfHeader, kNames.size()) != kNames) return std::nullopt;
  size_t second = head.find(kNames.substr(1), kElfHeader + kNames.size());
  if (second == Bytes::npos) return std::nullopt;

  constexpr int kMostPlaces = 64;
  size_t from = second;
  for (int place = 0; place < kMostPlaces; ++place) {
    auto begin = next_symbols(head, from);
    if (!begin) return std::nullopt;
    if (auto functions = functions_at(head, second, *begin, header->sections)) {
      constexpr uint8_t kSecondAbi = 8;  // CUDA 13
      Listing listing;
      listing.architecture = static_cast<int>(header->abi >= kSecondAbi ? header->flags >> 8 & 0xff
                                                                        : header->flags & 0xff);
      listing.functions = std::move(*functions);
      return listing;
    }
    from = *begin + kSymbolBytes;
  }
  return std::nullopt;
}

}  // namespace namesake::cubin
