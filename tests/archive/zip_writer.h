// Zip files made for tests, right or wrong in one named respect.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

namespace namesake::archive {

struct ZipSource {
  std::string name, content;
  bool deflated = true;
  uint64_t claimed = UINT64_MAX;  // the size written down, where it is not the true one
};

inline std::string deflated(std::string_view content) {
  std::string out(content.size() + content.size() / 100 + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string zip_of(const std::vector<ZipSource>& sources) {
  std::string out, directory;
  for (const ZipSource& source : sources) {
    std::string data = source.deflated ? deflated(source.content) : source.content;
    auto sum = static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(source.content.data()), source.content.size()));
    auto size = static_cast<uint32_t>(source.claimed == UINT64_MAX ? source.content.size()
                                                                   : source.claimed);
    auto offset = static_cast<uint32_t>(out.size());
    std::string common;
    put<uint16_t>(common, 20);
    put<uint16_t>(common, 0);
    put<uint16_t>(common, source.deflated ? 8 : 0);
    put<uint32_t>(common, 0);
    put<uint32_t>(common, sum);
    put<uint32_t>(common, static_cast<uint32_t>(data.size()));
    put<uint32_t>(common, size);
    put<uint16_t>(common, static_cast<uint16_t>(source.name.size()));
    put<uint16_t>(common, 0);
    out += "PK\3\4" + common + source.name + data;
    directory += "PK\1\2";
    put<uint16_t>(directory, 20);
    directory += common;
    put<uint16_t>(directory, 0);
    put<uint16_t>(directory, 0);
    put<uint16_t>(directory, 0);
    put<uint32_t>(directory, 0);
    put<uint32_t>(directory, offset);
    directory += source.name;
  }
  auto offset = static_cast<uint32_t>(out.size());
  out += directory + "PK\5\6";
  put<uint32_t>(out, 0);
  put<uint16_t>(out, static_cast<uint16_t>(sources.size()));
  put<uint16_t>(out, static_cast<uint16_t>(sources.size()));
  put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  put<uint32_t>(out, offset);
  put<uint16_t>(out, 0);
  return out;
}

}  // namespace namesake::archive
