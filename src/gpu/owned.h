// One owner for every kind of driver handle: moved, never copied, released through the driver's
// table.
#pragma once

#include <utility>

#include "gpu/driver_api.h"

namespace namesake::gpu {

// Release is the member of Driver that gives the handle back. The driver must outlive its handles.
template <class Raw, auto Release>
class Owned {
 public:
  Owned() = default;
  Owned(const Driver& driver, Raw raw) : driver_(&driver), raw_(raw) {}
  Owned(Owned&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)), raw_(std::exchange(other.raw_, Raw{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Owned() {
    if (driver_) (driver_->*Release)(raw_);
  }

  Raw get() const { return raw_; }
  const Driver& driver() const { return *driver_; }
  explicit operator bool() const { return driver_ != nullptr; }

 private:
  const Driver* driver_ = nullptr;
  Raw raw_{};
};

}  // namespace namesake::gpu
