#include "census/compress.h"

#include <zstd.h>

namespace namesake::census {
namespace {

constexpr int kLevel = 3;
constexpr unsigned long long kMost = 256ull << 20;

}  // namespace

std::string compressed(std::string_view bytes) {
  std::string result(ZSTD_compressBound(bytes.size()), '\0');
  size_t size = ZSTD_compress(result.data(), result.size(), bytes.data(), bytes.size(), kLevel);
  result.resize(ZSTD_isError(size) ? 0 : size);
  return result;
}

Result<std::string> decompressed(std::string_view bytes) {
  unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size > kMost) return error("a compressed value in the ledger is damaged");
  std::string result(size, '\0');
  size_t done = ZSTD_decompress(result.data(), result.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(done) || done != size) {
    return error("a compressed value in the ledger is damaged");
  }
  return result;
}

}  // namespace namesake::census
