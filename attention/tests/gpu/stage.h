// One case set up in GPU memory: guards around every buffer, everything that is not a valid element
// poisoned with bytes of 0xff (NaN in every type), inputs filled.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.h"
#include "plan.h"

namespace namesake::attention::test {

// A suite may give up on the spot: what is left of a broken context is worth nothing.
void check(cudaError_t error, const char* what);
void check(const Status& status, const char* what);

// One allocation for the whole run, handed out from the front and reset between cases.
class Arena {
 public:
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  struct Block {
    char* data = nullptr;  // guarded by kGuard bytes on both sides
    size_t bytes = 0;
    char* begin() const { return data - kGuard; }
    size_t whole() const { return bytes + 2 * kGuard; }
  };
  Block take(size_t bytes);  // rounded up to 256
  template <typename T>
  T* take(size_t count) {
    return reinterpret_cast<T*>(take(count * sizeof(T)).data);
  }
  void reset() { used_ = 0; }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kGuard = 4096;
  char* memory_ = nullptr;
  size_t bytes_ = 0, used_ = 0;
};

size_t bytes_needed(const Case& c);

class Stage {
 public:
  Stage(Arena& arena, const Case& c, cudaStream_t stream);

  Forward call;
  Problem problem;
  Arena::Block o, lse;

  void poison_outputs(cudaStream_t stream) const;
  Arena::Block poisoned_workspace(size_t bytes, cudaStream_t stream) const;
  void add_checksum_of_inputs(unsigned long long* sum, cudaStream_t stream) const;
  void add_checksum_of_outputs(unsigned long long* sum, cudaStream_t stream) const;
  // Bytes outside the valid outputs, and around the workspace, that are no longer poison. Erases
  // the outputs.
  void count_touched_outside(const Arena::Block& workspace, unsigned long long* count,
                             cudaStream_t stream) const;

 private:
  Arena& arena_;
  Arena::Block q_, k_, v_, lengths_q_, lengths_kv_;
  std::vector<Arena::Block> scales_;
};

}  // namespace namesake::attention::test
