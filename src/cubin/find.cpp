// Libraries keep GPU code where they like: in .nv_fatbin and __nv_relfatbin, in sections of their
// own, in arrays of their data, several libraries' worth in one archive. A reader of known sections
// misses some. So the whole file is searched for what a fatbin and a cubin begin with, 8 and 7
// bytes that are nothing else, and what is found says itself how long it is. The bytes of one find
// are not searched again, or each cubin that is not packed would be found twice.
//
// The search must cost less than reading the file from memory: two bytes of each pattern that are
// rare in programs are looked for in small blocks, without a branch, which compilers turn into
// vector code; only a block that has them is looked at byte by byte. And most of a library that
// holds much GPU code is finds, which are stepped over and not even read from the disk here: that
// is why one thread does it, from the front to the end.
//
// Not found: code that an application packs or encrypts in a way of its own.
#include "cubin/find.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "cubin/elf.h"
#include "cubin/fatbin.h"
#include "util/pool.h"

namespace namesake::cubin {
namespace {

constexpr Bytes kElf64(
    "\x7f"
    "ELF\x02\x01\x01",
    7);
constexpr uint16_t kCudaMachine = 190;
constexpr size_t kElfHeader = 64, kSectionRow = 64, kProgramRow = 56;
constexpr size_t kBlock = 512, kAhead = 1024;

// Whether a pattern may start in the block, of which a little more than kBlock bytes are given.
[[gnu::always_inline]] inline bool holds_rare_bytes(const char* at) {
  uint8_t any = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    any |= int{at[i + 2] == kFatbinMagic[2]} & int{at[i + 3] == kFatbinMagic[3]};
    any |= int{at[i + 3] == kElf64[3]} & int{at[i + 4] == kElf64[4]};
  }
  return any != 0;
}

#ifdef __x86_64__
[[gnu::target("avx2")]] bool holds_rare_bytes_wide(const char* at) {
  return holds_rare_bytes(at);
}
bool may_hold(Bytes block) {
  static const bool wide = __builtin_cpu_supports("avx2");
  return wide ? holds_rare_bytes_wide(block.data()) : holds_rare_bytes(block.data());
}
#else
bool may_hold(Bytes block) {
  return holds_rare_bytes(block.data());
}
#endif

// Where the next pattern starts, at or behind `from`.
size_t next_start(Bytes file, size_t from) {
  for (; from < file.size(); from += kBlock) {
    Bytes block = file.substr(from, kBlock + kFatbinMagic.size());
    // Processors fetch ahead within a page only.
    for (size_t ahead = from + kAhead; ahead < std::min(file.size(), from + kAhead + kBlock);
         ahead += 64)
      __builtin_prefetch(&file[ahead]);
    if (block.size() == kBlock + kFatbinMagic.size() && !may_hold(block)) continue;
    for (size_t i = 0; i < std::min(kBlock, block.size()); ++i) {
      if (block[i] == kFatbinMagic[0] || block[i] == kElf64[0]) {
        Bytes rest = block.substr(i);
        if (rest.starts_with(kFatbinMagic) || rest.starts_with(kElf64)) return from + i;
      }
    }
  }
  return Bytes::npos;
}

// The same by several threads, once nothing is near. Chunks are begun in their order, so where one
// has a start, all before it are looked at too.
size_t next_start(Bytes file, size_t from, int workers) {
  constexpr size_t kChunk = size_t{1} << 20;
  auto first_in = [&](size_t begin) {
    size_t end = std::min(file.size(), begin + kChunk);
    size_t start = next_start(file.substr(0, end + kFatbinMagic.size() - 1), begin);
    return start < end ? start : Bytes::npos;
  };
  if (workers == 1) return next_start(file, from);
  size_t near = first_in(from);
  if (near != Bytes::npos || file.size() - from <= kChunk) return near;
  from += kChunk;
  std::mutex mutex;
  std::atomic<size_t> first{Bytes::npos};
  for_each_parallel((file.size() - from + kChunk - 1) / kChunk, workers,
                    [&](size_t i) {
                      size_t start = first_in(from + i * kChunk);
                      std::lock_guard lock(mutex);
                      first = std::min(first.load(), start);
                    },
                    [&] { return first != Bytes::npos; });
  return first;
}

struct ElfShape {
  uint16_t machine = 0;
  uint64_t section_table = 0, program_table = 0;
  uint16_t sections = 0, programs = 0, names = 0;
};

std::optional<ElfShape> elf_shape(Bytes file) {
  Cursor cursor(file);
  if (!file.starts_with(kElf64)) return std::nullopt;
  ElfShape shape;
  cursor.skip(18);
  shape.machine = cursor.read<uint16_t>();
  cursor.skip(4 + 8);
  shape.program_table = cursor.read<uint64_t>();
  shape.section_table = cursor.read<uint64_t>();
  cursor.skip(4 + 2 + 2);
  shape.programs = cursor.read<uint16_t>();
  cursor.skip(2);
  shape.sections = cursor.read<uint16_t>();
  shape.names = cursor.read<uint16_t>();
  if (!cursor.ok()) return std::nullopt;
  return shape;
}

// Programs that make or read fatbins hold the magic number too, in their code and constants. A
// fatbin goes on with its first entry, whose header has one version and a size in bounds.
bool begins_a_fatbin(Bytes file, uint64_t& size) {
  constexpr uint16_t kEntryVersion = 0x101;
  constexpr uint32_t kLeastHeader = 64, kMostHeader = 65536;
  Cursor cursor(file);
  cursor.skip(kFatbinMagic.size());
  size = cursor.read<uint64_t>();
  cursor.skip(2);
  uint16_t version = cursor.read<uint16_t>();
  uint32_t header = cursor.read<uint32_t>();
  return cursor.ok() && version == kEntryVersion && header >= kLeastHeader && header <= kMostHeader;
}

// Nobody says how long a cubin is: it ends behind the last of its tables and sections.
uint64_t cubin_extent(Bytes file, const ElfShape& shape) {
  uint64_t end = kElfHeader;
  auto reach = [&](uint64_t offset, uint64_t size) {
    auto last = checked_add(offset, size);
    end = std::max(end, last && *last <= file.size() ? *last : file.size());
  };
  reach(shape.section_table, uint64_t{shape.sections} * kSectionRow);
  if (shape.programs > 0) reach(shape.program_table, uint64_t{shape.programs} * kProgramRow);
  Cursor rows(file);
  rows.seek(shape.section_table);
  for (uint16_t i = 0; i < shape.sections && rows.ok(); ++i) {
    rows.skip(4);
    uint32_t type = rows.read<uint32_t>();
    rows.skip(16);
    uint64_t offset = rows.read<uint64_t>(), size = rows.read<uint64_t>();
    rows.skip(24);
    if (rows.ok() && type != 0 && !takes_no_room(type)) reach(offset, size);
  }
  return end;
}

struct HostSection {
  uint64_t begin = 0, end = 0;
  std::string_view name;
};

// The sections of a host program; none for anything else.
std::vector<HostSection> host_sections(Bytes file) {
  std::vector<HostSection> sections;
  auto shape = elf_shape(file);
  if (!shape || shape->machine == kCudaMachine) return sections;
  auto table = slice(file, shape->section_table, uint64_t{shape->sections} * kSectionRow);
  if (!table) return sections;
  Bytes names;
  std::vector<uint32_t> name_offsets;
  Cursor rows(*table);
  for (uint16_t i = 0; i < shape->sections; ++i) {
    name_offsets.push_back(rows.read<uint32_t>());
    uint32_t type = rows.read<uint32_t>();
    rows.skip(16);
    uint64_t offset = rows.read<uint64_t>(), size = rows.read<uint64_t>();
    rows.skip(24);
    auto data = takes_no_room(type) ? std::nullopt : slice(file, offset, size);
    sections.push_back({offset, data ? offset + size : offset, {}});
    if (i == shape->names && data) names = *data;
  }
  for (size_t i = 0; i < sections.size(); ++i) {
    Cursor name(names);
    name.seek(name_offsets[i]);
    sections[i].name = name.take_string();
  }
  std::sort(sections.begin(), sections.end(),
            [](const HostSection& a, const HostSection& b) { return a.begin < b.begin; });
  return sections;
}

std::string section_at(const std::vector<HostSection>& sections, uint64_t offset) {
  auto after = std::upper_bound(
      sections.begin(), sections.end(), offset,
      [](uint64_t value, const HostSection& section) { return value < section.begin; });
  while (after != sections.begin()) {
    --after;
    if (offset < after->end) return std::string(after->name);
    if (after->begin != after->end) break;
  }
  return "";
}

}  // namespace

std::vector<Find> find_code(Bytes file, int workers) {
  std::vector<HostSection> sections = host_sections(file);
  std::vector<Find> finds;
  for (size_t at = next_start(file, 0, workers); at != Bytes::npos;
       at = next_start(file, at, workers)) {
    Find find;
    find.offset = at++;
    find.bytes = file.substr(find.offset);
    find.fatbin = find.bytes.starts_with(kFatbinMagic);
    if (find.fatbin) {
      uint64_t size = 0;
      if (!begins_a_fatbin(find.bytes, size)) continue;
      if (auto whole = slice(find.bytes, 0, checked_add(size, 16).value_or(UINT64_MAX)))
        find.bytes = *whole;
    } else {
      auto shape = elf_shape(find.bytes);
      if (!shape || shape->machine != kCudaMachine) continue;
      find.bytes = find.bytes.substr(0, cubin_extent(find.bytes, *shape));
    }
    find.section = section_at(sections, find.offset);
    at = find.offset + find.bytes.size();
    finds.push_back(std::move(find));
  }
  return finds;
}

}  // namespace namesake::cubin
