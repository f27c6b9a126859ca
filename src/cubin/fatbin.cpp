// The format has no public description; what is read here is what every fatbin made by CUDA 11.7 to
// 13.5 that was looked at has in common. A header of 16 bytes (magic, version, its own size, the
// size of what follows) and entries one after the other, each with a header of 64 bytes or more:
//
//    0  kind (1 PTX, 2 cubin, 8 IR for link-time optimisation)     24  the assembler's release
//    4  this header's size          8  payload, padded to 8       28  architecture
//   16  payload before padding; 0 where not packed                40  flags
//   20  where the options stand, in the header; 0: nowhere        56  size unpacked; 0 where not
//   packed
//
// Sizes unpacked are claims. LZ4 cannot pack beyond 255 to 1, and SASS and PTX reach 30 to 1 in
// what was seen, so a claim beyond kMostPacked is called a bomb before a byte is unpacked. An entry
// never becomes larger than its claim: both libraries are given a buffer of that size.
#include "cubin/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#define ZSTD_STATIC_LINKING_ONLY  // block by block
#include <zstd.h>

#include <algorithm>
#include <memory>

namespace namesake::cubin {
namespace {

constexpr size_t kFatbinHeader = 16, kLeastEntryHeader = 64;
constexpr uint16_t kPtx = 1, kCubin = 2, kIr = 8;
constexpr uint64_t kFamily = 0x200000, kSpecific = 0x100000, kZstd = 0x8000, kLz4 = 0x2000;
constexpr uint64_t kMostPacked = 1000, kSmall = uint64_t{1} << 20;

Content content_of(uint16_t kind) {
  switch (kind) {
    case kPtx:
      return Content::ptx;
    case kCubin:
      return Content::cubin;
    case kIr:
      return Content::ir;
    default:
      return Content::other;
  }
}

// A place in the header, and there: where the text begins, and its length.
std::string_view options_in(Bytes header, uint32_t place) {
  if (place == 0) return {};
  Cursor cursor(header);
  cursor.seek(place);
  uint32_t offset = cursor.read<uint32_t>(), length = cursor.read<uint32_t>();
  auto text = slice(header, offset, length);
  if (!cursor.ok() || !text) return {};
  std::string_view options = text->substr(0, text->find('\0'));
  return options.starts_with('-') || options.starts_with(" -") ? options : std::string_view();
}

std::string architecture_name(uint32_t number, uint64_t flags) {
  const char* suffix = flags & kFamily ? "f" : flags & kSpecific ? "a" : "";
  return fmt::format("sm_{}{}", number, suffix);
}

ZSTD_DCtx* zstd_context() {
  thread_local std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                          ZSTD_freeDCtx);
  return context.get();
}

tl::unexpected<Error> undone(std::string_view origin, const char* format) {
  return error(fmt::format("{}: damaged: its {} data does not unpack to the size it claims", origin,
                           format));
}

// Room for the entry as large as it claims to be, if the claim can be true.
Result<char*> make_room(const FatbinEntry& entry, uint64_t limit, std::string_view origin,
                        Room& storage) {
  if (entry.unpacked_bytes > limit) {
    return error(fmt::format("{}: would unpack to {} bytes, more than the {} that are allowed",
                             origin, entry.unpacked_bytes, limit));
  }
  if (entry.unpacked_bytes > kSmall && entry.unpacked_bytes / kMostPacked > entry.data.size()) {
    return error(fmt::format(
        "{}: claims {} bytes out of {}; no compiler's output packs so well, so it is left packed",
        origin, entry.unpacked_bytes, entry.data.size()));
  }
  return storage.of(entry.unpacked_bytes);
}

}  // namespace

Result<Fatbin> parse_fatbin(Bytes file, std::string_view origin) {
  Cursor cursor(file);
  if (cursor.take(kFatbinMagic.size()) != kFatbinMagic)
    return error(fmt::format("{}: not a fatbin", origin));
  uint64_t size = cursor.read<uint64_t>();
  if (!cursor.ok()) return error(fmt::format("{}: a fatbin cut off in its header", origin));
  Fatbin fatbin;
  auto body = slice(file, kFatbinHeader, size);
  if (!body) {
    fatbin.damage = fmt::format("it claims {} bytes and the file has {} (truncated? get it again)",
                                size, cursor.left());
    body = file.substr(kFatbinHeader);
  }
  fatbin.bytes = kFatbinHeader + body->size();

  Cursor entries(*body);
  while (entries.left() >= kLeastEntryHeader) {
    size_t start = entries.position();
    FatbinEntry entry;
    entry.kind = entries.read<uint16_t>();
    entries.skip(2);
    uint32_t header_bytes = entries.read<uint32_t>();
    uint64_t padded = entries.read<uint64_t>();
    uint32_t packed = entries.read<uint32_t>(), options = entries.read<uint32_t>();
    entries.skip(4);
    uint32_t architecture = entries.read<uint32_t>();
    entries.skip(8);
    uint64_t flags = entries.read<uint64_t>();
    entries.skip(8);
    uint64_t unpacked = entries.read<uint64_t>();
    auto header = slice(*body, start, header_bytes);
    auto payload = header ? slice(*body, start + header->size(), padded) : std::nullopt;
    if (header_bytes < kLeastEntryHeader || !payload) {
      if (fatbin.damage.empty())
        fatbin.damage = "an entry reaches beyond it (truncated or damaged? get it again)";
      fatbin.damage = fmt::format("entry {}: {}", fatbin.entries.size() + 1, fatbin.damage);
      return fatbin;
    }
    entry.content = content_of(entry.kind);
    entry.packing = flags & kZstd ? Packing::zstd : flags & kLz4 ? Packing::lz4 : Packing::none;
    entry.architecture = architecture_name(architecture, flags);
    bool is_packed = entry.packing != Packing::none;
    entry.data = is_packed && packed <= payload->size() ? payload->substr(0, packed) : *payload;
    entry.unpacked_bytes = is_packed ? unpacked : payload->size();
    entry.options = options_in(*header, options);
    fatbin.entries.push_back(std::move(entry));
    entries.seek(start + header_bytes + payload->size());
  }
  return fatbin;
}

Result<HeadUnpacker> HeadUnpacker::start(const FatbinEntry& entry, uint64_t limit,
                                         std::string_view origin, Room& storage) {
  TRY_ASSIGN(char* room, make_room(entry, limit, origin, storage));
  if (entry.packing == Packing::zstd) ZSTD_decompressBegin(zstd_context());
  return HeadUnpacker(entry, storage, room);
}

bool HeadUnpacker::whole() const {
  bool all_taken = entry_.packing == Packing::lz4 || taken_ == entry_.data.size();
  return given_ == entry_.unpacked_bytes && all_taken;
}

std::optional<Bytes> HeadUnpacker::more() {
  if (entry_.packing == Packing::lz4) {  // which is fast enough to begin anew
    constexpr size_t kFirst = 16384;
    size_t bytes = std::min<size_t>(std::max(kFirst, given_ * 2), entry_.unpacked_bytes);
    if (bytes == given_ || entry_.data.size() > LZ4_MAX_INPUT_SIZE || bytes > LZ4_MAX_INPUT_SIZE)
      return std::nullopt;
    int written =
        LZ4_decompress_safe_partial(entry_.data.data(), room_, static_cast<int>(entry_.data.size()),
                                    static_cast<int>(bytes), static_cast<int>(bytes));
    if (written < 0 || static_cast<uint64_t>(written) != bytes) return std::nullopt;
    given_ = bytes;
    return storage_.first(given_);
  }
  for (size_t before = given_; given_ == before;) {
    if (!next_block()) return std::nullopt;
  }
  return storage_.first(given_);
}

// The next part of a zstd frame: a block, which goes right behind those before it, or a header.
bool HeadUnpacker::next_block() {
  ZSTD_DCtx* context = zstd_context();
  size_t bytes = ZSTD_nextSrcSizeToDecompress(context);
  if (bytes == 0 || bytes > entry_.data.size() - taken_) return false;
  Bytes part = entry_.data.substr(taken_, bytes);
  size_t written = ZSTD_decompressContinue(context, room_ + given_, entry_.unpacked_bytes - given_,
                                           part.data(), bytes);
  if (ZSTD_isError(written)) return false;
  taken_ += bytes;
  given_ += written;
  return true;
}

Result<Bytes> unpack(const FatbinEntry& entry, uint64_t limit, std::string_view origin,
                     Room& storage) {
  if (entry.packing == Packing::none) return entry.data;
  TRY_ASSIGN(char* room, make_room(entry, limit, origin, storage));
  if (entry.packing == Packing::lz4) {
    if (entry.data.size() > LZ4_MAX_INPUT_SIZE || entry.unpacked_bytes > LZ4_MAX_INPUT_SIZE)
      return undone(origin, "LZ4");
    int written = LZ4_decompress_safe(entry.data.data(), room, static_cast<int>(entry.data.size()),
                                      static_cast<int>(entry.unpacked_bytes));
    if (written < 0 || static_cast<uint64_t>(written) != entry.unpacked_bytes)
      return undone(origin, "LZ4");
  } else {
    size_t written = ZSTD_decompressDCtx(zstd_context(), room, entry.unpacked_bytes,
                                         entry.data.data(), entry.data.size());
    if (ZSTD_isError(written) || written != entry.unpacked_bytes) return undone(origin, "zstd");
  }
  return storage.first(entry.unpacked_bytes);
}

}  // namespace namesake::cubin
