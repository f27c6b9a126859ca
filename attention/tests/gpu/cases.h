// The shapes the suite walks: each a call with its layout, lengths, inputs and what is allowed of
// the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data.h"
#include "namesake/attention.h"

namespace namesake::attention::test {

enum class Layout : uint8_t {
  bshd,             // dense [batch][seq][head][dim]
  bhsd,             // dense [batch][head][seq][dim]
  slices,           // q, k, v, o each the middle third of wider rows
  gaps,             // each stride somewhat larger than it need be, multiples of 16 bytes
  unaligned,        // odd strides from an odd element on
  broadcast_heads,  // k and v have one head's memory for all, stride 0
  broadcast_batch,  // and one sequence's
  broadcast_seq,    // and one row's: all keys equal
  huge_batch,       // strides that put the last batch, head or row past 2^31 elements
  huge_head,
  huge_seq,
};

enum class Lengths : uint8_t { same, packed, padded };

enum class Scales : uint8_t { none, per_tensor, per_head };

struct Case {
  std::string group;  // what the case is for
  DType dtype = DType::bf16;
  int64_t batch = 1, heads_q = 2, heads_kv = 2, seqlen_q = 0, seqlen_kv = 0, head_dim = 64;
  bool causal = false, lse = true;
  Layout layout = Layout::bshd;
  Lengths lengths = Lengths::same;
  std::vector<int32_t> lengths_q, lengths_kv;
  float scale = 0;
  int64_t key_splits = 0;
  // fp8 alone. An fp8 o is scaled by numbers around o_scale, whatever else is scaled.
  DType o_dtype = DType::bf16;
  Scales scales = Scales::none;
  float o_scale = 16;
  bool v_transposed = false;
  int64_t promote_keys = 0;
  bool spare_workspace = false;
  Fill q, k, v;                   // their seeds are made from the name
  bool scores_are_exact = false;  // whatever their size, the tensor cores lose none of their bits
  std::vector<Poke> pokes;
  int32_t nan_allowed_from = INT32_MAX;

  std::string name() const;
  uint32_t seed() const;
  bool for_peers() const;  // one of those that are compared with cuDNN, fp8 ones with
                           // FlashAttention-3: dense and with one length
  DType output_dtype() const { return is_fp8(dtype) ? o_dtype : dtype; }
};

std::vector<Case> all_cases();
std::vector<Case> fp8_cases();  // those of them, without seeds

struct Layouts {
  Tensor q, k, v, o;                               // data null: strides alone
  int64_t first_q = 0, first_kv = 0, first_v = 0;  // elements before the first
  // Elements spanned, those before the first included.
  int64_t elements_q = 0, elements_kv = 0, elements_v = 0;
  int64_t total_q = 0, total_kv = 0;  // packed rows
};
Layouts layouts_of(const Case& c);

// The call of a case, with made-up addresses for a plan or real ones set afterwards.
Forward forward_of(const Case& c, const Layouts& layouts);

}  // namespace namesake::attention::test
