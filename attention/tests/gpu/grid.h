// What the calls of every element type walk alike: varying lengths and layouts. A grid has each(),
// over its types, and add().
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "cases.h"

namespace namesake::attention::test {

// For each dtype, head_dim and mask.
template <typename Function>
void each_case(std::initializer_list<DType> dtypes, std::initializer_list<int64_t> head_dims,
               Function function) {
  for (DType dtype : dtypes) {
    for (int64_t head_dim : head_dims) {
      for (bool causal : {false, true}) {
        Case c;
        c.dtype = dtype;
        c.head_dim = head_dim;
        c.causal = causal;
        function(c);
      }
    }
  }
}

template <typename Grid>
void add_lengths(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    c.group = "varlen";
    c.heads_q = 4;
    const std::pair<std::vector<int32_t>, std::vector<int32_t>> lists[] = {
        {{5}, {9}},
        {{0}, {0}},
        {{0, 0, 0}, {0, 0, 0}},
        {{1, 128, 300, 0, 64}, {1, 128, 300, 0, 64}},
        {{0, 17, 0, 200, 1}, {30, 0, 0, 450, 1}},
        {{129, 40, 257, 3}, {700, 0, 100, 1024}},
        {{64, 64, 64}, {176, 352, 177}},
        {{9, 8, 8, 12, 8, 12}, {9, 8, 8, 12, 8, 12}},
    };
    for (const auto& [q, kv] : lists) {
      for (Lengths lengths : {Lengths::packed, Lengths::padded}) {
        c.lengths = lengths;
        c.lengths_q = q;
        c.lengths_kv = kv;
        c.batch = static_cast<int64_t>(q.size());
        c.seqlen_q = *std::max_element(q.begin(), q.end());
        c.seqlen_kv = *std::max_element(kv.begin(), kv.end());
        grid.add(c);
        // The longest that there may be is not the longest there is.
        c.seqlen_q += 70;
        c.seqlen_kv += 130;
        c.layout = Layout::gaps;
        grid.add(c);
        c.layout = Layout::bshd;
      }
    }
  });
}

// Offsets past 2^31 take memory: only where `large_offsets` says so of a case.
template <typename Grid, typename Predicate>
void add_layouts(Grid& grid, Predicate large_offsets) {
  grid.each({64, 128, 256, 72}, [&](Case c) {
    c.group = "layout";
    c.batch = 3;
    c.heads_q = 4;
    c.heads_kv = 2;
    c.seqlen_q = 150;
    c.seqlen_kv = 210;
    for (Layout layout :
         {Layout::bhsd, Layout::slices, Layout::gaps, Layout::unaligned, Layout::broadcast_heads,
          Layout::broadcast_batch, Layout::broadcast_seq}) {
      c.layout = layout;
      grid.add(c);
    }
  });
  grid.each({64, 128, 256}, [&](Case c) {
    if (!large_offsets(c)) return;
    c.group = "large offsets";
    c.batch = c.heads_q = c.heads_kv = 2;
    c.seqlen_q = 70;
    c.seqlen_kv = 200;
    for (Layout layout : {Layout::huge_batch, Layout::huge_head, Layout::huge_seq}) {
      c.layout = layout;
      grid.add(c);
    }
  });
}

}  // namespace namesake::attention::test
