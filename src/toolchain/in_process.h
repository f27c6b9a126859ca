// The assemblers that live in libraries: NVRTC and nvJitLink, by dlopen and their C interfaces.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "util/error.h"

namespace namesake::toolchain {

// CUDA C++ to a cubin by libnvrtc, all of it in this process.
Result<std::string> assemble_with_nvrtc(const std::filesystem::path& library, const std::string& source,
                                        std::string_view architecture);

// PTX to a cubin by libnvJitLink, likewise.
Result<std::string> assemble_with_nvjitlink(const std::filesystem::path& library, std::string_view ptx,
                                            std::string_view architecture);

}  // namespace namesake::toolchain
