#include "gpu/jit.h"

#include <array>

namespace namesake::gpu {
namespace {

constexpr int kPtx = 1;  // CUjitInputType

struct Linker {
  const Driver& driver;
  CUlinkState_st* state = nullptr;
  ~Linker() {
    if (state) driver.link_destroy(state);
  }
};

}  // namespace

Result<std::string> assemble_by_driver(const Context& context, const std::string& ptx) {
  const Driver& driver = context.driver();
  std::array<char, 4096> log{};
  std::array<int, 2> options = {kJitErrorLogBuffer, kJitErrorLogBufferBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  Linker linker{driver};
  TRY(check(driver,
            driver.link_create(options.size(), options.data(), values.data(), &linker.state),
            "starting the driver's assembler"));
  // The length counts the terminating zero.
  const int added = driver.link_add(linker.state, kPtx, const_cast<char*>(ptx.c_str()),
                                    ptx.size() + 1, "module", 0, nullptr, nullptr);
  void* cubin = nullptr;
  size_t size = 0;
  const int code = added != kSuccess ? added : driver.link_complete(linker.state, &cubin, &size);
  const std::string said = log.data();
  TRY(check(driver, code, said.empty() ? "assembling" : "assembling (" + said + ")"));
  // The cubin is the linker's: copied before it goes.
  return std::string(static_cast<const char*>(cubin), size);
}

}  // namespace namesake::gpu
