// A library holds gigabytes of packed cubins, and a list of kernels needs of each what lies in its
// first tenth: names, symbols, attributes. Unpacking no more is what makes a scan fast. But a
// cubin's table of sections, which says where those lie, stands at its end.
//
// Assemblers have laid cubins out in one way for as long as they could be looked at (11.7 to 13.5):
// section names at 64, symbols' names behind them, symbols behind those, then attributes and code,
// in this order or the other. Here that layout is assumed, and then proven by what the pieces say
// of each other:
//
//   - there is one place for the names at which every code section's symbol is called ".text." and
//     then what its function's symbol is called;
//   - every code section has a symbol and a function, and the section names know of no more;
//   - there is a function, or else nothing would contradict;
//   - where register counts are asked for, one unbroken run of attributes gives each function one,
//     and none to a symbol that was not read.
//
// Linkers put attributes behind the code, so whoever can do without the counts reads half as much.
//
// Libraries also hold cubins of another make, whose table stands in front. They are read by it.
//
// Anything else gives no answer, and the cubin is unpacked whole. A wrong answer would take a file
// made to be told wrongly, whose two halves are two different cubins.
//
// Heads come as they are unpacked, each longer than the one before: what was searched is not
// searched again, and what needs all of a table waits until there is a quarter more.
#include <algorithm>
#include <cstring>
#include <utility>

#include "cubin/elf.h"
#include "cubin/info.h"
#include "cubin/listing.h"

namespace namesake::cubin {
namespace {

constexpr size_t kElfHeader = 64, kSymbolBytes = 24;
constexpr Bytes kNames("\0.shstrtab\0.strtab\0.symtab\0", 27);
constexpr std::string_view kText = ".text.";
constexpr uint8_t kSectionSymbol = 3, kEntryFlag = 0x10, kRegisterCount = 0x2f;
constexpr uint16_t kReservedSections = 0xff00;

struct RawSymbol {
  uint32_t name = 0;
  uint8_t type = 0, binding = 0, other = 0;
  uint16_t section = 0;
  uint64_t size = 0;
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
  cursor.skip(8);
  symbol.size = cursor.read<uint64_t>();
  return symbol;
}

template <typename T>
T number_at(Bytes head, size_t at) {
  T value;
  std::memcpy(&value, head.substr(at, sizeof value).data(), sizeof value);
  return value;
}

// Symbols begin with one of zeros, at a multiple of 8. Tables of names have runs of zeros too,
// where names were taken out, so this is the last place in a run: the next at or behind `from`.
std::optional<size_t> next_symbols(Bytes head, size_t from) {
  size_t first = (from + 7) / 8 * 8;
  // Three words of zeros have one where every third is looked at.
  for (size_t at = first; at + 8 <= head.size(); at += kSymbolBytes) {
    if (number_at<uint64_t>(head, at) != 0) continue;
    size_t begin = at, end = at;
    while (begin > first && number_at<uint64_t>(head, begin - 8) == 0) begin -= 8;
    while (end + 8 <= head.size() && number_at<uint64_t>(head, end) == 0) end += 8;
    if (end + 8 > head.size()) break;  // they may go on
    if (end - begin >= kSymbolBytes) return end - kSymbolBytes;
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

bool may_be_symbol(const RawSymbol& symbol, size_t names_bytes, uint16_t sections) {
  return symbol.name < names_bytes &&
         (symbol.section < sections || symbol.section >= kReservedSections) &&
         (symbol.name != 0 || symbol.type == kSectionSymbol ||
          (symbol.type == 0 && symbol.section == 0));
}

// What the symbols say if their names begin at `names`; nothing where they contradict each other.
std::optional<std::vector<std::pair<uint32_t, ListedFunction>>> functions_of(
    const std::vector<RawSymbol>& symbols, Bytes names, uint16_t section_count,
    size_t& code_sections) {
  std::vector<std::string_view> sections(section_count);
  std::vector<bool> owned(section_count);
  for (const RawSymbol& symbol : symbols) {
    if (symbol.type == kSectionSymbol && symbol.section < section_count &&
        sections[symbol.section].empty())
      sections[symbol.section] = name_at(names, symbol.name);
  }
  std::vector<std::pair<uint32_t, ListedFunction>> functions;
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const RawSymbol& symbol = symbols[i];
    if (symbol.type != kFunctionSymbol || symbol.section == 0) continue;
    if (symbol.section >= section_count || !sections[symbol.section].starts_with(kText))
      return std::nullopt;
    std::string_view name = name_at(names, symbol.name);
    bool entry = symbol.other & kEntryFlag,
         own = sections[symbol.section].substr(kText.size()) == name;
    if (own) owned[symbol.section] = true;
    if (!entry && !own && symbol.binding != kGlobalBinding) continue;
    functions.push_back({i, {name, entry, symbol.size, -1}});
  }
  code_sections = 0;
  for (size_t i = 0; i < section_count; ++i) {
    if (!sections[i].starts_with(kText)) continue;
    ++code_sections;
    if (!owned[i]) return std::nullopt;
  }
  return functions;
}

// Where the names may begin, if symbols begin at `end`: the last of the symbols' names stands at
// the end of the names, or some names that no symbol has stand behind it.
std::optional<std::vector<std::pair<uint32_t, ListedFunction>>> named_functions(
    Bytes head, size_t end, const std::vector<RawSymbol>& symbols, uint16_t section_count) {
  constexpr int kMostUnused = 1024, kMostTries = 4;
  uint32_t last_name = 0;
  std::vector<uint32_t> some;
  for (const RawSymbol& symbol : symbols) {
    last_name = std::max(last_name, symbol.name);
    if (symbol.name != 0 && some.size() < 8) some.push_back(symbol.name);
  }
  Bytes front = head.substr(0, end);
  auto begins_a_name = [&](size_t at) {
    return at < front.size() && front[at - 1] == '\0' && front[at] != '\0';
  };
  size_t at = front.size();
  for (int unused = 0, tries = 0; unused < kMostUnused && tries < kMostTries; ++unused) {
    size_t text = at > 0 ? front.find_last_not_of('\0', at - 1) : Bytes::npos;
    if (text == Bytes::npos) return std::nullopt;
    size_t before = front.rfind('\0', text);
    if (before == Bytes::npos || before + 1 < kElfHeader + kNames.size() + last_name)
      return std::nullopt;
    at = before;
    size_t names = before + 1 - last_name;
    if (front[names] != '\0' || !std::all_of(some.begin(), some.end(), [&](uint32_t name) {
          return begins_a_name(names + name);
        }))
      continue;
    ++tries;
    size_t code_sections = 0;
    auto functions = functions_of(symbols, front.substr(names), section_count, code_sections);
    if (functions && !functions->empty() &&
        count(front.substr(kElfHeader, names - kElfHeader), Bytes("\0.text.", 7)) <= code_sections)
      return functions;
  }
  return std::nullopt;
}

// Where the number stands next, at or behind `from`, four bytes at a multiple of 4. There may be
// megabytes of code before it, so blocks are asked first, by a loop that becomes vector code.
size_t next_word(Bytes head, size_t from, uint32_t number) {
  constexpr size_t kBlock = 512;
  for (size_t at = (from + 3) / 4 * 4; at + 4 <= head.size(); at += 4) {
    while (at + kBlock <= head.size()) {
      const char* block = head.substr(at, kBlock).data();
      uint32_t any = 0;
      for (size_t i = 0; i < kBlock; i += 4) {
        uint32_t word;
        std::memcpy(&word, block + i, 4);
        any |= word == number;
      }
      if (any) break;
      at += kBlock;
    }
    if (at + 4 <= head.size() && number_at<uint32_t>(head, at) == number) return at;
  }
  return Bytes::npos;
}

enum class Counts { all, cut_off, missing, contradictory };

// The run of attributes that begins at `from`: format 4, attribute 0x2f, 8 bytes, which are the
// symbol's number and the count, between others. `end` becomes where it ends.
Counts read_run(Bytes head, size_t from, size_t symbols, size_t& end,
                std::vector<std::pair<uint32_t, ListedFunction>>& functions) {
  constexpr uint32_t kMost = 1024;
  for (auto& [number, function] : functions) function.registers = -1;
  size_t told = 0;
  Cursor cursor(head);
  cursor.seek(from);
  for (Info info; next_info(cursor, info);) {
    if (info.attribute != kRegisterCount || info.payload.size() != 8) continue;
    uint32_t symbol = number_at<uint32_t>(info.payload, 0),
             registers = number_at<uint32_t>(info.payload, 4);
    if (symbol >= symbols) return Counts::contradictory;  // there are more than were read
    auto which =
        std::lower_bound(functions.begin(), functions.end(), symbol,
                         [](const auto& each, uint32_t value) { return each.first < value; });
    if (which == functions.end() || which->first != symbol) continue;
    int& known = which->second.registers;
    if (registers > kMost || (known >= 0 && known != static_cast<int>(registers)))
      return Counts::contradictory;
    if (known < 0 && ++told == functions.size()) {
      known = static_cast<int>(registers);
      return Counts::all;
    }
    known = static_cast<int>(registers);
  }
  end = cursor.position();
  return cursor.ok() ? Counts::missing : Counts::cut_off;
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

// Where the table of sections stands in front it says where things lie, and each function's size
// and registers: its code may lie behind the head.
std::optional<Listing> list_by_table(Bytes head, uint64_t whole_bytes, Detail detail) {
  auto elf = parse_elf(head, "", whole_bytes);
  if (!elf || elf->symbols.empty()) return std::nullopt;
  for (const Section& section : elf->sections) {
    bool names = section.type == 3, needed = names || section.type == kSymbolTable;
    if (needed && section.data.size() != section.size) return std::nullopt;
  }
  Listing listing = list_elf(*elf);
  for (const ListedFunction& function : listing.functions) {
    // The count stands elsewhere.
    if (function.registers == 0 && detail == Detail::registers) return std::nullopt;
  }
  return listing;
}

}  // namespace

// Sets functions_ and symbols_ once the symbols and their names are there.
void HeadReader::find_functions(Bytes head, uint16_t section_count) {
  constexpr int kMostPlaces = 64;
  for (; places_ < kMostPlaces; ++places_) {
    auto begin = next_symbols(head, at_);
    if (!begin) {
      at_ = std::max(at_, head.size() - std::min(head.size(), kSymbolBytes + 8));
      return;
    }
    at_ = *begin;
    std::vector<RawSymbol> symbols(1);
    size_t end = at_ + kSymbolBytes;
    for (; end + kSymbolBytes <= head.size(); end += kSymbolBytes) {
      symbols.push_back(symbol_at(head, end));
      if (may_be_symbol(symbols.back(), at_ - kElfHeader, section_count)) continue;
      symbols.pop_back();
      break;
    }
    if (end + kSymbolBytes > head.size()) return;  // they may go on
    auto functions =
        symbols.size() > 1 ? named_functions(head, at_, symbols, section_count) : std::nullopt;
    if (functions) {
      functions_ = std::move(*functions);
      symbols_ = symbols.size();
      at_ = end;
      return;
    }
    at_ += kSymbolBytes;
  }
  gave_up_ = true;
}

// Whether each function's register count is there.
bool HeadReader::find_registers(Bytes head) {
  constexpr uint32_t kCount = 0x00082f04;
  for (size_t at = at_; (at = next_word(head, at, kCount)) != Bytes::npos;) {
    at_ = at;
    Counts counts = read_run(head, at_, symbols_, at, functions_);
    if (counts == Counts::missing) continue;
    gave_up_ = counts == Counts::contradictory;
    return counts == Counts::all;
  }
  at_ = std::max(at_, head.size() / 4 * 4 - std::min<size_t>(head.size() / 4 * 4, 4));
  return false;
}

std::optional<Listing> HeadReader::read(Bytes head) {
  if (gave_up_ || head.size() < next_try_) return std::nullopt;
  next_try_ = head.size() + head.size() / 4;
  auto header = read_header(head);
  if (head.size() >= kElfHeader + kNames.size()) {
    gave_up_ = !header || (header->section_table != kElfHeader &&
                           head.substr(kElfHeader, kNames.size()) != kNames);
  }
  if (!header || gave_up_) return std::nullopt;
  if (header->section_table == kElfHeader) return list_by_table(head, whole_bytes_, detail_);
  if (functions_.empty()) find_functions(head, header->sections);
  if (functions_.empty()) return std::nullopt;
  if (detail_ == Detail::registers && !find_registers(head)) return std::nullopt;
  constexpr uint8_t kSecondAbi = 8;  // CUDA 13
  Listing listing;
  listing.architecture = static_cast<int>(header->abi >= kSecondAbi ? header->flags >> 8 & 0xff
                                                                    : header->flags & 0xff);
  for (const auto& [number, function] : functions_) listing.functions.push_back(function);
  return listing;
}

std::optional<Listing> list_head(Bytes head, uint64_t whole_bytes, Detail detail) {
  return HeadReader(whole_bytes, detail).read(head);
}

}  // namespace namesake::cubin
