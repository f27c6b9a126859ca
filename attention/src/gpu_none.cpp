#include "gpu.h"

namespace namesake::attention {
namespace {

Status no_gpu() {
  return {Code::unsupported,
          "this build of namesake-attention has no GPU kernels: build it with nvcc 13.0"};
}

}  // namespace

Status place_of(const void*, const char*, Place& place) {
  place = Place::host;
  return {};
}

Status current_device(DeviceInfo&) {
  return no_gpu();
}

Status require_device(int) {
  return no_gpu();
}

Status choose_kernel(const Problem&, const DeviceInfo&, Kernel, Choice&) {
  return no_gpu();
}

}  // namespace namesake::attention
