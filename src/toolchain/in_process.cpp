// No header of these libraries is needed: the few functions used have had the same signatures in all
// releases. nvJitLink's plain names exist in all of them too, beside the versioned ones. A crash of
// the library is a crash of the caller, so callers run this in a child.
#include "toolchain/in_process.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <vector>

namespace namesake::toolchain {
namespace {

class Library {
 public:
  static Result<Library> open(const std::filesystem::path& path) {
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return error(fmt::format("cannot load {}: {}", path.string(), ::dlerror()));
    return Library(handle, path.filename().string());
  }

  template <class F>
  Result<F*> find(const char* name) const {
    void* address = ::dlsym(handle_, name);
    if (!address) return error(fmt::format("{} has no {}; another release is needed", name_, name));
    return reinterpret_cast<F*>(address);
  }

 private:
  Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* handle_;      // stays loaded: these libraries do not survive being unloaded with threads
  std::string name_;
};

}  // namespace

Result<std::string> assemble_with_nvrtc(const std::filesystem::path& path, const std::string& source,
                                        std::string_view architecture) {
  TRY_ASSIGN(Library library, Library::open(path));
  TRY_ASSIGN(auto* create, (library.find<int(void**, const char*, const char*, int, const char* const*, const char* const*)>("nvrtcCreateProgram")));
  TRY_ASSIGN(auto* compile, (library.find<int(void*, int, const char* const*)>("nvrtcCompileProgram")));
  TRY_ASSIGN(auto* cubin_size, (library.find<int(void*, size_t*)>("nvrtcGetCUBINSize")));
  TRY_ASSIGN(auto* cubin, (library.find<int(void*, char*)>("nvrtcGetCUBIN")));
  TRY_ASSIGN(auto* log_size, (library.find<int(void*, size_t*)>("nvrtcGetProgramLogSize")));
  TRY_ASSIGN(auto* log, (library.find<int(void*, char*)>("nvrtcGetProgramLog")));
  TRY_ASSIGN(auto* destroy, library.find<int(void**)>("nvrtcDestroyProgram"));

  void* program = nullptr;
  if (create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
    return error(fmt::format("{}: nvrtcCreateProgram failed", path.filename().string()));
  }
  std::string option = fmt::format("--gpu-architecture={}", architecture);
  const char* options[] = {option.c_str()};
  int status = compile(program, 1, options);
  std::string result;
  size_t size = 0;
  if (status != 0) {
    log_size(program, &size);
    result.resize(size);
    if (size) log(program, result.data());
    destroy(&program);
    return error(fmt::format("{}: nvrtcCompileProgram failed ({}): {}", path.filename().string(), status, result.c_str()));
  }
  cubin_size(program, &size);
  result.resize(size);
  int got = size ? cubin(program, result.data()) : 1;
  destroy(&program);
  if (got != 0) return error(fmt::format("{} gave no cubin for {}", path.filename().string(), architecture));
  return result;
}

Result<std::string> assemble_with_nvjitlink(const std::filesystem::path& path, std::string_view ptx,
                                            std::string_view architecture) {
  constexpr int kPtx = 2;   // nvJitLinkInputType
  TRY_ASSIGN(Library library, Library::open(path));
  TRY_ASSIGN(auto* create, (library.find<int(void**, uint32_t, const char**)>("nvJitLinkCreate")));
  TRY_ASSIGN(auto* add, (library.find<int(void*, int, const void*, size_t, const char*)>("nvJitLinkAddData")));
  TRY_ASSIGN(auto* complete, library.find<int(void*)>("nvJitLinkComplete"));
  TRY_ASSIGN(auto* size_of, (library.find<int(void*, size_t*)>("nvJitLinkGetLinkedCubinSize")));
  TRY_ASSIGN(auto* take, (library.find<int(void*, void*)>("nvJitLinkGetLinkedCubin")));
  TRY_ASSIGN(auto* log_size, (library.find<int(void*, size_t*)>("nvJitLinkGetErrorLogSize")));
  TRY_ASSIGN(auto* log, (library.find<int(void*, char*)>("nvJitLinkGetErrorLog")));
  TRY_ASSIGN(auto* destroy, library.find<int(void**)>("nvJitLinkDestroy"));

  std::string option = fmt::format("-arch={}", architecture);
  const char* options[] = {option.c_str()};
  void* handle = nullptr;
  if (int status = create(&handle, 1, options)) {
    return error(fmt::format("{}: nvJitLinkCreate failed ({}) for {}", path.filename().string(), status, architecture));
  }
  std::string text(ptx);    // the library wants the terminating zero counted
  int status = add(handle, kPtx, text.c_str(), text.size() + 1, "kernel.ptx");
  if (status == 0) status = complete(handle);
  std::string result;
  size_t size = 0;
  if (status != 0) {
    if (log_size(handle, &size) == 0 && size) {
      result.resize(size);
      log(handle, result.data());
    }
    destroy(&handle);
    return error(fmt::format("{}: linking failed ({}): {}", path.filename().string(), status, result.c_str()));
  }
  size_of(handle, &size);
  result.resize(size);
  int got = size ? take(handle, result.data()) : 1;
  destroy(&handle);
  if (got != 0) return error(fmt::format("{} gave no cubin for {}", path.filename().string(), architecture));
  return result;
}

}  // namespace namesake::toolchain
