// cuDNN's attention, called the way its users do: through the cudnn-frontend headers, the library
// by dlopen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cells.h"
#include "util/error.h"

struct CUstream_st;

namespace namesake::bench {

// Of an fp8 cell, what cuDNN takes in device memory: factors of its tensors, and where it leaves
// the largest probability and output. Probabilities are at most 1 and outputs here at most 6 or so:
// both are multiplied into e4m3's range, whose largest number is 448, which treats cuDNN best.
struct CudnnScalars {
  float one = 1;
  float p_scale = 256, p_descale = 1.0f / 256;
  float o_scale = 64;
  float p_largest = 0, o_largest = 0;
};

struct CudnnTensors {
  void *q = nullptr, *k = nullptr, *v = nullptr,
       *o = nullptr;        // [batch][length][heads][head_dim], dense; o of an fp8 cell is fp8
  void* scalars = nullptr;  // CudnnScalars in device memory, for an fp8 cell
};

// The library, opened once. Not opened: why, in a sentence.
class Cudnn {
 public:
  static Result<Cudnn> open();
  const std::string& version() const { return version_; }

  // One execution plan that the heuristics proposed.
  struct Plan {
    std::string name;
    size_t workspace_bytes = 0;
  };

  // Forward attention of one cell with every plan that builds.
  class Attention {
   public:
    const std::vector<Plan>& plans() const;
    Status run(size_t plan, const CudnnTensors& tensors, void* workspace,
               CUstream_st* stream) const;
    struct Private;

   private:
    friend class Cudnn;
    std::shared_ptr<Private> private_;
  };
  Result<Attention> attention(const Cell& cell, float scale) const;

  struct Private;

 private:
  std::shared_ptr<Private> private_;
  std::string version_;
};

}  // namespace namesake::bench
