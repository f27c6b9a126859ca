// What a scan of a library cannot go below: the processor seconds that unpacking alone takes, of
// PTX whole and of cubins as far as their kernels' names reach. One file, one number.
#include <fmt/format.h>

#include <ctime>

#include "cubin/fatbin.h"
#include "cubin/find.h"
#include "cubin/listing.h"
#include "util/mapping.h"

using namespace namesake;

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

constexpr uint64_t kLimit = uint64_t{1} << 30;

// How much of an entry a scan unpacks.
uint64_t needed(const cubin::FatbinEntry& entry, Room& room) {
  if (entry.content != cubin::Content::cubin) return entry.unpacked_bytes;
  uint64_t unpacked = 0;
  (void)cubin::list_entry(entry, cubin::Detail::names, kLimit, "entry", room, unpacked);
  return unpacked;
}

double unpacking(const cubin::FatbinEntry& entry, Room& room) {
  uint64_t bytes = needed(entry, room);
  double start = processor_seconds();
  if (bytes >= entry.unpacked_bytes) {
    (void)cubin::unpack(entry, kLimit, "entry", room);
  } else if (auto unpacker = cubin::HeadUnpacker::start(entry, kLimit, "entry", room)) {
    for (size_t done = 0; done < bytes;) {
      auto more = unpacker->more();
      if (!more) break;
      done = more->size();
    }
  }
  return processor_seconds() - start;
}

}  // namespace

int main(int argc, char** argv) {
  auto file = argc == 2 ? MappedFile::open(argv[1]) : error("give one file");
  if (!file) {
    fmt::print(stderr, "scan_floor: {}\n", file.error().message);
    return 2;
  }
  double seconds = 0;
  Room room;
  for (const cubin::Find& find : cubin::find_code(file->bytes())) {
    if (!find.fatbin) continue;
    auto fatbin = cubin::parse_fatbin(find.bytes, argv[1]);
    if (!fatbin) continue;
    for (const cubin::FatbinEntry& entry : fatbin->entries) {
      bool read = entry.content == cubin::Content::cubin || entry.content == cubin::Content::ptx;
      if (read && entry.packing != cubin::Packing::none) seconds += unpacking(entry, room);
    }
  }
  fmt::print("{:.4f}\n", seconds);
  return 0;
}
