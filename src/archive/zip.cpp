// Zip is read from its end: the directory there is what the archive means, and the local headers
// only say where each member's bytes begin. Sizes are the directory's; the local header may lack
// them (streamed archives), so nothing else of it is believed.
//
// What a hostile archive can do is bounded here: names and sizes are slices of the file, members
// may not share bytes, and a member is unpacked into exactly the bytes it claims, which deflate
// cannot exceed by more than its own factor of 1032. How much is unpacked in all is the caller's
// business.
#include "archive/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <optional>

namespace namesake::archive {
namespace {

constexpr Bytes kLocal("PK\3\4", 4), kCentral("PK\1\2", 4), kEnd("PK\5\6", 4), kEnd64("PK\6\6", 4),
    kLocator64("PK\6\7", 4);
constexpr size_t kEndBytes = 22, kLocatorBytes = 20, kLargestComment = 65535;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint64_t kDeflateRatio = 1032;

tl::unexpected<Error> broken(std::string_view origin, const std::string& what) {
  return error(fmt::format("{}: not a usable zip file: {} (truncated or damaged? get it again)",
                           origin, what));
}

struct Directory {
  uint64_t entries = 0, offset = 0, size = 0;
};

// The last end record whose comment reaches the end of the file.
std::optional<size_t> find_end(Bytes file) {
  size_t floor =
      file.size() > kEndBytes + kLargestComment ? file.size() - kEndBytes - kLargestComment : 0;
  for (size_t at = file.rfind(kEnd); at != Bytes::npos && at >= floor;
       at = file.rfind(kEnd, at - 1)) {
    Cursor cursor(file);
    cursor.seek(at + 20);
    uint16_t comment = cursor.read<uint16_t>();
    if (cursor.ok() && cursor.left() == comment) return at;
    if (at == 0) break;
  }
  return std::nullopt;
}

Result<Directory> read_end(Bytes file, size_t end, std::string_view origin) {
  Cursor cursor(file);
  cursor.seek(end + 4);
  uint16_t disk = cursor.read<uint16_t>(), start_disk = cursor.read<uint16_t>();
  cursor.skip(2);
  Directory directory;
  directory.entries = cursor.read<uint16_t>();
  directory.size = cursor.read<uint32_t>();
  directory.offset = cursor.read<uint32_t>();
  if (end >= kLocatorBytes && file.substr(end - kLocatorBytes, 4) == kLocator64) {
    cursor.seek(end - kLocatorBytes + 8);
    uint64_t at = cursor.read<uint64_t>();
    cursor.seek(at);
    if (cursor.take(4) != kEnd64) return broken(origin, "its zip64 directory is missing");
    cursor.skip(8 + 2 + 2 + 4 + 4 + 8);
    directory.entries = cursor.read<uint64_t>();
    directory.size = cursor.read<uint64_t>();
    directory.offset = cursor.read<uint64_t>();
    if (!cursor.ok()) return broken(origin, "its zip64 directory is missing");
  } else if (disk != 0 || start_disk != 0) {
    return error(
        fmt::format("{}: one part of a zip file in several; join the parts first", origin));
  }
  return directory;
}

// Sizes and offset that do not fit 32 bits stand in an extra field, those alone and in this order.
void read_wide(Bytes extra, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  constexpr uint16_t kWide = 1;
  Cursor cursor(extra);
  while (cursor.left() >= 4) {
    uint16_t tag = cursor.read<uint16_t>(), length = cursor.read<uint16_t>();
    Cursor field(cursor.take(length));
    if (tag != kWide) continue;
    for (uint64_t* value : {&size, &packed, &offset}) {
      if (*value == UINT32_MAX) *value = field.read<uint64_t>();
    }
  }
}

}  // namespace

bool looks_like_zip(Bytes file) {
  return file.starts_with(kLocal) || (file.starts_with(kEnd) && file.size() >= kEndBytes);
}

Result<std::vector<ZipMember>> read_zip(Bytes file, std::string_view origin) {
  auto end = find_end(file);
  if (!end) return broken(origin, "its directory, which stands at the end, is missing");
  TRY_ASSIGN(Directory directory, read_end(file, *end, origin));
  auto rows = slice(file, directory.offset, directory.size);
  if (!rows) return broken(origin, "its directory lies outside the file");

  std::vector<ZipMember> members;
  uint64_t packed_bytes = 0;
  Cursor cursor(*rows);
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (cursor.take(4) != kCentral)
      return broken(origin, fmt::format("entry {} of its directory is none", i + 1));
    cursor.skip(4);
    ZipMember member;
    uint16_t flags = cursor.read<uint16_t>();
    member.encrypted = flags & 1;
    member.method = cursor.read<uint16_t>();
    cursor.skip(4);
    member.checksum = cursor.read<uint32_t>();
    uint64_t packed = cursor.read<uint32_t>();
    member.size = cursor.read<uint32_t>();
    uint16_t name = cursor.read<uint16_t>(), extra = cursor.read<uint16_t>(),
             comment = cursor.read<uint16_t>();
    cursor.skip(2 + 2 + 4);
    uint64_t offset = cursor.read<uint32_t>();
    member.name = cursor.take(name);
    read_wide(cursor.take(extra), member.size, packed, offset);
    cursor.skip(comment);
    if (!cursor.ok()) return broken(origin, "its directory ends inside an entry");

    Cursor local(file);
    local.seek(offset);
    if (local.take(4) != kLocal)
      return broken(origin, fmt::format("\"{}\" is not where its directory says", member.name));
    local.skip(22);
    uint16_t local_name = local.read<uint16_t>(), local_extra = local.read<uint16_t>();
    local.skip(local_name);
    local.skip(local_extra);
    member.data = local.take(packed);
    if (!local.ok())
      return broken(origin, fmt::format("\"{}\" reaches beyond the file's end", member.name));
    packed_bytes += packed;
    if (packed_bytes > file.size()) return broken(origin, "its members overlap");
    if (!member.name.ends_with('/')) members.push_back(member);
  }
  return members;
}

Result<Bytes> unpack(const ZipMember& member, std::string_view origin, std::string& storage) {
  if (member.encrypted)
    return error(fmt::format("{}: encrypted; unpack it with its password first", origin));
  if (member.method != kStored && member.method != kDeflated) {
    return error(fmt::format("{}: packed by zip method {}, which is not read here; unpack it first",
                             origin, member.method));
  }
  Bytes content = member.data;
  if (member.method == kDeflated) {
    if (member.size > (member.data.size() + 64) * kDeflateRatio) {
      return error(fmt::format("{}: claims {} bytes out of {}, more than deflate can pack", origin,
                               member.size, member.data.size()));
    }
    storage.resize(member.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      return error(fmt::format("{}: no memory to unpack it", origin));
    // zlib counts in 32 bits, members in 64.
    size_t taken = 0, given = 0;
    int state = Z_OK;
    while (state == Z_OK) {
      constexpr size_t kStep = size_t{1} << 30;
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.data.data())) + taken;
      stream.avail_in = static_cast<uInt>(std::min(kStep, member.data.size() - taken));
      stream.next_out = reinterpret_cast<Bytef*>(storage.data()) + given;
      stream.avail_out = static_cast<uInt>(std::min(kStep, storage.size() - given));
      uInt in = stream.avail_in, out = stream.avail_out;
      state = inflate(&stream, Z_NO_FLUSH);
      taken += in - stream.avail_in;
      given += out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (state != Z_STREAM_END || given != storage.size()) {
      return error(fmt::format("{}: damaged: it does not unpack to the {} bytes it claims", origin,
                               member.size));
    }
    content = storage;
  }
  uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (content.size() != member.size || sum != member.checksum) {
    return error(fmt::format("{}: damaged: its checksum is not the archive's", origin));
  }
  return content;
}

}  // namespace namesake::archive
