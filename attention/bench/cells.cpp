#include "cells.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

namespace namesake::bench {

using attention::DType;

std::string Cell::name() const {
  std::string text = fmt::format("{}-d{}-{}-n{}", attention::name(dtype), head_dim,
                                 causal ? "causal" : "full", length);
  if (heads_kv != heads_q) text += fmt::format("-h{}x{}", heads_q, heads_kv);
  if (batch != 4) text += fmt::format("-b{}", batch);
  if (v_transposed) text += "-vt";
  return text;
}

double Cell::flops() const {
  const auto scores = static_cast<double>(length) * static_cast<double>(length);
  return 4 * scores * static_cast<double>(batch * heads_q * head_dim) * (causal ? 0.5 : 1);
}

std::vector<Cell> field_table() {
  std::vector<Cell> cells;
  // Short contexts first, so that an interrupted run has something of everything.
  for (int64_t length = 512; length <= 65536; length *= 2) {
    for (const DType dtype : {DType::bf16, DType::fp16}) {
      for (const int64_t head_dim : {64, 128, 256}) {
        const int64_t heads = head_dim == 256 ? 16 : 32;
        for (const bool causal : {false, true})
          cells.push_back({dtype, 4, heads, heads, length, head_dim, causal});
      }
    }
    for (const bool v_transposed : {false, true}) {
      if (length < 1024) break;
      for (const int64_t head_dim : {64, 128, 256}) {
        const int64_t heads = head_dim == 256 ? 16 : 32;
        for (const bool causal : {false, true})
          cells.push_back({DType::e4m3, 4, heads, heads, length, head_dim, causal, v_transposed});
      }
    }
    if (length < 2048 || length > 32768) continue;
    for (const bool causal : {false, true})
      cells.push_back({DType::bf16, 1, 64, 8, length, 128, causal});
  }
  return cells;
}

std::vector<Cell> sustained_cells() {
  std::vector<Cell> cells;
  for (const int64_t head_dim : {64, 128, 256}) {
    const int64_t heads = head_dim == 256 ? 16 : 32;
    for (const bool causal : {false, true}) {
      for (const int64_t length : {2048, 16384})
        cells.push_back({DType::bf16, 4, heads, heads, length, head_dim, causal});
      cells.push_back({DType::e4m3, 4, heads, heads, 16384, head_dim, causal});
    }
  }
  return cells;
}

std::vector<Cell> story_cells() {
  std::vector<Cell> cells;
  for (int64_t length = 1024; length <= 65536; length *= 2) {
    const int64_t batch = std::min<int64_t>(4, 65536 / length);
    for (const int64_t head_dim : {64, 128})
      for (const bool causal : {false, true})
        for (const DType dtype : {DType::fp16, DType::e4m3})
          cells.push_back({dtype, batch, 32, 32, length, head_dim, causal});
  }
  return cells;
}

std::vector<Cell> matching(const std::vector<Cell>& cells, const std::string& glob) {
  std::vector<Cell> found;
  for (const Cell& cell : cells)
    if (fnmatch(glob.c_str(), cell.name().c_str(), 0) == 0) found.push_back(cell);
  return found;
}

}  // namespace namesake::bench
