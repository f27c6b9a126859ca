// The fp8 calls. What the other types go through, and what is fp8's own: types of output, scales,
// transposed values, promotion, long contexts. The first three are not multiplied with everything
// else but take turns over the cases, with periods that have no factor in common.
#include <algorithm>
#include <cmath>

#include "grid.h"

namespace namesake::attention::test {
namespace {

struct Grid {
  std::vector<Case> cases;
  int turn = 0;

  // As it is: bf16 output and no scales unless the case says so.
  void add_plain(Case c) { cases.push_back(std::move(c)); }

  void add(Case c) {
    constexpr DType kOutputs[] = {DType::bf16, DType::e4m3, DType::fp16, DType::e5m2};
    c.o_dtype = kOutputs[turn % 4];
    c.scales = static_cast<Scales>(turn % 3);
    c.v_transposed = turn % 5 < 2 && c.lengths != Lengths::packed;  // packed rows begin anywhere
    turn++;
    cases.push_back(std::move(c));
  }

  template <typename Function>
  void each(std::initializer_list<int64_t> head_dims, Function function) {
    each_case({DType::e4m3, DType::e5m2}, head_dims, function);
  }
};

void add_shapes(Grid& grid) {
  int first = 0;
  grid.each({64, 128, 256}, [&](Case c) {
    c.group = "tail";
    c.heads_kv = 1;
    for (int64_t s = 1 + first++ % 5; s < 300; s += 5) {
      c.seqlen_q = c.seqlen_kv = s;
      grid.add(c);
    }
    c.group = "long";
    c.heads_kv = 2;
    for (int64_t s : {300, 1000, 2048, 4097}) {
      c.seqlen_q = c.seqlen_kv = s;
      grid.add_plain(c);
    }
    c.group = "unequal";
    const std::pair<int64_t, int64_t> pairs[] = {{1, 2},     {1, 97},     {1, 300},   {300, 1},
                                                 {17, 129},  {129, 17},   {64, 1000}, {1000, 64},
                                                 {128, 704}, {704, 128},  {255, 257}, {257, 255},
                                                 {1, 4097},  {4097, 100}, {100, 4097}};
    for (auto [q, kv] : pairs) {
      c.seqlen_q = q;
      c.seqlen_kv = kv;
      grid.add(c);
    }
    c.group = "groups";
    c.seqlen_q = c.seqlen_kv = 333;
    c.batch = 2;
    const std::pair<int64_t, int64_t> heads[] = {{1, 1}, {4, 4}, {6, 2}, {8, 1}, {64, 8}};
    for (auto [q, kv] : heads) {
      c.heads_q = q;
      c.heads_kv = kv;
      c.seqlen_q = 333;
      grid.add_plain(c);
      c.seqlen_q = 200;
      grid.add(c);
    }
    // More tiles than any GPU holds at once, so that persistent blocks take several.
    c.group = "many tiles";
    c.batch = 3;
    c.heads_q = c.heads_kv = 48;
    c.seqlen_q = c.seqlen_kv = 321;
    grid.add(c);
    c.group = "no lse";
    c.batch = 2;
    c.heads_q = c.heads_kv = 3;
    c.lse = false;
    grid.add(c);
    c.group = "scale";
    c.lse = true;
    c.scale = 0.3f;
    grid.add(c);
    c.scale = 0;
    c.group = "o past the largest number";
    c.o_dtype = c.causal ? DType::e4m3 : DType::e5m2;
    c.o_scale = c.causal ? 1000 : 2e5f;
    grid.add_plain(c);
    c.group = "o without a scale";
    c.seqlen_q = c.seqlen_kv = 90;
    c.o_scale = 0;
    grid.add_plain(c);
  });

  grid.each({64, 128, 256}, [&](Case c) {
    if (c.dtype == DType::e5m2) return;
    c.group = "orders";
    c.batch = 3;
    c.heads_q = c.heads_kv = 44;
    for (int64_t s : {576, 768}) {
      c.seqlen_q = c.seqlen_kv = s;
      grid.add(c);
    }
  });

  for (int64_t head_dim = 8; head_dim <= 256; head_dim += 8) {
    for (Layout layout : {Layout::bshd, Layout::gaps}) {
      Case c;
      c.group = "head_dim";
      c.dtype = head_dim % 32 < 16 ? DType::e4m3 : DType::e5m2;
      c.head_dim = head_dim;
      c.causal = layout == Layout::gaps;
      c.layout = layout;
      c.seqlen_q = 133;
      c.seqlen_kv = 277;
      grid.add(c);
    }
  }
}

void add_values(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    const float inf = INFINITY, nan = NAN;
    const bool has_infinity = c.dtype == DType::e5m2;
    c.batch = 2;
    c.seqlen_q = 190;
    c.seqlen_kv = 310;

    Case x = c;
    x.group = "scores of 100";
    x.q.sigma = x.k.sigma = 5;
    grid.add(x);

    // Every product and sum has few bits: nothing is lost in them.
    x = c;
    x.group = "scores near -120";
    x.q = {.sigma = 0, .mean = 1};
    x.k = {.sigma = 4, .mean = -120};
    x.scale = 1.0f / static_cast<float>(c.head_dim);
    x.scores_are_exact = true;
    grid.add(x);
    x.group = "scores of -7168";
    x.q.mean = 16;
    x.k = {.sigma = 0, .mean = -448};
    grid.add(x);

    x = c;
    x.group = "all keys equal";
    x.k.same_rows = true;
    grid.add(x);

    x = c;
    x.group = "values with a mean";
    x.v.mean = 1;
    grid.add(x);

    x = c;
    x.group = "outliers";
    x.q.outliers = x.k.outliers = x.v.outliers = 1000;
    grid.add(x);

    if (has_infinity) {
      // Promoted after each block too: a sum is scaled by the maximum of its time, which is none.
      for (int64_t promote_keys : {0, 1}) {
        x = c;
        x.promote_keys = promote_keys;
        x.group = "all scores -inf";
        x.pokes = {{Which::q, 0, INT32_MAX, 1, 3, 1.0f}, {Which::k, 0, INT32_MAX, 1, 3, -inf}};
        grid.add(x);
        x.group = "scores -inf in the last keys";
        x.pokes[1].first = 100;
        grid.add(x);
        x.group = "scores -inf in the first keys";
        x.pokes[1].first = 0;
        x.pokes[1].end = 290;
        grid.add(x);
      }
      x = c;
      x.group = "inf in q rows";
      x.pokes = {{Which::q, 5, INT32_MAX, 37, 7, inf}};
      grid.add(x);
    }
    x = c;
    x.group = "nan in q rows";
    x.pokes = {{Which::q, 5, INT32_MAX, 37, 7, nan}};
    grid.add(x);
    // A kernel may look at whole tiles of keys, none of which is longer than this.
    constexpr int32_t kLongestTile = 256;
    for (Which which : {Which::k, Which::v}) {
      x.group = which == Which::k ? "nan in a k row" : "nan in a v row";
      x.pokes = {{which, 290, 291, 1, 2, nan}};
      x.nan_allowed_from = 290 - kLongestTile;
      grid.add(x);
    }
  });
}

void add_splits(Grid& grid) {
  grid.each({64, 80, 128, 256}, [&](Case c) {
    c.group = "split";
    c.heads_q = 4;
    c.heads_kv = 2;
    const std::pair<int64_t, int64_t> shapes[] = {{1, 1},     {1, 300},   {1, 4097}, {5, 1000},
                                                  {64, 2048}, {200, 333}, {300, 40}, {130, 130}};
    for (auto [q, kv] : shapes) {
      c.seqlen_q = q;
      c.seqlen_kv = kv;
      for (int64_t splits : {int64_t{2}, int64_t{7}, int64_t{128}, kFillDevice}) {
        c.key_splits = splits;
        grid.add(c);
      }
    }
    c.key_splits = 3;
    c.seqlen_q = 150;
    c.seqlen_kv = 410;
    c.batch = 2;
    for (Layout layout : {Layout::bhsd, Layout::slices, Layout::gaps, Layout::broadcast_heads}) {
      c.layout = layout;
      grid.add(c);
    }
    c.layout = Layout::bshd;
    c.lse = false;
    grid.add(c);
    c.lse = true;
    Case x = c;
    x.group = "split, nan in q rows";
    x.pokes = {{Which::q, 5, INT32_MAX, 37, 7, NAN}};
    grid.add(x);
    if (c.dtype == DType::e5m2) {
      x.group = "split, scores -inf in the first keys";
      x.pokes = {{Which::q, 0, INT32_MAX, 1, 3, 1.0f}, {Which::k, 0, 290, 1, 3, -INFINITY}};
      grid.add(x);
    }
    c.group = "split, varlen";
    c.lengths_q = {0, 17, 5, 200, 1};
    c.lengths_kv = {30, 0, 900, 450, 1};
    c.batch = 5;
    c.seqlen_q = 230;
    c.seqlen_kv = 1000;
    c.promote_keys = 200;
    for (Lengths lengths : {Lengths::packed, Lengths::padded}) {
      for (int64_t splits : {int64_t{2}, kFillDevice}) {
        c.lengths = lengths;
        c.key_splits = splits;
        grid.add(c);
      }
    }
  });

  grid.each({64, 80, 128, 256}, [&](Case c) {
    c.group = "decoding";
    c.batch = 3;
    c.seqlen_q = 1;
    c.seqlen_kv = 777;
    const std::pair<int64_t, int64_t> heads[] = {{2, 1}, {12, 4}, {40, 8}, {256, 1}};
    for (auto [q, kv] : heads) {
      c.heads_q = q;
      c.heads_kv = kv;
      for (int64_t splits : {int64_t{0}, int64_t{5}, kFillDevice}) {
        c.key_splits = splits;
        grid.add(c);
      }
    }
  });
}

// So many query rows to a head of V that it is turned ahead, or would be.
void add_ahead(Grid& grid) {
  grid.each({136, 192, 200, 256}, [&](Case c) {
    c.group = "turned ahead";
    c.batch = 2;
    c.heads_q = 48;
    c.heads_kv = 2;
    c.seqlen_q = 517;
    for (int64_t keys : {1, 31, 128, 801}) {
      c.seqlen_kv = keys;
      grid.add(c);
    }
    c.promote_keys = 256;
    for (Layout layout : {Layout::bhsd, Layout::slices, Layout::gaps, Layout::broadcast_heads,
                          Layout::broadcast_batch}) {
      c.layout = layout;
      grid.add_plain(c);
    }
    c.layout = Layout::bshd;
    c.spare_workspace = true;
    grid.add_plain(c);
    c.spare_workspace = false;
    c.group = "turned ahead, varlen";
    c.lengths_q = {517, 64, 1, 300, 0};
    c.lengths_kv = {801, 128, 700, 129, 50};
    c.batch = 5;
    for (Lengths lengths : {Lengths::packed, Lengths::padded}) {
      c.lengths = lengths;
      grid.add_plain(c);
    }
  });
}

// What the tensor cores' short sums do to many keys.
void add_promotion(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    c.group = "promotion";
    c.batch = 2;
    c.heads_q = 4;
    const std::pair<int64_t, int64_t> shapes[] = {{1000, 1000}, {70, 2500}, {333, 640}};
    for (auto [q, kv] : shapes) {
      c.seqlen_q = q;
      c.seqlen_kv = kv;
      // Five, so that each meets every type of output.
      for (int64_t keys : {int64_t{1}, int64_t{256}, int64_t{600}, kNeverPromote, int64_t{900}}) {
        c.promote_keys = keys;
        c.v.mean = keys == 256 ? 1.0f : 0.0f;
        grid.add(c);
      }
    }
    // Sequences on both sides of the number, and more tiles than blocks of threads.
    c.group = "promotion, varlen";
    c.v.mean = 0;
    c.promote_keys = 320;
    c.lengths = Lengths::packed;
    c.heads_q = c.heads_kv = 40;
    c.lengths_q = {300, 0, 129, 1, 200};
    c.lengths_kv = {1030, 40, 0, 600, 200};
    c.batch = 5;
    c.seqlen_q = 300;
    c.seqlen_kv = 1030;
    grid.add(c);
    c.promote_keys = 384;
    grid.add_plain(c);

    if (c.causal) return;
    c = Case{};
    c.dtype = grid.cases.back().dtype;
    c.head_dim = grid.cases.back().head_dim;
    c.seqlen_q = 64;
    for (int64_t keys : {4096, 16384, 65536, 131072}) {
      if (c.dtype == DType::e5m2 && keys != 131072) continue;
      c.seqlen_kv = keys;
      c.group = "long context";
      c.v.mean = 0;
      grid.add_plain(c);
      c.group = "long context, transposed v in parts";
      c.v_transposed = true;
      c.key_splits = 8;
      grid.add_plain(c);
      c.v_transposed = false;
      c.key_splits = 0;
      c.group = "long context, values with a mean";
      c.v.mean = 1;
      grid.add_plain(c);
      c.group = "long context, outliers";
      c.v.mean = 0;
      c.q.outliers = c.k.outliers = c.v.outliers = 1000;
      grid.add_plain(c);
      c.q.outliers = c.k.outliers = c.v.outliers = 0;
    }
    if (c.dtype == DType::e5m2) return;
    c.group = "never promoted";
    c.promote_keys = kNeverPromote;
    c.seqlen_kv = 8192;
    grid.add_plain(c);
  });
}

void add_bugs(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    if (c.dtype == DType::e5m2) return;
    Case x = c;
    if (c.causal) {
      x.group = "more queries than keys, causal";
      x.seqlen_q = 113;
      x.seqlen_kv = 50;
      grid.add(x);
      x.group = "whole tiles without a key";
      x.seqlen_q = 600;
      x.seqlen_kv = 130;
      grid.add(x);
    }
    x = c;
    x.group = "a large batch of single tokens";
    x.heads_q = x.heads_kv = 16;
    x.seqlen_q = x.seqlen_kv = 1;
    x.batch = 8300;
    grid.add(x);

    // For tools that run a thousand times slower, like those of the other types.
    x = c;
    x.group = "sanitizer";
    x.batch = 2;
    x.heads_q = 132;
    x.heads_kv = 66;
    x.seqlen_q = c.causal ? 384 : 300;
    x.seqlen_kv = 530;
    x.promote_keys = 256;
    grid.add(x);
    x.heads_q = x.heads_kv = 10;
    x.lengths = Lengths::packed;
    x.lengths_q = {300, 0, 129, 1, 200};
    x.lengths_kv = {530, 40, 0, 600, 200};
    x.batch = 5;
    x.seqlen_kv = 600;
    x.key_splits = 3;
    grid.add(x);
    x.key_splits = 0;
    x.heads_q = 20;
    x.heads_kv = 2;
    grid.add_plain(x);
  });
}

}  // namespace

std::vector<Case> fp8_cases() {
  Grid grid;
  add_shapes(grid);
  add_lengths(grid);
  add_layouts(grid, [](const Case& c) { return c.dtype != DType::e5m2 && !c.causal; });
  add_values(grid);
  add_splits(grid);
  add_ahead(grid);
  add_promotion(grid);
  add_bugs(grid);
  return std::move(grid.cases);
}

}  // namespace namesake::attention::test
