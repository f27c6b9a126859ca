#include <cmath>
#include <initializer_list>

#include "../combine.h"
#include "launch.h"
#include "params.h"
#include "schedule.h"

namespace namesake::attention::sm90 {
namespace {

// K and V of this many bytes stay in L2 while all tiles of their heads pass, with room for the
// rest.
constexpr int64_t kSectionBytes = int64_t{32} << 20;

// V turned ahead: for so many query rows that share it; and of each head so many blocks before
// anything else begins, for an idle warp takes as long to turn one as a tile to use them.
constexpr int64_t kLeastRowsAhead = 1024, kLeastMaskedRowsAhead = 2048;
constexpr int kTurnedAtOnce = 16;

constexpr int64_t kTmaStrideLimit = int64_t{1} << 40;
constexpr int64_t kLengthLimit = int64_t{1} << 30;
constexpr int64_t kTileLimit = int64_t{1} << 30;

bool lengths_vary(const Problem& p) {
  return p.cu_seqlens_q || p.cu_seqlens_kv || p.seqused_q || p.seqused_kv;
}

// Rows, heads and batch entries that a tensor's coordinates run over.
struct Extent {
  int64_t rows, heads, batch;
};

Extent q_extent(const Problem& p) {
  if (p.cu_seqlens_q) return {p.total_q, p.heads_q, 1};
  return {p.seqlen_q, p.heads_q, p.batch};
}

Extent kv_extent(const Problem& p) {
  if (p.cu_seqlens_kv) return {p.total_kv, p.heads_kv, 1};
  return {p.seqlen_kv, p.heads_kv, p.batch};
}

// A broadcast dimension is one entry that every coordinate maps to.
TensorMap tensor_map(const char* name, const Tensor& t, DType dtype, int64_t columns, Extent e,
                     int box_columns, int box_rows) {
  TensorMap map;
  map.tensor = name;
  map.address = t.data;
  map.dtype = dtype;
  const int64_t bytes = bytes_of(dtype);
  auto set = [&](int dimension, int64_t size, int64_t stride) {
    bool single = size <= 1 || stride == 0;
    map.size[dimension] = single ? 1 : size;
    // The stride of a single entry is never used, but must pass for one.
    map.stride_bytes[dimension - 1] = single ? (columns * bytes + 15) / 16 * 16 : stride * bytes;
  };
  map.size[0] = columns > 0 ? columns : 1;
  set(1, e.rows, t.stride_seq);
  set(2, e.heads, t.stride_head);
  set(3, e.batch, t.stride_batch);
  map.box[0] = box_columns;
  map.box[1] = box_rows;
  map.box[2] = map.box[3] = 1;
  map.swizzle = box_columns * static_cast<int>(bytes);
  return map;
}

// Of V, an fp8 call's may lie transposed: its rows are columns of head_dim.
TensorMap v_map(const TileConfig& tile, const Problem& p) {
  const Extent e = kv_extent(p);
  if (!p.v_transposed)
    return tensor_map("v", p.v, p.dtype, p.head_dim, e, tile.block_columns(), tile.keys);
  return tensor_map("v", p.v, p.dtype, e.rows, {p.head_dim, e.heads, e.batch},
                    transposed_box(tile.keys), tile.head_dim);
}

}  // namespace

bool supports(const Problem& p, const DeviceInfo& device, std::string* why) {
  auto no = [&](std::string reason) {
    if (why) *why = std::move(reason);
    return false;
  };
  if (device.major != 9 || device.minor != 0) {
    return no("the Hopper kernel needs compute capability 9.0, this device has " +
              std::to_string(device.major) + "." + std::to_string(device.minor));
  }
  if (device.max_smem_per_block < kSharedLimit) {
    return no("the Hopper kernel needs " + std::to_string(kSharedLimit) +
              " bytes of shared memory per block, this device gives " +
              std::to_string(device.max_smem_per_block));
  }
  if (p.head_dim < 8 || p.head_dim > 256 || p.head_dim % 8 != 0) {
    return no("the Hopper kernel takes head_dim as a multiple of 8 up to 256, not " +
              std::to_string(p.head_dim));
  }
  if (!(p.softmax_scale > 0) || !std::isfinite(p.softmax_scale)) {
    return no("the Hopper kernel takes a positive, finite softmax scale");
  }
  if (p.seqlen_q > kLengthLimit || p.seqlen_kv > kLengthLimit) {
    return no("the Hopper kernel takes sequences of up to 2^30 rows");
  }
  const int64_t splits = max_of(p.key_splits, 1);
  if (int64_t{p.batch} * p.heads_q * (int64_t{p.seqlen_q} / kGroupRows + 1) >=
          kTileLimit / splits ||
      (splits > 1 && !combine_fits(p))) {
    return no("the Hopper kernel takes up to 2^30 tiles: batch x heads x rows is too large");
  }
  if (p.v_transposed && p.cu_seqlens_kv) {
    return no(
        "the Hopper kernel takes a transposed v with one length or padded ones, not packed: its "
        "copies begin at a multiple of 16 keys, and packed sequences anywhere");
  }
  if (p.batch == 0 || p.seqlen_q == 0) return true;  // nothing to read or write
  struct Named {
    const char* name;
    const Tensor& tensor;
    Extent extent;
    bool output = false;
  };
  for (const Named& n :
       {Named{"q", p.q, q_extent(p)}, Named{"k", p.k, kv_extent(p)},
        Named{"v", p.v,
              p.v_transposed ? Extent{p.head_dim, p.heads_kv, kv_extent(p).batch} : kv_extent(p)},
        Named{"o", p.o, q_extent(p), true}}) {
    const int64_t bytes = bytes_of(n.output ? p.o_dtype : p.dtype);
    if (reinterpret_cast<uintptr_t>(n.tensor.data) % 16 != 0) {
      return no(std::string(n.name) +
                " is not aligned to 16 bytes, as the Hopper kernel's copies need");
    }
    struct Dimension {
      const char* name;
      int64_t size, stride;
      bool may_broadcast;
    };
    for (const Dimension& d :
         {Dimension{"sequence", n.extent.rows, n.tensor.stride_seq, false},
          Dimension{"head", n.extent.heads, n.tensor.stride_head, !n.output},
          Dimension{"batch", n.extent.batch, n.tensor.stride_batch, !n.output}}) {
      if (d.size <= 1 || (d.stride == 0 && d.may_broadcast)) continue;
      if (d.stride <= 0 || d.stride * bytes % 16 != 0 || d.stride * bytes >= kTmaStrideLimit) {
        return no(
            std::string(n.name) + "'s " + d.name + " stride of " + std::to_string(d.stride) +
            " elements is none that the Hopper kernel's copies take: a positive multiple of " +
            std::to_string(16 / bytes) + " below 2^" + (bytes == 1 ? "40" : "39"));
      }
    }
  }
  return true;
}

namespace {

// Tiles of one head, of all sequences, each with as many parts.
int64_t row_tiles_of(const TileConfig& tile, const Problem& p) {
  const int64_t padded = int64_t{ceil_div(p.seqlen_q, tile.rows())} * p.batch;
  const int64_t packed = p.total_q / tile.rows() + p.batch;
  return p.cu_seqlens_q && packed < padded ? packed : padded;
}

int splits_of(const TileConfig& tile, const Problem& p, const DeviceInfo& device) {
  if (p.key_splits != 0) return p.key_splits;
  return splits_to_fill(row_tiles_of(tile, p) * p.heads_q, device.sm_count,
                        ceil_div(p.seqlen_kv, tile.keys));
}

}  // namespace

Plan plan_with(const TileConfig& tile, const Problem& p, const DeviceInfo& device) {
  Plan plan;
  plan.problem = p;
  plan.tile = tile;
  plan.lengths_vary = lengths_vary(p);
  const int columns = tile.block_columns();
  plan.q = tensor_map("q", p.q, p.dtype, p.head_dim, q_extent(p), columns, kGroupRows);
  plan.k = tensor_map("k", p.k, p.dtype, p.head_dim, kv_extent(p), columns, tile.keys);
  plan.v = v_map(tile, p);
  plan.o = tensor_map("o", p.o, p.o_dtype, p.head_dim, q_extent(p), kBlockColumns, kWarpRows);
  const int splits = plan.problem.key_splits = splits_of(tile, p, device);
  plan.row_tiles = ceil_div(p.seqlen_q, tile.rows()) * splits;
  const int64_t tiles = row_tiles_of(tile, p) * p.heads_q * splits;
  plan.grid = static_cast<int>(tiles < device.sm_count ? tiles : device.sm_count);

  // Heads are counted over the whole batch where all sequences have one length.
  int heads = plan.lengths_vary ? p.heads_q : p.batch * p.heads_q;
  int group = p.heads_kv > 0 ? p.heads_q / p.heads_kv : 1;
  int64_t kv_bytes = int64_t{p.seqlen_kv} * p.head_dim * 2 * bytes_of(p.dtype);
  plan.order = order_for(tiles, p.batch * p.heads_q, p.seqlen_q, tile.rows(), plan.grid, p.causal,
                         plan.lengths_vary, splits);
  const int waves = plan.order == Order::counted && p.causal ? 2 : 1;
  plan.section_heads = heads > 0 ? section_heads(heads, group, plan.row_tiles, plan.grid, waves,
                                                 kv_bytes, kSectionBytes)
                                 : 1;
  if (tile.ahead) {
    // V is turned head by head: tiles that run at the same time should want few of them.
    plan.section_heads =
        min_of(plan.section_heads, busy_heads(group, plan.row_tiles, plan.grid, waves));
    // Unmasked tiles that run at the same time use their heads' blocks side by side; of masked ones
    // each begins elsewhere, and the first want all of their heads.
    plan.turned_first = 2 * plan.grid;
    if (!p.causal) {
      plan.turned_group = max_of(plan.section_heads / group, 1);
      const int first = plan.turned_group * kTurnedAtOnce;
      plan.turned_first =
          min_of(first < plan.grid ? first : first / plan.grid * plan.grid, 2 * plan.grid);
    }
  }
  // Each section ends in its cut tiles, and where sections are as long as the grid is wide,
  // striding gives all of those to the same few blocks.
  if (plan.order == Order::strided && !p.causal && plan.section_heads < heads &&
      p.seqlen_q % tile.rows() != 0)
    plan.order = Order::counted;
  return plan;
}

// Turning V ahead pays once a few tiles share it (results/attention-tuning-fp8.json). Up to a
// head_dim of 128 the kernel has shared memory's bandwidth to spare and turns V for nothing.
bool turns_ahead(const TileConfig& tile, const Problem& p) {
  const int64_t rows = int64_t{p.seqlen_q} * p.heads_q / max_of(p.heads_kv, 1);
  return is_fp8(p.dtype) && tile.head_dim > 128 && !p.v_transposed && !p.spare_workspace &&
         p.key_splits == 1 && rows >= (p.causal ? kLeastMaskedRowsAhead : kLeastRowsAhead) &&
         turning_fits(p, tile.keys);
}

Plan plan(const Problem& p, const DeviceInfo& device) {
  const TileConfig tile = tile_for(p.dtype, p.head_dim, p.causal);
  Problem resolved = p;
  resolved.key_splits = splits_of(tile, p, device);
  const bool ahead = turns_ahead(tile, resolved);
  return plan_with(tile_for(p.dtype, p.head_dim, p.causal, ahead), resolved, device);
}

// The counter lies first: partials that overlap nothing of it are as aligned as the workspace.
size_t counter_bytes(const Plan& plan) {
  return plan.order == Order::counted ? sizeof(TileCounter) : 0;
}

size_t workspace_bytes(const Plan& plan) {
  return counter_bytes(plan) + sums_bytes(plan) + turned_bytes(plan) + partials_bytes(plan.problem);
}

int promote_blocks(const Plan& plan) {
  const Problem& p = plan.problem;
  if (!is_fp8(p.dtype) || p.promote_keys == 0) return 0;
  // Only the blocks of a sequence decide whether it comes to that, so that it has the same bits in
  // any company.
  const int blocks = max_of(p.promote_keys / plan.tile.keys, 1);
  return ceil_div(p.seqlen_kv, plan.tile.keys) > blocks ? blocks : 0;
}

size_t sums_bytes(const Plan& plan) {
  if (promote_blocks(plan) == 0 || plan.tile.has_area()) return 0;
  return static_cast<size_t>(plan.grid) * plan.tile.area_bytes();
}

size_t turned_bytes(const Plan& plan) {
  return plan.tile.ahead ? turned_bytes(plan.problem, plan.tile.keys, plan.tile.head_dim) : 0;
}

std::string describe(const Plan& plan) {
  const TileConfig& t = plan.tile;
  const Problem& p = plan.problem;
  std::string s;
  auto add = [&](const char* name, int64_t value) {
    s += ' ';
    s += name;
    s += '=' + std::to_string(value);
  };
  s += std::string("kernel sm90::forward ") + name(t.dtype);
  add("head_dim", t.head_dim);
  add("causal", t.causal);
  add("groups", t.groups);
  add("keys", t.keys);
  add("stages", t.stages);
  add("q_units", t.q_units);
  add("turns", t.turns);
  add("rescale_early", t.rescale_early);
  add("store_by_copy", t.store_by_copy);
  if (t.is_fp8()) {
    add("v_stages", t.v_stages);
    add("raw_stages", t.raw_stages);
    add("turning_warps", t.turning_warps);
    add("ahead", t.ahead);
    if (t.ahead) add("turned_first", plan.turned_first), add("turned_group", plan.turned_group);
  }
  s += "; launch";
  add("grid", plan.grid);
  add("block", t.threads());
  add("cluster", 1);
  add("shared", t.shared_bytes());
  s += "; parameters";
  add("batch", p.batch);
  add("seqlen_q", p.seqlen_q);
  add("seqlen_kv", p.seqlen_kv);
  add("heads_q", p.heads_q);
  add("heads_kv", p.heads_kv);
  add("head_dim", p.head_dim);
  add("total_q", p.total_q);
  add("total_kv", p.total_kv);
  add("o_stride_batch", p.o.stride_batch);
  add("o_stride_seq", p.o.stride_seq);
  add("o_stride_head", p.o.stride_head);
  add("lse", p.lse != nullptr);
  add("lse_stride_batch", p.lse_stride_batch);
  add("lse_stride_head", p.lse_stride_head);
  add("cu_seqlens_q", p.cu_seqlens_q != nullptr);
  add("cu_seqlens_kv", p.cu_seqlens_kv != nullptr);
  add("seqused_q", p.seqused_q != nullptr);
  add("seqused_kv", p.seqused_kv != nullptr);
  uint32_t scale_bits;
  static_assert(sizeof(scale_bits) == sizeof(p.softmax_scale));
  __builtin_memcpy(&scale_bits, &p.softmax_scale, sizeof(scale_bits));
  add("softmax_scale_bits", scale_bits);
  add("key_splits", p.key_splits);
  if (t.is_fp8()) {
    s += std::string(" o_dtype=") + name(p.o_dtype);
    add("v_transposed", p.v_transposed);
    add("promote_blocks", promote_blocks(plan));
    const std::pair<const char*, const Scale&> scales[] = {{"q_descale", p.q_descale},
                                                           {"k_descale", p.k_descale},
                                                           {"v_descale", p.v_descale},
                                                           {"o_scale", p.o_scale}};
    for (const auto& [what, scale] : scales) {
      add(what, scale.data != nullptr);
      s += ',' + std::to_string(scale.stride_batch) + ',' + std::to_string(scale.stride_head);
    }
  }
  add("row_tiles", plan.row_tiles);
  add("section_heads", plan.section_heads);
  add("order", static_cast<int>(plan.order));
  for (const TensorMap* m : {&plan.q, &plan.k, &plan.v, &plan.o}) {
    s += std::string("; tensor map ") + m->tensor + ' ' + name(m->dtype);
    add("swizzle", m->swizzle);
    for (int i = 0; i < 4; ++i) {
      s += (i ? "," : " size=") + std::to_string(m->size[i]);
    }
    for (int i = 0; i < 3; ++i) {
      s += (i ? "," : " stride_bytes=") + std::to_string(m->stride_bytes[i]);
    }
    for (int i = 0; i < 4; ++i) {
      s += (i ? "," : " box=") + std::to_string(m->box[i]);
    }
  }
  return s;
}

}  // namespace namesake::attention::sm90
