// The sides of a comparison on one cell: the same inputs, an output each, and how to enqueue one
// call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cells.h"
#include "cudnn_peer.h"
#include "data.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace namesake::bench {

struct Side {
  std::string name;    // "namesake", "cuDNN"
  std::string kernel;  // which of its kernels or plans
  std::function<Status(CUstream_st*)> enqueue;
  const void* output = nullptr;
  Format format = Format::bf16;  // of the output,
  float output_scale = 1;        // which holds so many times the result
};

// Inputs, outputs and workspaces of one cell; the sides point into it.
class Setting {
 public:
  static Result<Setting> make(const gpu::Context& context, const gpu::Stream& stream,
                              const Cell& cell);

  const Cell& cell() const { return cell_; }
  float scale() const;
  // Ours, by the public interface; an error if the library refuses the cell.
  Result<Side> ours(const gpu::Context& context, attention::Kernel kernel);
  // What ours() asks for; the output may lie elsewhere.
  attention::Forward forward(void* output) const;
  Format output_format() const;  // of ours
  size_t output_bytes() const;   // of any side's, at most
  // One for each plan of cuDNN that runs; they share an output.
  Result<std::vector<Side>> cudnn(const gpu::Context& context, const gpu::Stream& stream,
                                  const Cudnn& library);

  // The worst of all heads' ‖o − exact‖₂ / ‖exact‖₂ over a sample of rows, after one call into a
  // poisoned output.
  Result<double> error_of(const gpu::Context& context, const gpu::Stream& stream, const Side& side);

 private:
  Cell cell_;
  gpu::Buffer q_, k_, v_, our_output_, cudnn_output_, our_workspace_, cudnn_workspace_,
      cudnn_scalars_;
};

// A graph of so many calls. The side must have been called once before: the first call loads code,
// which no graph records.
Result<gpu::Graph> record_calls(const gpu::Stream& stream, const Side& side, int64_t calls);

}  // namespace namesake::bench
