// Static libraries: the members of an `ar` archive, GNU or BSD.
#pragma once

#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::archive {

struct ArMember {
  std::string_view name;
  Bytes data;
};

bool looks_like_ar(Bytes file);

// The members in order, symbol tables left out. Views into the file.
Result<std::vector<ArMember>> read_ar(Bytes file, std::string_view origin);

}  // namespace namesake::archive
