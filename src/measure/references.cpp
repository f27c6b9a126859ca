#include "measure/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "measure/values.h"
#include "util/hash.h"
#include "util/pool.h"
#include "util/text.h"

namespace namesake::measure {
namespace {

constexpr size_t kRun = 64;  // neighbours sampled together; also what one worker computes at a time

// All values of a small type, by their bits: decoding them one by one would dominate a dot product.
const std::vector<double>* table_of(gpu::Element type) {
  static const auto make = [](gpu::Element of) {
    const size_t size = gpu::bytes_of(of);
    std::vector<std::byte> all;
    for (size_t bits = 0; bits < size_t{1} << 8 * size; ++bits)
      for (size_t i = 0; i < size; ++i) all.push_back(static_cast<std::byte>(bits >> 8 * i));
    return gpu::values_of(all, of);
  };
  switch (type) {
    case gpu::Element::kF16: {
      static const auto table = make(type);
      return &table;
    }
    case gpu::Element::kBF16: {
      static const auto table = make(type);
      return &table;
    }
    case gpu::Element::kE4M3: {
      static const auto table = make(type);
      return &table;
    }
    case gpu::Element::kE5M2: {
      static const auto table = make(type);
      return &table;
    }
    default:
      return nullptr;
  }
}

// The elements of a buffer as numbers: from its bytes, or by the rule that fills it.
class Numbers {
 public:
  explicit Numbers(const ReferenceArgument& argument)
      : bytes_(argument.bytes), type_(argument.buffer->type), size_(gpu::bytes_of(type_)) {
    if (argument.content && !argument.content->palette.empty()) {
      palette_ = gpu::values_of(argument.content->palette, type_);
      seed_ = argument.content->seed;
      count_ = argument.buffer->count;
    } else {
      count_ = bytes_.size() / size_;
      table_ = table_of(type_);
    }
  }

  // A launch file whose sizes and buffers disagree reads NaN, never foreign memory.
  double operator[](size_t i) const {
    if (i >= count_) return std::numeric_limits<double>::quiet_NaN();
    if (!palette_.empty()) return palette_[palette_entry(seed_, i)];
    if (!table_) return gpu::value_of(bytes_, type_, i);
    const auto low = static_cast<size_t>(bytes_[i * size_]);
    return (*table_)[size_ == 1 ? low : low | static_cast<size_t>(bytes_[i * size_ + 1]) << 8];
  }
  size_t size() const { return count_; }

 private:
  std::span<const std::byte> bytes_;
  gpu::Element type_;
  size_t size_, count_ = 0;
  std::vector<double> palette_;
  uint64_t seed_ = 0;
  const std::vector<double>* table_ = nullptr;
};

// One call: the arguments, and neighbours of one output in `indices`.
struct Call {
  std::span<const ReferenceArgument> arguments;
  std::span<const std::optional<Numbers>> numbers;  // of those that are buffers
  std::span<const size_t> indices;

  const Numbers& buffer(size_t i) const { return *numbers[i]; }
  size_t size(size_t i) const { return static_cast<size_t>(std::max(arguments[i].number, 1.0)); }
  double number(size_t i) const { return arguments[i].number; }
  size_t count(size_t i) const { return arguments[i].buffer->count; }

  std::vector<double> each(const std::function<double(size_t)>& value) const {
    std::vector<double> values;
    for (size_t index : indices) values.push_back(value(index));
    return values;
  }
};

// A number read from a buffer as a place in another; what is none lies beyond every buffer.
size_t place(double number) {
  return number >= 0 && number < 1e15 ? static_cast<size_t>(number) : size_t{1} << 50;
}

// A value for each row, computed once for neighbours in it.
template <class Value>
class ByRow {
 public:
  explicit ByRow(std::function<Value(size_t)> compute) : compute_(std::move(compute)) {}
  const Value& operator()(size_t row) {
    if (row != row_) value_ = compute_(row);
    row_ = row;
    return value_;
  }

 private:
  std::function<Value(size_t)> compute_;
  size_t row_ = static_cast<size_t>(-1);
  Value value_{};
};

// a, b, c, m, n, k
std::vector<double> matmul(const Call& call, bool transposed) {
  const Numbers &a = call.buffer(0), &b = call.buffer(1);
  const size_t n = call.size(4), k = call.size(5);
  return call.each([&](size_t index) {
    const size_t row = index / n, column = index % n;
    double sum = 0;
    for (size_t i = 0; i < k; ++i)
      sum += a[row * k + i] * (transposed ? b[column * k + i] : b[i * n + column]);
    return sum;
  });
}

// a, b, c: products of 128 × 64 by (128 × 64)' tiles
std::vector<double> matmul_transposed_each(const Call& call) {
  constexpr size_t kRows = 128, kDepth = 64;
  const Numbers &a = call.buffer(0), &b = call.buffer(1);
  return call.each([&](size_t index) {
    const size_t tile = index / (kRows * kRows) * kRows * kDepth;
    const size_t row = index / kRows % kRows, column = index % kRows;
    double sum = 0;
    for (size_t i = 0; i < kDepth; ++i)
      sum += a[tile + row * kDepth + i] * b[tile + column * kDepth + i];
    return sum;
  });
}

// q, k, v, out, length, heads: length × heads × width
std::vector<double> attention(const Call& call, bool causal) {
  const Numbers &q = call.buffer(0), &k = call.buffer(1), &v = call.buffer(2);
  const size_t length = call.size(4), heads = call.size(5),
               width = call.count(3) / (length * heads);
  // A row is one query of one head; its value the weights of the keys.
  ByRow<std::vector<double>> weights([&](size_t row) {
    const size_t query = row / heads, head = row % heads, keys = causal ? query + 1 : length;
    std::vector<double> score(keys);
    for (size_t key = 0; key < keys; ++key) {
      double sum = 0;
      for (size_t i = 0; i < width; ++i)
        sum += q[row * width + i] * k[(key * heads + head) * width + i];
      score[key] = sum / std::sqrt(static_cast<double>(width));
    }
    const double largest = *std::max_element(score.begin(), score.end());
    double total = 0;
    for (double& value : score) total += value = std::exp(value - largest);
    for (double& value : score) value /= total;
    return score;
  });
  return call.each([&](size_t index) {
    const size_t row = index / width, head = row % heads;
    const std::vector<double>& weight = weights(row);
    double sum = 0;
    for (size_t key = 0; key < weight.size(); ++key)
      sum += weight[key] * v[(key * heads + head) * width + index % width];
    return sum;
  });
}

// bodies, accelerations, n: a body is {x, y, z, mass}
std::vector<double> n_body(const Call& call) {
  constexpr double kSoftening = 1e-3f;
  const Numbers& bodies = call.buffer(0);
  const size_t n = call.size(2);
  ByRow<std::array<double, 4>> accelerations([&](size_t body) {
    std::array<double, 4> sum{};
    for (size_t other = 0; other < n; ++other) {
      double distance[3], square = kSoftening;
      for (size_t axis = 0; axis < 3; ++axis) {
        distance[axis] = bodies[other * 4 + axis] - bodies[body * 4 + axis];
        square += distance[axis] * distance[axis];
      }
      const double pull = bodies[other * 4 + 3] / (square * std::sqrt(square));
      for (size_t axis = 0; axis < 3; ++axis) sum[axis] += pull * distance[axis];
    }
    return sum;
  });
  return call.each([&](size_t index) { return accelerations(index / 4)[index % 4]; });
}

// in, out, rows, columns
std::vector<double> transpose(const Call& call) {
  const Numbers& in = call.buffer(0);
  const size_t rows = call.size(2), columns = call.size(3);
  return call.each([&](size_t index) { return in[index % rows * columns + index / rows]; });
}

// in, out, columns
std::vector<double> reduce_rows(const Call& call) {
  const Numbers& in = call.buffer(0);
  const size_t columns = call.size(2);
  return call.each([&](size_t row) {
    double sum = 0;
    for (size_t i = 0; i < columns; ++i) sum += in[row * columns + i];
    return sum;
  });
}

// in, out, rows, columns
std::vector<double> softmax_rows(const Call& call) {
  const Numbers& in = call.buffer(0);
  const size_t columns = call.size(3);
  struct Row {
    double largest = 0, total = 0;
  };
  ByRow<Row> rows([&](size_t row) {
    Row of{-std::numeric_limits<double>::infinity(), 0};
    for (size_t i = 0; i < columns; ++i) of.largest = std::max(of.largest, in[row * columns + i]);
    for (size_t i = 0; i < columns; ++i) of.total += std::exp(in[row * columns + i] - of.largest);
    return of;
  });
  return call.each([&](size_t index) {
    const Row& row = rows(index / columns);
    return std::exp(in[index] - row.largest) / row.total;
  });
}

// in, gain, bias, out, columns
std::vector<double> layer_norm_rows(const Call& call) {
  constexpr double kEpsilon = 1e-5f;
  const Numbers &in = call.buffer(0), &gain = call.buffer(1), &bias = call.buffer(2);
  const size_t columns = call.size(4);
  struct Row {
    double mean = 0, scale = 0;
  };
  ByRow<Row> rows([&](size_t row) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < columns; ++i) sum += in[row * columns + i];
    const double mean = sum / static_cast<double>(columns);
    for (size_t i = 0; i < columns; ++i) squares += std::pow(in[row * columns + i] - mean, 2);
    return Row{mean, 1 / std::sqrt(squares / static_cast<double>(columns) + kEpsilon)};
  });
  return call.each([&](size_t index) {
    const Row& row = rows(index / columns);
    const size_t column = index % columns;
    return (in[index] - row.mean) * row.scale * gain[column] + bias[column];
  });
}

// x, y, a, n: y = a x + y
std::vector<double> saxpy(const Call& call) {
  const Numbers &x = call.buffer(0), &y = call.buffer(1);
  return call.each([&](size_t index) { return call.number(2) * x[index] + y[index]; });
}

// in, out, n
std::vector<double> gelu(const Call& call) {
  const Numbers& in = call.buffer(0);
  return call.each(
      [&](size_t index) { return 0.5 * in[index] * (1 + std::erf(in[index] / std::sqrt(2.0))); });
}

// The same by its usual approximation.
std::vector<double> gelu_tanh(const Call& call) {
  const Numbers& in = call.buffer(0);
  return call.each([&](size_t index) {
    const double x = in[index];
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  });
}

// in, out, nx, ny, nz, rate: the outermost layer stays what it was
std::vector<double> stencil_heat(const Call& call) {
  const Numbers &in = call.buffer(0), &out = call.buffer(1);
  const size_t nx = call.size(2), ny = call.size(3), nz = call.size(4), plane = nx * ny;
  return call.each([&](size_t index) {
    const size_t x = index % nx, y = index / nx % ny, z = index / plane;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return out[index];
    const double around = in[index - 1] + in[index + 1] + in[index - nx] + in[index + nx] +
                          in[index - plane] + in[index + plane];
    return in[index] + call.number(5) * (around - 6 * in[index]);
  });
}

// table, index, out, width
std::vector<double> gather_rows(const Call& call) {
  const Numbers &table = call.buffer(0), &index = call.buffer(1);
  const size_t width = call.size(3);
  return call.each([&](size_t at) { return table[place(index[at / width]) * width + at % width]; });
}

// start, column, value, x, y, rows
std::vector<double> sparse_matvec(const Call& call) {
  const Numbers &start = call.buffer(0), &column = call.buffer(1), &value = call.buffer(2),
                &x = call.buffer(3);
  return call.each([&](size_t row) {
    double sum = 0;
    const double end = std::min(start[row + 1], static_cast<double>(value.size()));
    for (size_t i = place(start[row]); static_cast<double>(i) < end; ++i)
      sum += value[i] * x[place(column[i])];
    return sum;
  });
}

// in, out, n: adds to the counts that are there
std::vector<double> histogram(const Call& call) {
  const Numbers &in = call.buffer(0), &out = call.buffer(1);
  std::array<size_t, 256> counts{};
  for (size_t i = 0; i < std::min(in.size(), call.size(2)); ++i)
    ++counts[place(in[i]) % counts.size()];
  return call.each([&](size_t index) {
    return static_cast<double>(counts[index % counts.size()]) + out[index];
  });
}

// in, out: running sums within blocks of 256
std::vector<double> scan_blocks(const Call& call) {
  constexpr size_t kBlock = 256;
  const Numbers& in = call.buffer(0);
  return call.each([&](size_t index) {
    double sum = 0;
    for (size_t i = index / kBlock * kBlock; i <= index; ++i) sum += in[i];
    return sum;
  });
}

// The arguments a function needs: 'b' a buffer that is read, 'o' one that is written, 'n' a number.
struct Reference {
  const char* arguments;
  std::function<std::vector<double>(const Call&)> compute;
};

const std::map<std::string, Reference, std::less<>>& references() {
  static const std::map<std::string, Reference, std::less<>> all = {
      {"matmul", {"bbonnn", [](const Call& call) { return matmul(call, false); }}},
      {"matmul_transposed", {"bbonnn", [](const Call& call) { return matmul(call, true); }}},
      {"matmul_transposed_each", {"bbo", matmul_transposed_each}},
      {"attention", {"bbbonn", [](const Call& call) { return attention(call, false); }}},
      {"attention_causal", {"bbbonn", [](const Call& call) { return attention(call, true); }}},
      {"n_body", {"bon", n_body}},
      {"transpose", {"bonn", transpose}},
      {"reduce_rows", {"bon", reduce_rows}},
      {"softmax_rows", {"bonn", softmax_rows}},
      {"layer_norm_rows", {"bbbon", layer_norm_rows}},
      {"saxpy", {"bbnn", saxpy}},
      {"gelu", {"bon", gelu}},
      {"gelu_tanh", {"bon", gelu_tanh}},
      {"stencil_heat", {"bbnnnn", stencil_heat}},
      {"gather_rows", {"bbon", gather_rows}},
      {"sparse_matvec", {"bbbbon", sparse_matvec}},
      {"histogram", {"bbn", histogram}},
      {"scan_blocks", {"bo", scan_blocks}},
  };
  return all;
}

}  // namespace

std::vector<std::string> reference_names() {
  std::vector<std::string> names;
  for (const auto& [name, reference] : references()) names.push_back(name);
  return names;
}

Status check_reference(std::string_view name, std::span<const ReferenceArgument> arguments) {
  const auto found = references().find(name);
  if (found == references().end())
    return error(fmt::format("there is no reference function {}; there are {}", name,
                             join(reference_names(), ", ")));
  const std::string_view wanted = found->second.arguments;
  if (arguments.size() < wanted.size())
    return error(fmt::format("the reference {} needs {} arguments, the kernel has {}", name,
                             wanted.size(), arguments.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if ((arguments[i].buffer == nullptr) == (wanted[i] == 'n')) continue;
    return error(fmt::format("the reference {} wants {} as argument {}", name,
                             wanted[i] == 'n' ? "a number" : "a buffer", i + 1));
  }
  return {};
}

Result<std::vector<double>> reference_values(std::string_view name,
                                             std::span<const ReferenceArgument> arguments,
                                             std::span<const size_t> indices, int workers) {
  TRY(check_reference(name, arguments));
  const Reference& reference = references().find(name)->second;
  std::vector<std::optional<Numbers>> numbers(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].buffer) numbers[i].emplace(arguments[i]);
  std::vector<double> values(indices.size());
  for_each_parallel((indices.size() + kRun - 1) / kRun, workers, [&](size_t run) {
    const size_t begin = run * kRun, size = std::min(kRun, indices.size() - begin);
    const std::vector<double> part =
        reference.compute({arguments, numbers, indices.subspan(begin, size)});
    std::copy(part.begin(), part.end(), values.begin() + static_cast<std::ptrdiff_t>(begin));
  });
  return values;
}

std::vector<size_t> sample_of(size_t count, size_t most) {
  std::vector<size_t> sample;
  if (count <= std::max(most, kRun)) {
    sample.resize(count);
    std::iota(sample.begin(), sample.end(), size_t{0});
    return sample;
  }
  std::vector<size_t> runs = {0, count - kRun};
  for (uint64_t i = 2; i < std::max<size_t>(most / kRun, 2); ++i)
    runs.push_back(hash_bytes({reinterpret_cast<const char*>(&i), sizeof i}).low % (count / kRun) *
                   kRun);
  std::sort(runs.begin(), runs.end());
  for (size_t run : runs)
    for (size_t i = run; i < std::min(run + kRun, count); ++i)
      if (sample.empty() || i > sample.back()) sample.push_back(i);
  return sample;
}

}  // namespace namesake::measure
