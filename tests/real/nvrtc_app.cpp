// An application that compiles CUDA C++ at run time, by several threads at once.
//     nvrtc_app LIBNVRTC SOURCE ARCHITECTURE… [--threads N]
// Each of N threads (4) compiles SOURCE in turn for every ARCHITECTURE (sm_80 …), and a line for
// each is printed at the end: thread, architecture, bytes and a hash of the cubin. Whatever the
// threads' order, one architecture must have one hash.
#include "run_threads.h"

namespace {

struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*destroy)(Program*);
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) fail(dlerror());
}

Nvrtc open(const char* path) {
  void* library = open_library(path);
  Nvrtc nvrtc;
  find(library, "nvrtcCreateProgram", nvrtc.create);
  find(library, "nvrtcCompileProgram", nvrtc.compile);
  find(library, "nvrtcGetCUBINSize", nvrtc.cubin_size);
  find(library, "nvrtcGetCUBIN", nvrtc.cubin);
  find(library, "nvrtcGetProgramLogSize", nvrtc.log_size);
  find(library, "nvrtcGetProgramLog", nvrtc.log);
  find(library, "nvrtcDestroyProgram", nvrtc.destroy);
  return nvrtc;
}

std::string compile(const Nvrtc& nvrtc, const std::string& source,
                    const std::string& architecture) {
  Nvrtc::Program program;
  if (nvrtc.create(&program, source.c_str(), "source.cu", 0, nullptr, nullptr))
    fail("cannot create a program");
  const std::string option = "-arch=" + architecture;
  const char* options[] = {option.c_str()};
  size_t size = 0;
  if (nvrtc.compile(program, 1, options)) {
    nvrtc.log_size(program, &size);
    std::string log(size, 0);
    nvrtc.log(program, log.data());
    fail(log);
  }
  nvrtc.cubin_size(program, &size);
  std::string cubin(size, 0);
  nvrtc.cubin(program, cubin.data());
  nvrtc.destroy(&program);
  return cubin;
}

}  // namespace

int main(int count, char** arguments) {
  return run_threads(count, arguments, [](const char* library) {
    return [nvrtc = open(library)](const std::string& source, const std::string& architecture) {
      return compile(nvrtc, source, architecture);
    };
  });
}
