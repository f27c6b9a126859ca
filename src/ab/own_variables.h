// Module-wide variables that a kernel touches: two builds loaded beside each other have one each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/ptx.h"

namespace namesake::ab {

// Names of .global and .const variables that the kernel's body, or any function's of the module,
// mentions; without the texts that the compiler puts there for printf and assert.
std::vector<std::string> own_variables(const ptx::Module& module, std::string_view symbol);

}  // namespace namesake::ab
