// Two kinds of parallelism, so that a wheel with one library of a gigabyte and a wheel with a
// thousand cubins both use all processors, and neither needs the memory of all of it at once:
// members of an archive that are small are walked side by side, each by one worker from begin to
// end; large ones are unpacked one after the other, and the modules in them are spread over the
// workers.
#include "study/containers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "archive/ar.h"
#include "archive/zip.h"
#include "cubin/find.h"
#include "util/pool.h"

namespace namesake::study {
namespace {

constexpr uint64_t kSmallMember = uint64_t{16} << 20;

// PTX as a file of its own: text whose first directives are its version and target.
bool looks_like_ptx(Bytes file) {
  constexpr size_t kHead = 65536;
  Bytes head = file.substr(0, kHead);
  size_t first = head.find_first_not_of(" \t\r\n");
  if (first == Bytes::npos || (head[first] != '/' && head[first] != '.')) return false;
  size_t version = head.find(".version");
  return version != Bytes::npos && head.substr(0, version).find('\0') == Bytes::npos &&
         head.find(".target", version) != Bytes::npos;
}

Bytes without_padding(Bytes text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

struct Member {
  std::string_view name;
  uint64_t bytes = 0;  // once unpacked
  const archive::ZipMember* zip = nullptr;
  Bytes data;  // of a member that is not packed
};

class Walker {
 public:
  Walker(const Walk& walk, uint64_t file_bytes) : walk_(walk) {
    uint64_t multiple = checked_mul(file_bytes, walk.limits.total_ratio).value_or(UINT64_MAX);
    budget_ = checked_add(multiple, walk.limits.total_bytes).value_or(UINT64_MAX);
  }

  uint64_t unpacked() const { return unpacked_; }

  void file(Bytes file, const std::string& name, int workers, int depth) {
    if (stopped()) return;
    if (archive::looks_like_zip(file)) {
      if (depth >= walk_.limits.depth)
        return walk_.problem(name + ": archives nested too deeply; unpack the outer ones first");
      auto members = archive::read_zip(file, name);
      if (!members) return walk_.problem(members.error().message);
      std::vector<Member> list;
      for (const archive::ZipMember& member : *members)
        list.push_back({member.name, member.size, &member, {}});
      walk_members(list, name, workers, depth);
    } else if (archive::looks_like_ar(file)) {
      if (depth >= walk_.limits.depth)
        return walk_.problem(name + ": archives nested too deeply; unpack the outer ones first");
      auto members = archive::read_ar(file, name);
      if (!members) return walk_.problem(members.error().message);
      std::vector<Member> list;
      for (const archive::ArMember& member : *members)
        list.push_back({member.name, member.data.size(), nullptr, member.data});
      walk_members(list, name, workers, depth);
    } else if (looks_like_ptx(file)) {
      Piece piece;
      piece.content = cubin::Content::ptx;
      piece.container = name;
      piece.container_bytes = file.size();
      piece.bytes = [&]() -> Result<Bytes> { return without_padding(file); };
      walk_.piece(piece);
    } else {
      program(file, name, workers);
    }
  }

 private:
  bool stopped() const { return walk_.stop && walk_.stop(); }

  // Whether so much more may be unpacked. The sentence is said once.
  bool spend(uint64_t bytes, const std::string& name) {
    uint64_t left = budget_.load();
    while (bytes <= left) {
      if (budget_.compare_exchange_weak(left, left - bytes)) {
        unpacked_ += bytes;
        return true;
      }
    }
    if (!exhausted_.exchange(true)) {
      walk_.problem(name +
                    ": what the file holds unpacks to far more than any library does (a bomb?); "
                    "the rest was left packed");
    }
    return false;
  }

  void walk_members(const std::vector<Member>& members, const std::string& name, int workers,
                    int depth) {
    std::vector<const Member*> small, large;
    for (const Member& member : members)
      (member.bytes <= kSmallMember ? small : large).push_back(&member);
    for_each_parallel(
        small.size(), workers, [&](size_t i) { this->member(*small[i], name, 1, depth); },
        walk_.stop);
    for (const Member* each : large) this->member(*each, name, workers, depth);
  }

  void member(const Member& member, const std::string& archive, int workers, int depth) {
    std::string name = fmt::format("{}({})", archive, member.name);
    if (!member.zip) return file(member.data, name, workers, depth + 1);
    if (member.bytes > walk_.limits.member_bytes) {
      return walk_.problem(
          fmt::format("{}: unpacks to {} bytes, more than the {} that are unpacked in memory; "
                      "unpack it to a file first",
                      name, member.bytes, walk_.limits.member_bytes));
    }
    if (!spend(member.bytes, name)) return;
    try {
      std::string storage;
      auto content = archive::unpack(*member.zip, name, storage);
      if (!content) return walk_.problem(content.error().message);
      file(*content, name, workers, depth + 1);
    } catch (const std::bad_alloc&) {
      walk_.problem(fmt::format("{}: no memory for its {} bytes", name, member.bytes));
    }
  }

  // Anything else: a program, a library, an object, a fatbin, a cubin, or no GPU code at all.
  void program(Bytes file, const std::string& name, int workers) {
    struct Entry {
      const cubin::Find* find = nullptr;
      uint64_t number = 0;
      cubin::FatbinEntry entry;
    };
    std::vector<cubin::Find> finds = cubin::find_code(file, workers);
    std::vector<Entry> entries;
    for (const cubin::Find& find : finds) {
      if (!find.fatbin) {
        entries.push_back({&find,
                           0,
                           {cubin::Content::cubin, 0, cubin::Packing::none, "", find.bytes,
                            find.bytes.size(), ""}});
        continue;
      }
      std::string origin = fmt::format("{}: the fatbin at {:#x}", name, find.offset);
      auto fatbin = cubin::parse_fatbin(find.bytes, origin);
      if (!fatbin) {
        walk_.problem(fatbin.error().message);
        continue;
      }
      if (!fatbin->damage.empty()) walk_.problem(fmt::format("{}: {}", origin, fatbin->damage));
      for (uint64_t i = 0; i < fatbin->entries.size(); ++i)
        entries.push_back({&find, i + 1, std::move(fatbin->entries[i])});
    }
    // The largest first: no worker is left with one at the end, and room grows but once.
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.entry.unpacked_bytes > b.entry.unpacked_bytes;
    });
    for_each_parallel(
        entries.size(), workers,
        [&](size_t i) {
          const Entry& each = entries[i];
          Piece piece;
          piece.content = each.entry.content;
          piece.container = name;
          piece.container_bytes = file.size();
          piece.section = each.find->section;
          piece.offset = each.find->offset;
          piece.entry = each.number;
          piece.architecture = each.entry.architecture;
          piece.options = each.entry.options;
          piece.packing = each.entry.packing;
          show(piece, each.entry);
        },
        walk_.stop);
  }

  void show(Piece& piece, const cubin::FatbinEntry& entry) {
    thread_local Room storage;
    std::string origin = piece.entry
                             ? fmt::format("{}: entry {} of the fatbin at {:#x}", piece.container,
                                           piece.entry, piece.offset)
                             : fmt::format("{}: the cubin at {:#x}", piece.container, piece.offset);
    piece.bytes = [&]() -> Result<Bytes> {
      if (entry.packing != cubin::Packing::none && !spend(entry.unpacked_bytes, origin))
        return error("");
      TRY_ASSIGN(Bytes content, cubin::unpack(entry, walk_.limits.entry_bytes, origin, storage));
      return piece.content == cubin::Content::ptx ? without_padding(content) : content;
    };
    piece.functions = [&](cubin::Detail detail) -> Result<cubin::Listing> {
      if (exhausted_) return error("");
      uint64_t unpacked = 0;
      auto listing =
          cubin::list_entry(entry, detail, walk_.limits.entry_bytes, origin, storage, unpacked);
      if (!spend(unpacked, origin)) return error("");
      return listing;
    };
    try {
      walk_.piece(piece);
    } catch (const std::bad_alloc&) {
      walk_.problem(fmt::format("{}: no memory for its {} bytes", origin, entry.unpacked_bytes));
    }
  }

  const Walk& walk_;
  std::atomic<uint64_t> budget_{0}, unpacked_{0};
  std::atomic<bool> exhausted_{false};
};

}  // namespace

uint64_t walk(Bytes file, const std::string& name, const Walk& walk) {
  Walker walker(walk, file.size());
  walker.file(file, name, walk.workers, 0);
  return walker.unpacked();
}

}  // namespace namesake::study
