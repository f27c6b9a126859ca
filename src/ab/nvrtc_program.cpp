#include "ab/nvrtc_program.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "util/file.h"
#include "util/text.h"

namespace namesake::ab {
namespace {

using Program = void*;

struct Nvrtc {
  void* library = nullptr;
  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    return function != nullptr;
  }
};

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  for (const std::string& each : texts) result.push_back(each.c_str());
  return result;
}

}  // namespace

Result<NvrtcCode> compile(const NvrtcProgram& given) {
  Nvrtc nvrtc{::dlopen(given.library.c_str(), RTLD_NOW)};
  if (!nvrtc.library) return error(fmt::format("cannot open {}: {}", given.library, ::dlerror()));
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*add)(Program, const char*);
  int (*compile)(Program, int, const char* const*);
  int (*size_of)(Program, size_t*);
  int (*get)(Program, char*);
  if (!nvrtc.find(create, "nvrtcCreateProgram") || !nvrtc.find(add, "nvrtcAddNameExpression") ||
      !nvrtc.find(compile, "nvrtcCompileProgram"))
    return error(given.library + " is no NVRTC");
  std::vector<const char*> headers = pointers(given.headers), names = pointers(given.header_names),
                           options = pointers(given.options);
  Program program = nullptr;
  int code =
      create(&program, given.source.c_str(), given.name.empty() ? nullptr : given.name.c_str(),
             static_cast<int>(headers.size()), headers.data(), names.data());
  for (const std::string& expression : given.expressions)
    if (code == 0) code = add(program, expression.c_str());
  if (code == 0) code = compile(program, static_cast<int>(options.size()), options.data());
  if (code != 0) return error(fmt::format("NVRTC says {}", code));

  auto take = [&](const char* what) {
    std::string text;
    size_t size = 0;
    if (nvrtc.find(size_of, fmt::format("nvrtcGet{}Size", what).c_str()) &&
        nvrtc.find(get, fmt::format("nvrtcGet{}", what).c_str()) && size_of(program, &size) == 0 &&
        size > 1) {
      text.resize(size);
      if (get(program, text.data()) != 0) text.clear();
    }
    return text;
  };
  NvrtcCode result{take("CUBIN"), take("PTX")};
  while (!result.ptx.empty() && result.ptx.back() == '\0') result.ptx.pop_back();
  if (result.cubin.empty()) return error("NVRTC made no machine code of it: its target is virtual");
  return result;
}

Status compile_request(const std::string& request_file, const std::string& output) {
  TRY_ASSIGN(std::string file, read_file(request_file));
  TRY_ASSIGN(Request request, parse_request(file));
  if (request.kind != Request::Kind::nvrtc)
    return error(request_file + " holds no program for NVRTC");
  TRY_ASSIGN(NvrtcCode code, compile(request.nvrtc));
  TRY(write_file(output + ".ptx", code.ptx));
  return write_file(output, code.cubin);
}

}  // namespace namesake::ab
