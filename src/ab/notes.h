// What the maker of builds has to say of each kernel that an application loaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ab/builds.h"
#include "util/error.h"

namespace namesake::ab {

enum class Standing : uint8_t {
  pair,        // two codes, launches alternate
  same_code,   // both builds are one code
  alone,       // there is no other build, or it cannot stand in: `why`
  not_chosen,  // the user's glob leaves it out
};

struct Note {
  uint64_t image = 0;
  std::string symbol;
  Standing standing = Standing::alone;
  std::string why;
  std::string architecture, assembler, assembler_build;  // "sm_90a", "ptxas 12.8.93"
  FunctionFacts a, b;
  bool a_is_loaded = false, b_is_loaded = false;  // the application's own code is this build's
  bool repeatable = false;  // a launch may be made twice: only memory comes of it
  std::string ptx;          // file in the live folder; "" where there is none
};

std::string encode(const std::vector<Note>& notes);
Result<std::vector<Note>> decode_notes(Bytes bytes);

}  // namespace namesake::ab
