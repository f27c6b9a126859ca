#include "cases.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grid.h"

namespace namesake::attention::test {
namespace {

constexpr int64_t kPast31Bits = (int64_t{1} << 31) + 64;

const char* name(Layout layout) {
  constexpr const char* kNames[] = {"bshd",
                                    "bhsd",
                                    "slices",
                                    "gaps",
                                    "unaligned",
                                    "broadcast-heads",
                                    "broadcast-batch",
                                    "broadcast-seq",
                                    "huge-batch",
                                    "huge-head",
                                    "huge-seq"};
  return kNames[static_cast<int>(layout)];
}

std::string joined(const std::vector<int32_t>& lengths) {
  if (lengths.size() > 12)  // uniform in the cases that have so many
    return std::to_string(lengths.size()).append("x").append(std::to_string(lengths[0]));
  std::string text;
  for (int32_t n : lengths) {
    if (!text.empty()) text += ',';
    text += std::to_string(n);
  }
  return text;
}

struct Grid {
  std::vector<Case> cases;

  void add(Case c) { cases.push_back(std::move(c)); }

  // For each dtype, mask and head_dim.
  template <typename Function>
  void each(std::initializer_list<int64_t> head_dims, Function function) {
    each_case({DType::bf16, DType::fp16}, head_dims, function);
  }
};

void add_shapes(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    c.group = "tail";
    c.heads_kv = 1;
    for (int64_t s = 1; s < 300; s += 2) {
      c.seqlen_q = c.seqlen_kv = s;
      grid.add(c);
    }
    c.group = "long";
    c.heads_kv = 2;
    for (int64_t s : {300, 704, 1000, 2048, 4097}) {
      c.seqlen_q = c.seqlen_kv = s;
      grid.add(c);
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
    c.seqlen_q = 200;
    c.seqlen_kv = 333;
    c.batch = 2;
    const std::pair<int64_t, int64_t> heads[] = {{1, 1}, {4, 4},  {4, 2}, {6, 2},
                                                 {8, 1}, {12, 4}, {64, 8}};
    for (auto [q, kv] : heads) {
      c.heads_q = q;
      c.heads_kv = kv;
      grid.add(c);
    }
    // More tiles than any GPU holds at once, so that persistent blocks take several.
    c.group = "many tiles";
    c.batch = 7;
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
  });

  // A persistent kernel may order its tiles by how many there are and by whether they fill its
  // grid.
  grid.each({64, 128, 256}, [&](Case c) {
    if (c.dtype == DType::fp16) return;
    c.group = "orders";
    c.batch = 3;
    c.heads_q = c.heads_kv = 44;
    for (int64_t s : {576, 640, 768, 960}) {
      c.seqlen_q = c.seqlen_kv = s;
      grid.add(c);
    }
    c.batch = 8;
    c.heads_q = 64;
    c.heads_kv = 8;
    c.seqlen_q = c.seqlen_kv = 900;
    grid.add(c);
  });

  std::vector<int64_t> head_dims(32);
  for (int i = 0; i < 32; i++) head_dims[i] = 8 * (i + 1);
  for (DType dtype : {DType::bf16, DType::fp16}) {
    for (int64_t head_dim : head_dims) {
      for (Layout layout : {Layout::bshd, Layout::gaps}) {
        Case c;
        c.group = "head_dim";
        c.dtype = dtype;
        c.head_dim = head_dim;
        c.causal = layout == Layout::gaps;
        c.layout = layout;
        c.seqlen_q = 133;
        c.seqlen_kv = 277;
        grid.add(c);
      }
    }
  }
}

void add_values(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    const float inf = INFINITY, nan = NAN;
    c.batch = 2;
    c.seqlen_q = 190;
    c.seqlen_kv = 310;

    Case x = c;
    x.group = "scores of 1e4";
    x.q.sigma = x.k.sigma = 17;
    x.scale = 1;
    grid.add(x);
    x.group = "scores past 1e5";
    x.q.sigma = x.k.sigma = 60;
    grid.add(x);

    x = c;
    x.group = "scores near -122";
    x.q = {.sigma = 0, .mean = 1};
    x.k = {.sigma = 0.01f, .mean = -122};
    x.scale = 1.0f / static_cast<float>(c.head_dim);
    grid.add(x);
    x.group = "scores of -1e4";
    x.k.mean = -10000;
    grid.add(x);

    x = c;
    x.group = "all keys equal";
    x.k.same_rows = true;
    grid.add(x);

    x = c;
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

    x = c;
    x.group = "nan in q rows";
    x.pokes = {{Which::q, 5, INT32_MAX, 37, 7, nan}};
    grid.add(x);
    x.pokes[0].value = inf;
    x.group = "inf in q rows";
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

// Keys in parts: more parts than blocks of keys, parts that a mask cuts or empties, and everything
// else that goes through the second kernel.
void add_splits(Grid& grid) {
  grid.each({64, 72, 128, 256}, [&](Case c) {
    c.group = "split";
    c.heads_q = 4;
    c.heads_kv = 2;
    const std::pair<int64_t, int64_t> shapes[] = {{1, 1},     {1, 300},   {1, 4097}, {5, 1000},
                                                  {64, 2048}, {200, 333}, {300, 40}, {130, 130}};
    for (auto [q, kv] : shapes) {
      c.seqlen_q = q;
      c.seqlen_kv = kv;
      for (int64_t splits : {int64_t{2}, int64_t{3}, int64_t{7}, int64_t{128}, kFillDevice}) {
        c.key_splits = splits;
        grid.add(c);
      }
    }
    c.key_splits = 3;
    c.seqlen_q = 150;
    c.seqlen_kv = 410;
    c.batch = 2;
    for (Layout layout : {Layout::bhsd, Layout::slices, Layout::gaps, Layout::unaligned,
                          Layout::broadcast_heads, Layout::broadcast_batch}) {
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
    x.group = "split, all scores -inf";
    x.pokes = {{Which::q, 0, INT32_MAX, 1, 3, 1.0f}, {Which::k, 0, INT32_MAX, 1, 3, -INFINITY}};
    grid.add(x);
    x.group = "split, scores -inf in the first keys";
    x.pokes[1].end = 290;
    grid.add(x);
    x.group = "split, scores of 1e4";
    x.pokes.clear();
    x.q.sigma = x.k.sigma = 17;
    x.scale = 1;
    grid.add(x);

    c.group = "split, varlen";
    c.lengths_q = {0, 17, 5, 200, 1};
    c.lengths_kv = {30, 0, 900, 450, 1};
    c.batch = 5;
    c.seqlen_q = 230;
    c.seqlen_kv = 1000;
    for (Lengths lengths : {Lengths::packed, Lengths::padded}) {
      for (int64_t splits : {int64_t{2}, int64_t{5}, kFillDevice}) {
        c.lengths = lengths;
        c.key_splits = splits;
        grid.add(c);
      }
    }
    // More tiles than blocks of threads.
    c.lengths = Lengths::same;
    c.heads_q = c.heads_kv = 48;
    c.seqlen_q = c.seqlen_kv = 321;
    c.key_splits = 2;
    grid.add(c);
  });
}

// One query row a head, where heads that share keys become rows of one.
void add_decoding(Grid& grid) {
  grid.each({64, 72, 128, 256}, [&](Case c) {
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
    c.heads_q = 12;
    c.heads_kv = 4;
    c.key_splits = 0;
    for (Layout layout : {Layout::bhsd, Layout::slices, Layout::gaps, Layout::unaligned,
                          Layout::broadcast_heads, Layout::broadcast_batch}) {
      c.layout = layout;
      grid.add(c);
    }
    c.layout = Layout::bshd;
    c.pokes = {{Which::q, 0, 1, 2, 7, NAN}};
    c.group = "decoding, nan in q rows";
    grid.add(c);
  });
}

// Few and small, for tools that run a thousand times slower: at least three tiles of keys for each
// tile of rows and, where a kernel is persistent, more tiles than blocks.
void add_sanitizer(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    if (c.dtype == DType::fp16) return;
    c.group = "sanitizer";
    c.batch = 2;
    c.heads_q = 132;
    c.heads_kv = 66;
    c.seqlen_q = c.causal ? 384 : 300;
    c.seqlen_kv = 530;
    grid.add(c);
    c.heads_q = c.heads_kv = 60;
    c.lengths = Lengths::packed;
    c.lengths_q = {300, 0, 129, 1, 200};
    c.lengths_kv = {530, 40, 0, 600, 200};
    c.batch = 5;
    c.seqlen_kv = 600;
    grid.add(c);
    c.heads_q = c.heads_kv = 10;
    c.key_splits = 3;
    grid.add(c);
  });
}

// What went wrong in public libraries, as far as a forward pass can show it.
void add_bugs(Grid& grid) {
  grid.each({64, 128, 256}, [&](Case c) {
    if (c.dtype == DType::fp16) return;
    Case x = c;
    if (c.causal) {
      x.group = "flash-attention#1778 more queries than keys, causal";
      x.seqlen_q = 113;
      x.seqlen_kv = 50;
      grid.add(x);
      x.group = "TileOPs#433 onnxruntime#28904 whole tiles without a key";
      x.seqlen_q = 600;
      x.seqlen_kv = 130;
      grid.add(x);
      x.group = "ik_llama.cpp#2344 the first 14 rows without a key";
      x.seqlen_q = 100;
      x.seqlen_kv = 86;
      grid.add(x);
    }
    x = c;
    x.group = "pytorch#196678 S % 128 == 64 and LSE below -88.7";
    x.seqlen_q = x.seqlen_kv = 704;
    x.q = {.sigma = 0.001f, .mean = 1};
    x.k = {.sigma = 0.01f, .mean = -110};
    x.scale = 1.0f / static_cast<float>(c.head_dim);
    grid.add(x);
    x.group = "cudnn-frontend#1072 one query, scores about -122";
    x.k.mean = -122;
    x.seqlen_q = 1;
    for (int64_t keys : {97, 128}) {
      x.seqlen_kv = keys;
      grid.add(x);
    }
    x = c;
    x.group = "flash-attention#1254 sequences of 0, 0 and 1023 queries";
    x.lengths = Lengths::packed;
    x.batch = 3;
    x.lengths_q = {0, 0, 1023};
    x.lengths_kv = {0, 1, 2045};
    x.seqlen_q = 1023;
    x.seqlen_kv = 2045;
    grid.add(x);
    x.group = "flash-attention#1537 at most one query, empty sequences";
    x.lengths_q = {0, 1, 0};
    x.lengths_kv = {3, 3, 0};
    x.seqlen_q = 1;
    x.seqlen_kv = 3;
    grid.add(x);
    x.group = "flash-attention#2842 no key in a sequence: its own LSE";
    x.lengths_q = {30, 20, 150};
    x.lengths_kv = {40, 0, 170};
    x.seqlen_q = 150;
    x.seqlen_kv = 170;
    grid.add(x);
    x.group = "TransformerEngine#2186 short packed sequences";
    x.batch = 6;
    x.lengths_q = x.lengths_kv = {9, 8, 8, 12, 8, 12};
    x.seqlen_q = x.seqlen_kv = 12;
    grid.add(x);
    x = c;
    x.group = "vllm-flash-attention#87 decoding with groups: LSE's layout";
    x.batch = 3;
    x.heads_q = 16;
    x.heads_kv = 2;
    x.seqlen_q = 1;
    x.seqlen_kv = 900;
    grid.add(x);
    x.group = "FlagGems#5235 o has strides of its own";
    x.layout = Layout::slices;
    x.seqlen_q = 65;
    grid.add(x);
  });

  Case c;
  c.dtype = DType::bf16;
  c.group = "pytorch#138529 one query, 65536 keys";
  c.heads_q = c.heads_kv = 16;
  c.seqlen_q = 1;
  c.seqlen_kv = 65536;
  grid.add(c);
  c.group = "flash-attention#767 262144 rows of 6144";
  c.head_dim = 128;
  c.heads_q = c.heads_kv = 48;
  c.seqlen_q = 2;
  c.seqlen_kv = 262144;
  grid.add(c);
  c.group = "flash-attention#2260 flash-attention#1500 a large batch of single tokens";
  c.heads_q = c.heads_kv = 16;
  c.seqlen_q = c.seqlen_kv = 1;
  for (int64_t batch : {8300, 15000, 70000}) {
    c.batch = batch;
    c.causal = !c.causal;
    grid.add(c);
  }
  c = Case{};
  c.group = "flash-attention#2611 pytorch#190857 packed rows past 2^31 elements";
  c.lengths = Lengths::packed;
  c.head_dim = 128;
  c.heads_q = c.heads_kv = 1;
  c.layout = Layout::huge_seq;
  c.batch = 3;
  c.lengths_q = {200, 37, 100};
  c.lengths_kv = {200, 64, 300};
  c.seqlen_q = 200;
  c.seqlen_kv = 300;
  grid.add(c);
}

// V with keys contiguous, in rows whose length copies can step over.
void lay_transposed(const Case& c, int64_t batch, int64_t keys, Layouts& result) {
  const int64_t heads = c.heads_kv, dim = c.head_dim;
  int64_t row = (std::max<int64_t>(keys, 1) + 15) / 16 * 16, gap = 0;
  result.first_v = 0;
  if (c.layout == Layout::gaps) gap = result.first_v = 16;
  if (c.layout == Layout::unaligned) row++, result.first_v = 1;
  Tensor& t = result.v;
  t.stride_seq = row + gap;
  t.stride_head = c.layout == Layout::broadcast_heads ? 0 : dim * t.stride_seq + gap;
  t.stride_batch = (c.layout == Layout::broadcast_heads ? 1 : heads) * (dim * t.stride_seq + gap);
  if (c.layout == Layout::bhsd) {  // of two orders, the other one
    t.stride_head = t.stride_seq;
    t.stride_seq = heads * t.stride_head;
  }
  if (c.layout == Layout::broadcast_batch || batch == 1) t.stride_batch = 0;
  if (c.layout == Layout::huge_batch) t.stride_batch = kPast31Bits;
  if (c.layout == Layout::huge_head) t.stride_head = kPast31Bits;
  if (c.layout == Layout::huge_seq) t.stride_seq = (kPast31Bits / (dim - 1) / 16 + 1) * 16;
  result.elements_v = result.first_v;
  if (batch > 0 && keys > 0)
    result.elements_v += (batch - 1) * t.stride_batch + (dim - 1) * t.stride_seq +
                         (heads - 1) * t.stride_head + keys;
}

}  // namespace

std::string Case::name() const {
  std::string text = group + ": " + attention::name(dtype) + " d" + std::to_string(head_dim) +
                     (causal ? " causal" : " full") + " b" + std::to_string(batch) + " h" +
                     std::to_string(heads_q) + "/" + std::to_string(heads_kv) + " s" +
                     std::to_string(seqlen_q) + "/" + std::to_string(seqlen_kv);
  if (layout != Layout::bshd) text += std::string(" ") + test::name(layout);
  if (lengths != Lengths::same) {
    text += lengths == Lengths::packed ? " packed " : " padded ";
    text += joined(lengths_q) + "/" + joined(lengths_kv);
  }
  if (key_splits != 0) text += " splits " + std::to_string(key_splits);
  if (!is_fp8(dtype)) return text;
  text += std::string(" o ") + attention::name(o_dtype);
  if (scales != Scales::none) text += scales == Scales::per_tensor ? " scaled" : " scaled by head";
  if (v_transposed) text += " v transposed";
  if (promote_keys == kNeverPromote) text += " never promoted";
  if (spare_workspace) text += " spare workspace";
  if (promote_keys > 0) text += " promoted " + std::to_string(promote_keys);
  return text;
}

uint32_t Case::seed() const {
  uint32_t hash = 2166136261u;
  for (unsigned char c : name()) hash = (hash ^ c) * 16777619u;
  return hash;
}

bool Case::for_peers() const {
  if (is_fp8(dtype)) {
    return dtype == DType::e4m3 && o_dtype == DType::bf16 && scales == Scales::none &&
           !v_transposed && key_splits == 0 &&
           (group == "long" || group == "groups" || group.starts_with("long context"));
  }
  // cuDNN through torch builds an engine for each shape, a quarter of a second each, and aligns
  // causal masks at the top left.
  return (group == "long" || group == "groups" || group == "many tiles" ||
          (group == "tail" && seqlen_q % 64 == 1)) &&
         (!causal || seqlen_q == seqlen_kv);
}

std::vector<Case> all_cases() {
  Grid grid;
  add_shapes(grid);
  add_lengths(grid);
  add_layouts(grid, [](const Case& c) { return c.dtype != DType::fp16 || !c.causal; });
  add_values(grid);
  add_bugs(grid);
  add_splits(grid);
  add_decoding(grid);
  add_sanitizer(grid);
  for (Case& c : fp8_cases()) grid.add(std::move(c));
  for (Case& c : grid.cases) {
    c.q.seed = c.seed() * 4;
    c.k.seed = c.seed() * 4 + 1;
    c.v.seed = c.seed() * 4 + 2;
  }
  return std::move(grid.cases);
}

Layouts layouts_of(const Case& c) {
  Layouts result;
  const bool packed = c.lengths == Lengths::packed;
  const int64_t aligned = 16 / bytes_of(c.dtype);  // elements of the 16 bytes that copies ask for
  const auto rounded_up = [&](int64_t n) { return (n + aligned - 1) / aligned * aligned; };
  if (packed) {
    result.total_q = std::accumulate(c.lengths_q.begin(), c.lengths_q.end(), int64_t{0});
    result.total_kv = std::accumulate(c.lengths_kv.begin(), c.lengths_kv.end(), int64_t{0});
  }
  const auto lay = [&](int64_t rows, int64_t heads, bool key, Tensor& t, int64_t& first,
                       int64_t& elements) {
    const int64_t batch = packed ? 1 : c.batch, dim = c.head_dim;
    first = 0;
    t = {nullptr, rows * heads * dim, heads * dim, dim};
    switch (c.layout) {
      case Layout::bshd:
        break;
      case Layout::bhsd:
        t = {nullptr, heads * rows * dim, dim, rows * dim};
        break;
      case Layout::slices:
        first = heads * dim;
        t = {nullptr, rows * 3 * heads * dim, 3 * heads * dim, dim};
        break;
      case Layout::gaps:
        first = aligned;
        t.stride_head = rounded_up(dim) + aligned;
        t.stride_seq = heads * t.stride_head + 2 * aligned;
        t.stride_batch = rows * t.stride_seq + 3 * aligned;
        break;
      case Layout::unaligned:
        first = 1;
        t.stride_head = dim + 1;
        t.stride_seq = heads * t.stride_head + 2;
        t.stride_batch = rows * t.stride_seq + 3;
        break;
      case Layout::broadcast_heads:
        if (key) t = {nullptr, rows * dim, dim, 0};
        break;
      case Layout::broadcast_batch:
        if (key) t.stride_batch = 0;
        break;
      case Layout::broadcast_seq:
        if (key) t = {nullptr, heads * dim, 0, dim};
        break;
      case Layout::huge_batch:
        t.stride_batch = kPast31Bits;
        break;
      case Layout::huge_head:
        t = {nullptr, rows * dim, dim, kPast31Bits};
        break;
      case Layout::huge_seq:
        t.stride_seq = (kPast31Bits / (rows - 1) / aligned + 1) * aligned;
        t.stride_batch = heads * dim;
        break;
    }
    if (packed) t.stride_batch = 0;
    elements = first;
    if (batch > 0 && rows > 0)
      elements += (batch - 1) * t.stride_batch + (rows - 1) * t.stride_seq +
                  (heads - 1) * t.stride_head + dim;
  };
  const int64_t rows_q = packed ? result.total_q : c.seqlen_q,
                rows_kv = packed ? result.total_kv : c.seqlen_kv;
  lay(rows_q, c.heads_q, false, result.q, result.first_q, result.elements_q);
  result.o = result.q;
  lay(rows_kv, c.heads_kv, true, result.k, result.first_kv, result.elements_kv);
  result.v = result.k;
  result.first_v = result.first_kv;
  result.elements_v = result.elements_kv;
  if (c.v_transposed) lay_transposed(c, packed ? 1 : c.batch, rows_kv, result);
  return result;
}

Forward forward_of(const Case& c, const Layouts& layouts) {
  // Addresses of nothing, far apart and aligned: for a plan without a GPU.
  const auto somewhere = [](uintptr_t i) { return reinterpret_cast<void*>(i << 40); };
  const auto at = [](void* base, int64_t first, DType dtype) {
    return static_cast<char*>(base) + first * bytes_of(dtype);
  };
  Forward f;
  f.dtype = c.dtype;
  f.batch = c.batch;
  f.seqlen_q = c.seqlen_q;
  f.seqlen_kv = c.seqlen_kv;
  f.heads_q = c.heads_q;
  f.heads_kv = c.heads_kv;
  f.head_dim = c.head_dim;
  f.q = layouts.q;
  f.k = layouts.k;
  f.v = layouts.v;
  f.o = layouts.o;
  f.q.data = at(somewhere(1), layouts.first_q, c.dtype);
  f.k.data = at(somewhere(2), layouts.first_kv, c.dtype);
  f.v.data = at(somewhere(3), layouts.first_v, c.dtype);
  f.o.data = at(somewhere(4), layouts.first_q, c.output_dtype());
  if (c.lse) f.lse = static_cast<float*>(somewhere(5));
  f.causal = c.causal;
  f.softmax_scale = c.scale;
  f.key_splits = c.key_splits;
  f.total_q = layouts.total_q;
  f.total_kv = layouts.total_kv;
  auto* lengths_q = static_cast<const int32_t*>(somewhere(6));
  auto* lengths_kv = static_cast<const int32_t*>(somewhere(7));
  if (c.lengths == Lengths::packed) {
    f.cu_seqlens_q = lengths_q;
    f.cu_seqlens_kv = lengths_kv;
  } else if (c.lengths == Lengths::padded) {
    f.seqused_q = lengths_q;
    f.seqused_kv = lengths_kv;
  }
  if (!is_fp8(c.dtype)) return f;
  f.o_dtype = c.o_dtype;
  f.v_transposed = c.v_transposed;
  f.promote_keys = c.promote_keys;
  f.spare_workspace = c.spare_workspace;
  const auto scale = [&](uintptr_t i, int64_t heads, bool by_head) {
    const auto* data = static_cast<const float*>(somewhere(i));
    // Neither order is the densest there is.
    return by_head ? Scale{data, 2 * heads + 1, 2} : Scale{data, 0, 0};
  };
  const bool by_head = c.scales == Scales::per_head;
  if (c.scales != Scales::none) {
    f.q_descale = scale(8, c.heads_q, by_head);
    f.k_descale = scale(9, c.heads_kv, by_head);
    f.v_descale = scale(10, c.heads_kv, by_head);
  }
  if (is_fp8(c.o_dtype) && c.o_scale > 0) f.o_scale = scale(11, c.heads_q, by_head);
  return f;
}

}  // namespace namesake::attention::test
