// The driver's own assembler: PTX in, a cubin out, without running it.
#pragma once

#include <string>

#include "gpu/driver.h"

namespace namesake::gpu {

// As cuModuleLoadData would assemble it for the context's device.
Result<std::string> assemble_by_driver(const Context& context, const std::string& ptx);

}  // namespace namesake::gpu
