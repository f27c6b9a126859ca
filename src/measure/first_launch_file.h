// A launch file to begin with, from what a kernel's PTX says of its parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/ptx.h"
#include "util/error.h"

namespace namesake::measure {

struct Parameter {
  std::string type;  // "u64", "f32", "b8"
  std::string name;
  int64_t bytes = 0;  // of an array, else of the type
  bool array = false;
};

// The parameters of an entry. An error where their list is no list of .param declarations.
Result<std::vector<Parameter>> parameters_of(const ptx::Module& module, const ptx::Function& entry);

// For the one entry that the glob matches. 64-bit parameters are taken for buffers, arrays of 128
// bytes for tensor maps, the rest for numbers; what only the author knows is marked with a comment.
Result<std::string> first_launch_file(const ptx::Module& module, std::string_view kernel_glob);

}  // namespace namesake::measure
