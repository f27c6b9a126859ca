// What an application gave to NVRTC, compiled again in a process of its own.
#pragma once

#include <string>

#include "ab/requests.h"
#include "util/error.h"

namespace namesake::ab {

struct NvrtcCode {
  std::string cubin;
  std::string ptx;  // "" where the library keeps it to itself
};

// By the program's own library, in this process: whoever wants to be safe from a crash starts
// another.
Result<NvrtcCode> compile(const NvrtcProgram& program);

// What `namesake assemble-in-process nvrtc-program` does: a request's file in; OUTPUT and
// OUTPUT.ptx out.
Status compile_request(const std::string& request_file, const std::string& output);

}  // namespace namesake::ab
