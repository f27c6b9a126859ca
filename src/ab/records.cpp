#include "ab/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "live/protocol.h"
#include "util/file.h"

namespace namesake::ab {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kLargest = uint64_t{64} << 20;

int64_t count(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, 100'000'000'000));
}

}  // namespace

double Block::a() const {
  return b_first ? milliseconds[1] + milliseconds[2] : milliseconds[0] + milliseconds[3];
}
double Block::b() const {
  return b_first ? milliseconds[0] + milliseconds[3] : milliseconds[1] + milliseconds[2];
}

Result<Record> parse_record(Bytes file) {
  Cursor cursor(file);
  auto head = cursor.read<ns_live_record>();
  if (!cursor.ok() || head.magic != NAMESAKE_LIVE_MAGIC || head.protocol != NAMESAKE_LIVE_PROTOCOL)
    return error("no record of launches of this version of the tool");
  Record record;
  record.process = head.pid;
  record.device = std::string(head.device, strnlen(head.device, sizeof head.device));
  record.driver = static_cast<int>(head.driver);
  record.major = static_cast<int>(head.major);
  record.minor = static_cast<int>(head.minor);
  record.unknown = count(head.unknown);
  record.timed = count(head.timed);
  record.lost = head.lost;
  record.contexts_ended = head.contexts_ended;
  for (uint32_t i = 0; i < NS_LIVE_KERNELS && cursor.ok(); ++i) {
    auto kernel = cursor.read<ns_live_kernel>();
    if (!cursor.ok()) break;
    LaunchedKernel& mine = record.kernels.emplace_back();
    if (!kernel.whole) continue;  // the place is kept: shapes name kernels by number
    mine.image = kernel.image;
    mine.symbol_hash = kernel.symbol_hash;
    mine.symbol = std::string(kernel.symbol, strnlen(kernel.symbol, sizeof kernel.symbol));
    mine.state = static_cast<int>(kernel.state);
    mine.error = kernel.error;
    mine.launches = count(kernel.launches);
    mine.of_b = count(kernel.of_b);
    mine.captured = count(kernel.captured);
    mine.cooperative = count(kernel.cooperative);
    mine.not_resident = count(kernel.not_resident);
    mine.failed = kernel.failed;
    mine.checked = kernel.checked;
    mine.differing = kernel.differing;
    mine.unrepeatable = kernel.unrepeatable;
    mine.unchecked = kernel.unchecked;
    mine.why_unchecked = static_cast<int>(kernel.why_unchecked);
  }
  for (uint32_t i = 0; i < NS_LIVE_SHAPES && cursor.ok(); ++i) {
    auto shape = cursor.read<ns_live_shape>();
    LaunchShape& mine = record.shapes.emplace_back();
    mine.kernel = shape.kernel;
    std::copy(std::begin(shape.grid), std::end(shape.grid), mine.grid.begin());
    std::copy(std::begin(shape.block), std::end(shape.block), mine.block.begin());
    mine.shared_bytes = shape.shared;
    mine.attributes = shape.attributes;
    mine.launches = count(shape.launches);
  }
  for (uint32_t i = 0; i < NS_LIVE_BLOCKS && cursor.ok(); ++i) {
    auto block = cursor.read<ns_live_block>();
    bool sound =
        std::all_of(std::begin(block.milliseconds), std::end(block.milliseconds),
                    [](float value) { return std::isfinite(value) && value >= 0 && value < 1e9F; });
    if (!cursor.ok() || !block.whole || !sound) continue;
    Block& mine = record.blocks.emplace_back();
    mine.shape = block.shape;
    mine.kind = block.kind;
    mine.b_first = block.b_first != 0;
    std::copy(std::begin(block.milliseconds), std::end(block.milliseconds),
              mine.milliseconds.begin());
  }
  if (!cursor.ok()) return error("a record of launches that ends too soon");
  return record;
}

Launched read_launched(const fs::path& live) {
  Launched launched;
  std::error_code code;
  for (fs::directory_iterator at(live / "records", code), end; !code && at != end;
       at.increment(code)) {
    auto file = read_file(at->path(), kLargest);
    auto record = file ? parse_record(*file) : Result<Record>(tl::unexpected(file.error()));
    if (record) {
      launched.records.push_back(std::move(*record));
    } else {
      launched.damaged.push_back(at->path().filename().string() + ": " + record.error().message);
    }
  }
  for (fs::directory_iterator at(live / "answers", code), end; !code && at != end;
       at.increment(code)) {
    if (at->path().extension() != ".notes") continue;
    auto file = read_file(at->path(), kLargest);
    auto notes =
        file ? decode_notes(*file) : Result<std::vector<Note>>(tl::unexpected(file.error()));
    if (!notes) {
      launched.damaged.push_back(at->path().filename().string() + ": " + notes.error().message);
      continue;
    }
    for (Note& note : *notes) {
      auto key = std::pair(note.image, symbol_hash(note.symbol));
      launched.notes[key] = std::move(note);
    }
  }
  return launched;
}

}  // namespace namesake::ab
