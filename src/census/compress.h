// Bytes made small for the ledger, by zstd.
#pragma once

#include <string>
#include <string_view>

#include "util/error.h"

namespace namesake::census {

std::string compressed(std::string_view bytes);
Result<std::string> decompressed(std::string_view bytes);  // at most 256 MB

}  // namespace namesake::census
