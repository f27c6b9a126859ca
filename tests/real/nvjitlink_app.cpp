// An application that links PTX at run time, by several threads at once.
//     nvjitlink_app LIBNVJITLINK PTX ARCHITECTURE… [--threads N]
// The same as nvrtc_app, for nvJitLink: prints thread, architecture, bytes and a hash of each
// cubin.
#include "run_threads.h"

namespace {

// The library exports each function under a name that ends in its version; the header would choose
// it.
constexpr const char* kVersions[] = {"13_5", "13_4", "13_3", "13_2",
                                     "13_1", "13_0", "12_9", "12_8"};
constexpr int kInputPtx = 2;

struct JitLink {
  using Handle = void*;
  int (*create)(Handle*, uint32_t, const char**);
  int (*add)(Handle, int, const void*, size_t, const char*);
  int (*complete)(Handle);
  int (*cubin_size)(Handle, size_t*);
  int (*cubin)(Handle, void*);
  int (*destroy)(Handle*);
};

template <typename Function>
void find(void* library, const std::string& name, Function& function) {
  void* found = dlsym(library, name.c_str());
  for (const char* version : kVersions)
    if (!found) found = dlsym(library, ("__" + name + "_" + version).c_str());
  if (!found) fail("the library has no " + name + " of a version known here");
  function = reinterpret_cast<Function>(found);
}

JitLink open(const char* path) {
  void* library = open_library(path);
  JitLink link;
  find(library, "nvJitLinkCreate", link.create);
  find(library, "nvJitLinkAddData", link.add);
  find(library, "nvJitLinkComplete", link.complete);
  find(library, "nvJitLinkGetLinkedCubinSize", link.cubin_size);
  find(library, "nvJitLinkGetLinkedCubin", link.cubin);
  find(library, "nvJitLinkDestroy", link.destroy);
  return link;
}

std::string assemble(const JitLink& link, const std::string& ptx, const std::string& architecture) {
  JitLink::Handle handle;
  const std::string option = "-arch=" + architecture;
  const char* options[] = {option.c_str()};
  size_t size = 0;
  // The size of PTX counts its final zero.
  if (link.create(&handle, 1, options) ||
      link.add(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "in.ptx") || link.complete(handle) ||
      link.cubin_size(handle, &size))
    fail("cannot link for " + architecture);
  std::string cubin(size, 0);
  link.cubin(handle, cubin.data());
  link.destroy(&handle);
  return cubin;
}

}  // namespace

int main(int count, char** arguments) {
  return run_threads(count, arguments, [](const char* library) {
    return [link = open(library)](const std::string& ptx, const std::string& architecture) {
      return assemble(link, ptx, architecture);
    };
  });
}
