// Fatbins made for tests, right or wrong in one named respect.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <string>
#include <string_view>
#include <vector>

#include "cubin/fatbin.h"

namespace namesake::cubin {

struct EntrySource {
  std::string content;
  Content kind = Content::cubin;
  Packing packing = Packing::none;
  uint32_t architecture = 90;
  uint64_t flags = 0;  // 0x100000: the "a" targets, 0x200000: the "f" ones
  std::string options;
  uint64_t claimed = UINT64_MAX;  // the unpacked size written down, where it is not the true one
};

inline std::string packed(std::string_view content, Packing packing) {
  if (packing == Packing::none) return std::string(content);
  std::string out(packing == Packing::lz4
                      ? static_cast<size_t>(LZ4_compressBound(static_cast<int>(content.size())))
                      : ZSTD_compressBound(content.size()),
                  '\0');
  if (packing == Packing::lz4) {
    out.resize(static_cast<size_t>(LZ4_compress_default(content.data(), out.data(),
                                                        static_cast<int>(content.size()),
                                                        static_cast<int>(out.size()))));
  } else {
    out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 3));
  }
  return out;
}

inline std::string fatbin_of(const std::vector<EntrySource>& sources) {
  std::string body;
  auto put = [](std::string& out, auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const EntrySource& source : sources) {
    std::string data = packed(source.content, source.packing);
    bool is_packed = source.packing != Packing::none;
    auto packed_bytes = static_cast<uint32_t>(is_packed ? data.size() : 0);
    data.resize((data.size() + 7) / 8 * 8);
    std::string options = source.options;
    if (!options.empty()) options.resize(options.size() / 8 * 8 + 8);
    auto header = static_cast<uint32_t>(64 + (options.empty() ? 0 : 8 + options.size()));
    uint16_t kind = source.kind == Content::cubin ? 2
                    : source.kind == Content::ptx ? 1
                    : source.kind == Content::ir  ? 8
                                                  : 99;
    put(body, kind);
    put(body, uint16_t{0x101});
    put(body, header);
    put(body, static_cast<uint64_t>(data.size()));
    put(body, packed_bytes);
    put(body, uint32_t{options.empty() ? 0u : 64u});
    put(body, uint16_t{8});
    put(body, uint16_t{1});
    put(body, source.architecture);
    put(body, uint64_t{0});
    put(body, source.flags | 0x11 |
                  (source.packing == Packing::zstd  ? 0x8000u
                   : source.packing == Packing::lz4 ? 0x2000u
                                                    : 0u));
    put(body, uint64_t{0});
    put(body, source.claimed != UINT64_MAX ? source.claimed
              : is_packed                  ? uint64_t{source.content.size()}
                                           : uint64_t{0});
    if (!options.empty()) {
      put(body, uint32_t{72});
      put(body, static_cast<uint32_t>(options.size()));
      body += options;
    }
    body += data;
  }
  std::string out(kFatbinMagic);
  put(out, static_cast<uint64_t>(body.size()));
  return out + body;
}

}  // namespace namesake::cubin
