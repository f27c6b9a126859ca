// The plain two-pass formula, softmax around the row's maximum and then the weighted sum of V, in
// double. No online rescaling, no tiles, nothing a kernel does: what they share is the definition.
// Rows are independent, so threads take blocks of rows of one key head, and convert that head's K
// and V once for all of them.
#include "reference.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "../sequence.h"
#include "element.h"

namespace namesake::attention::reference {
namespace {

constexpr int kRowsOfTask = 64;

void widen(const Problem& p, const Tensor& t, int32_t batch, int64_t first, int32_t head,
           int32_t rows, std::vector<double>& to) {
  to.resize(static_cast<size_t>(rows) * p.head_dim);
  for (int32_t row = 0; row < rows; row++) {
    const int64_t from = offset_of(t, batch, first + row, head);
    for (int32_t d = 0; d < p.head_dim; d++)
      to[static_cast<size_t>(row) * p.head_dim + d] = load(t.data, from + d, p.dtype);
  }
}

void widen_transposed(const Problem& p, const Tensor& t, int32_t batch, int64_t first, int32_t head,
                      int32_t rows, std::vector<double>& to) {
  to.resize(static_cast<size_t>(rows) * p.head_dim);
  for (int32_t d = 0; d < p.head_dim; d++) {
    const int64_t from = offset_of(t, batch, d, head) + first;
    for (int32_t row = 0; row < rows; row++)
      to[static_cast<size_t>(row) * p.head_dim + d] = load(t.data, from + row, p.dtype);
  }
}

struct Task {
  int32_t batch, head_kv, first_row;
};

class Worker {
 public:
  explicit Worker(const Problem& problem) : p_(problem) {}

  void run(const Task& task) {
    const Sequence s = sequence_of(p_, task.batch);
    const int32_t end = std::min(task.first_row + kRowsOfTask, s.length_q);
    const int32_t keys = end > task.first_row ? keys_seen(p_, s, end - 1) : 0;
    widen(p_, p_.k, task.batch, s.first_kv, task.head_kv, keys, k_);
    (p_.v_transposed ? widen_transposed : widen)(p_, p_.v, task.batch, s.first_kv, task.head_kv,
                                                 keys, v_);
    const int32_t group = p_.heads_q / p_.heads_kv;
    for (int32_t head = task.head_kv * group; head < (task.head_kv + 1) * group; head++)
      for (int32_t row = task.first_row; row < end; row++) compute(task.batch, head, row, s);
  }

 private:
  void compute(int32_t batch, int32_t head, int32_t row, const Sequence& s) {
    const int32_t keys = keys_seen(p_, s, row);
    const int32_t dim = p_.head_dim, head_kv = head / (p_.heads_q / p_.heads_kv);
    const double of_scores = double{p_.softmax_scale} * scale_at(p_.q_descale, batch, head) *
                             scale_at(p_.k_descale, batch, head_kv),
                 of_output = double{scale_at(p_.v_descale, batch, head_kv)} *
                             scale_at(p_.o_scale, batch, head);
    widen(p_, p_.q, batch, s.first_q + row, head, 1, q_);

    p_row_.resize(keys);
    double largest = -std::numeric_limits<double>::infinity();
    for (int32_t j = 0; j < keys; j++) {
      const double* k = &k_[static_cast<size_t>(j) * dim];
      double dot = 0;
      for (int32_t d = 0; d < dim; d++) dot += q_[d] * k[d];
      p_row_[j] = dot * of_scores;
      largest = std::max(largest, p_row_[j]);
    }

    // Keys of score -inf weigh nothing; a row of nothing else is an empty row.
    const double around = std::isinf(largest) && largest < 0 ? 0 : largest;
    double sum = 0;
    o_.assign(dim, 0.0);
    for (int32_t j = 0; j < keys; j++) {
      const double weight = std::exp(p_row_[j] - around);
      sum += weight;
      const double* v = &v_[static_cast<size_t>(j) * dim];
      for (int32_t d = 0; d < dim; d++) o_[d] += weight * v[d];
    }

    const double inverse = sum == 0 ? 0 : of_output / sum;
    const int64_t to = offset_of(p_.o, batch, s.first_q + row, head);
    for (int32_t d = 0; d < dim; d++) store(p_.o.data, to + d, p_.o_dtype, o_[d] * inverse);
    if (p_.lse) {
      const double lse =
          sum == 0 ? -std::numeric_limits<double>::infinity() : around + std::log(sum);
      p_.lse[batch * p_.lse_stride_batch + head * p_.lse_stride_head + s.first_q + row] =
          static_cast<float>(lse);
    }
  }

  const Problem& p_;
  std::vector<double> k_, v_, q_, p_row_, o_;
};

Status check_packed(const char* what, const int32_t* cumulative, const Problem& p, int64_t total,
                    int32_t longest) {
  if (!cumulative) return {};
  const auto at = [&](int32_t i) { return std::string(what) + "[" + std::to_string(i) + "]"; };
  if (cumulative[0] != 0)
    return {Code::invalid_argument,
            at(0) + " is " + std::to_string(cumulative[0]) + ": it must be 0"};
  for (int32_t b = 0; b < p.batch; b++) {
    const int64_t length = int64_t{cumulative[b + 1]} - cumulative[b];
    if (length < 0 || length > longest)
      return {Code::invalid_argument, at(b + 1) + " makes sequence " + std::to_string(b) + " " +
                                          std::to_string(length) + " rows long: give 0 to " +
                                          std::to_string(longest)};
  }
  if (cumulative[p.batch] > total)
    return {Code::invalid_argument, at(p.batch) + " is " + std::to_string(cumulative[p.batch]) +
                                        ", past the tensors' " + std::to_string(total) + " rows"};
  return {};
}

Status check_used(const char* what, const int32_t* used, const Problem& p, int32_t longest) {
  for (int32_t b = 0; used && b < p.batch; b++) {
    if (used[b] < 0 || used[b] > longest)
      return {Code::invalid_argument, std::string(what) + "[" + std::to_string(b) + "] is " +
                                          std::to_string(used[b]) + ": give 0 to " +
                                          std::to_string(longest)};
  }
  return {};
}

Status check_scale(const char* what, const Scale& scale, int32_t batch, int32_t heads) {
  if (!scale.data) return {};
  for (int32_t b = 0; b < batch; b++) {
    for (int32_t h = 0; h < heads; h++) {
      const float x = scale_at(scale, b, h);
      if (!(x > 0) || !std::isfinite(x))
        return {Code::invalid_argument, std::string(what) + " of sequence " + std::to_string(b) +
                                            ", head " + std::to_string(h) + " is " +
                                            std::to_string(x) + ": give a positive number"};
    }
  }
  return {};
}

}  // namespace

Status check(const Problem& p) {
  if (Status s = check_packed("cu_seqlens_q", p.cu_seqlens_q, p, p.total_q, p.seqlen_q); !s.ok())
    return s;
  if (Status s = check_packed("cu_seqlens_kv", p.cu_seqlens_kv, p, p.total_kv, p.seqlen_kv);
      !s.ok())
    return s;
  if (Status s = check_used("seqused_q", p.seqused_q, p, p.seqlen_q); !s.ok()) return s;
  if (Status s = check_used("seqused_kv", p.seqused_kv, p, p.seqlen_kv); !s.ok()) return s;
  if (Status s = check_scale("q_descale", p.q_descale, p.batch, p.heads_q); !s.ok()) return s;
  if (Status s = check_scale("k_descale", p.k_descale, p.batch, p.heads_kv); !s.ok()) return s;
  if (Status s = check_scale("v_descale", p.v_descale, p.batch, p.heads_kv); !s.ok()) return s;
  return check_scale("o_scale", p.o_scale, p.batch, p.heads_q);
}

void forward(const Problem& p) {
  const int64_t blocks = (p.seqlen_q + int64_t{kRowsOfTask} - 1) / kRowsOfTask;
  const int64_t tasks = blocks * p.heads_kv * p.batch;
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    Worker worker(p);
    for (int64_t i; (i = next.fetch_add(1)) < tasks;) {
      const int64_t pair = i / blocks;
      worker.run({static_cast<int32_t>(pair / p.heads_kv), static_cast<int32_t>(pair % p.heads_kv),
                  static_cast<int32_t>(i % blocks) * kRowsOfTask});
    }
  };
  const int64_t wanted =
      std::min<int64_t>(std::max(1u, std::thread::hardware_concurrency()), tasks);
  std::vector<std::jthread> threads;
  for (int64_t i = 1; i < wanted; i++) threads.emplace_back(work);
  work();
}

}  // namespace namesake::attention::reference
