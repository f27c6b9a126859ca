// What the live library and the witness ask of the tool (live/protocol.h has the layout).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::ab {

// Texts one behind the other, each with its length before it; lists of them, with their count.
class TextWriter {
 public:
  void text(std::string_view text);
  void list(const std::vector<std::string>& texts);
  const std::string& content() const { return content_; }

 private:
  std::string content_;
};
std::string_view take_text(Cursor& cursor);
std::vector<std::string> take_list(Cursor& cursor);

// What the library calls a function in answers and records (live/folder.c computes the same).
uint64_t symbol_hash(std::string_view symbol);

// An image as the application gave it to the driver.
struct ImageRequest {
  uint64_t hash = 0;
  int major = 0, minor = 0;     // of the device
  bool driver_options = false;  // that change what the driver makes of PTX
  Bytes bytes;
};

// What an application gave to NVRTC.
struct NvrtcProgram {
  std::string library, source, name;
  std::vector<std::string> headers, header_names, options, expressions;
};

// An assembler that was run as a program.
struct ProgramRun {
  std::string file, folder;
  std::vector<std::string> arguments;  // without the program's own name and its input
  std::string text;                    // of its input
};

struct Request {
  enum class Kind { image, nvrtc, program } kind = Kind::image;
  ImageRequest image;
  NvrtcProgram nvrtc;
  ProgramRun program;
};

// Views into `file` remain in an image's request.
Result<Request> parse_request(Bytes file);

std::string encode_request(const NvrtcProgram& program);
std::string encode_request(const ProgramRun& run);

}  // namespace namesake::ab
