// Myers' O(ND) algorithm in its linear-space form: search from both ends at once until the two
// frontiers meet, split there, recurse. Cost grows with the length of the edit, D, and two builds
// of one kernel are usually near each other; but an unlucky pair of 20,000 instructions with
// nothing in common would cost D² = 1.6 billion steps at the first split alone. The known ways out
// are anchors (patience, histogram: split at rare elements first), which give up the shortest edit
// always, and a cap on D, as GNU diff has it: when the search has gone far enough without meeting,
// split at the point where the forward search came furthest. We take the cap, since it changes
// nothing for pairs that are near each other: each capped search costs cap² steps and advances by
// at least cap, so the whole costs about (N + M) × cap.
#include "sass/sequence_diff.h"

#include <algorithm>

namespace namesake::sass {

namespace {

constexpr int64_t kOutside = INT64_MIN / 4;

class Differ {
 public:
  Differ(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint64_t effort)
      : a_(a), b_(b) {
    int64_t total = static_cast<int64_t>(a.size() + b.size());
    cap_ = std::max<int64_t>(64, static_cast<int64_t>(effort / static_cast<uint64_t>(total + 1)));
    forward_.resize(2 * total + 3);
    backward_.resize(2 * total + 3);
    middle_ = total + 1;
  }

  std::vector<Kept> run() {
    // An explicit stack: the recursion is as deep as the edit is unlucky.
    std::vector<Range> ranges{
        {0, static_cast<int64_t>(a_.size()), 0, static_cast<int64_t>(b_.size())}};
    while (!ranges.empty()) {
      Range range = ranges.back();
      ranges.pop_back();
      while (range.a < range.a_end && range.b < range.b_end && a_[range.a] == b_[range.b]) {
        keep(range.a++, range.b++);
      }
      int64_t tail = 0;
      while (range.a < range.a_end && range.b < range.b_end &&
             a_[range.a_end - 1] == b_[range.b_end - 1]) {
        --range.a_end;
        --range.b_end;
        ++tail;
      }
      // The tail is kept only after all that lies before it, so that pairs come out in order.
      if (tail > 0)
        ranges.push_back({range.a_end, range.a_end + tail, range.b_end, range.b_end + tail});
      if (range.a == range.a_end || range.b == range.b_end) continue;
      auto [x, y] = split(range);
      ranges.push_back({x, range.a_end, y, range.b_end});
      ranges.push_back({range.a, x, range.b, y});
    }
    return std::move(kept_);
  }

 private:
  struct Range {
    int64_t a, a_end, b, b_end;
  };
  struct Point {
    int64_t x, y;
  };

  void keep(int64_t a, int64_t b) {
    kept_.push_back({static_cast<uint32_t>(a), static_cast<uint32_t>(b)});
  }

  // A point on a shortest edit of the range (or, beyond the cap, on a good one), never one of its
  // two corners. The range's first and last elements differ, so the edit has at least two steps.
  Point split(const Range& range) {
    int64_t n = range.a_end - range.a, m = range.b_end - range.b;
    int64_t delta = n - m;
    bool odd = delta & 1;
    auto f = [&](int64_t k) -> int64_t& { return forward_[middle_ + k]; };
    auto r = [&](int64_t k) -> int64_t& { return backward_[middle_ + k]; };
    f(1) = 0;
    r(1) = 0;
    int64_t limit = (n + m + 1) / 2;
    for (int64_t d = 0; d <= limit; ++d) {
      // Diagonals beyond the rectangle's sides hold no points.
      int64_t low = -(d - 2 * std::max<int64_t>(0, d - m)),
              high = d - 2 * std::max<int64_t>(0, d - n);
      for (int64_t k = low; k <= high; k += 2) {
        int64_t x = step(forward_, k, d, n, m), y = x - k;
        while (x >= 0 && x < n && y < m && a_[range.a + x] == b_[range.b + y]) ++x, ++y;
        f(k) = x;
        if (odd && std::abs(k - delta) <= d - 1 && x + r(delta - k) >= n) {
          return point(range, x, y);
        }
      }
      for (int64_t k = low; k <= high; k += 2) {
        int64_t x = step(backward_, k, d, n, m), y = x - k;
        while (x >= 0 && x < n && y < m && a_[range.a_end - 1 - x] == b_[range.b_end - 1 - y]) {
          ++x, ++y;
        }
        r(k) = x;
        if (!odd && std::abs(k - delta) <= d && x + f(delta - k) >= n) {
          return point(range, n - x, m - y);
        }
      }
      if (d >= cap_) return furthest(range, d, n, m);
    }
    return point(range, n, 0);  // not reached: the frontiers meet within the limit
  }

  // One more edit step onto diagonal k, from the better neighbour, if it stays inside the
  // rectangle.
  int64_t step(const std::vector<int64_t>& frontier, int64_t k, int64_t d, int64_t n,
               int64_t m) const {
    int64_t x = kOutside;
    if (k != d || d == 0) {  // remove nothing, add one: from the diagonal above
      int64_t down = frontier[middle_ + k + 1];
      if (down - k <= m) x = down;
    }
    if (k != -d) {
      int64_t right = frontier[middle_ + k - 1] + 1;
      if (right <= n) x = std::max(x, right);
    }
    return x;
  }

  Point furthest(const Range& range, int64_t d, int64_t n, int64_t m) {
    int64_t best_x = 0, best_y = 0;
    int64_t low = -(d - 2 * std::max<int64_t>(0, d - m)),
            high = d - 2 * std::max<int64_t>(0, d - n);
    for (int64_t k = low; k <= high; k += 2) {
      int64_t x = forward_[middle_ + k], y = x - k;
      if (x < 0 || y < 0 || y > m) continue;
      if (x + y > best_x + best_y) best_x = x, best_y = y;
    }
    if (best_x + best_y == n + m) return point(range, n, 0);
    return point(range, best_x, best_y);
  }

  static Point point(const Range& range, int64_t x, int64_t y) {
    return {range.a + x, range.b + y};
  }

  const std::vector<uint32_t>& a_;
  const std::vector<uint32_t>& b_;
  int64_t cap_ = 0, middle_ = 0;
  std::vector<int64_t> forward_, backward_;
  std::vector<Kept> kept_;
};

}  // namespace

std::vector<Kept> common_subsequence(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                                     uint64_t effort) {
  return Differ(a, b, effort).run();
}

}  // namespace namesake::sass
