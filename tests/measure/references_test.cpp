#include "measure/references.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "measure/inputs.h"

using namespace namesake;
using namespace namesake::measure;
using gpu::Element;

namespace {

// A call's arguments: buffers of random content, numbers.
struct Call {
  std::vector<BufferPlan> plans;
  std::vector<std::vector<std::byte>> contents;
  std::vector<double> numbers;

  // type, count of each buffer; the others are numbers
  struct Piece {
    bool buffer = true;
    Element type = Element::kF32;
    size_t count = 0;
    double number = 0;
  };
  std::vector<ReferenceArgument> arguments(const std::vector<Piece>& pieces) {
    plans.reserve(pieces.size());
    contents.reserve(pieces.size());
    std::vector<ReferenceArgument> result;
    for (const Piece& piece : pieces) {
      if (!piece.buffer) {
        result.push_back({.number = piece.number});
        continue;
      }
      plans.push_back({.name = std::to_string(plans.size()),
                       .type = piece.type,
                       .count = piece.count,
                       .fill = NormalFill{}});
      Plan plan;
      plan.buffers = {plans.back()};
      contents.push_back(
          bytes_of_content(*content_of(plan, 0, InputKind::as_given, 1), plans.back(), 1));
      result.push_back({&plans.back(), contents.back()});
    }
    return result;
  }
  double at(size_t buffer, size_t i) const {
    return gpu::value_of(contents[buffer], plans[buffer].type, i);
  }
};
Call::Piece buffer(Element type, size_t count) {
  return {true, type, count};
}
Call::Piece number(double value) {
  return {false, Element::kF32, 0, value};
}

std::vector<double> all_of(std::string_view name, const std::vector<ReferenceArgument>& arguments,
                           size_t count) {
  const auto values = reference_values(name, arguments, sample_of(count, count), 3);
  EXPECT_TRUE(values) << values.error().message;
  return values.value_or(std::vector<double>());
}

TEST(References, AMatrixProductIsTheSumOverRowsAndColumns) {
  constexpr size_t m = 5, n = 7, k = 11;
  Call call;
  const auto arguments =
      call.arguments({buffer(Element::kF16, m * k), buffer(Element::kF16, k * n),
                      buffer(Element::kF16, m * n), number(m), number(n), number(k)});
  const auto product = all_of("matmul", arguments, m * n);
  const auto transposed = all_of("matmul_transposed", arguments, m * n);
  for (size_t row = 0; row < m; ++row) {
    for (size_t column = 0; column < n; ++column) {
      double sum = 0, other = 0;
      for (size_t i = 0; i < k; ++i) {
        sum += call.at(0, row * k + i) * call.at(1, i * n + column);
        other += call.at(0, row * k + i) * call.at(1, column * k + i);
      }
      ASSERT_DOUBLE_EQ(product[row * n + column], sum);
      ASSERT_DOUBLE_EQ(transposed[row * n + column], other);
    }
  }
}

TEST(References, AttentionWeighsValuesByTheSoftmaxOfScores) {
  constexpr size_t length = 6, heads = 3, width = 4;
  Call call;
  const size_t count = length * heads * width;
  const auto arguments = call.arguments({buffer(Element::kF32, count), buffer(Element::kF32, count),
                                         buffer(Element::kF32, count), buffer(Element::kF32, count),
                                         number(length), number(heads)});
  for (const bool causal : {false, true}) {
    const auto values = all_of(causal ? "attention_causal" : "attention", arguments, count);
    for (size_t query = 0; query < length; ++query)
      for (size_t head = 0; head < heads; ++head)
        for (size_t place = 0; place < width; ++place) {
          double total = 0, sum = 0;
          for (size_t key = 0; key < (causal ? query + 1 : length); ++key) {
            double score = 0;
            for (size_t i = 0; i < width; ++i)
              score += call.at(0, (query * heads + head) * width + i) *
                       call.at(1, (key * heads + head) * width + i);
            total += std::exp(score / 2);  // sqrt(4)
            sum += std::exp(score / 2) * call.at(2, (key * heads + head) * width + place);
          }
          ASSERT_NEAR(values[(query * heads + head) * width + place], sum / total, 1e-12);
        }
  }
}

TEST(References, EachRowOfASoftmaxAddsUpToOne) {
  constexpr size_t rows = 9, columns = 33;
  Call call;
  const auto values =
      all_of("softmax_rows",
             call.arguments({buffer(Element::kF32, rows * columns),
                             buffer(Element::kF32, rows * columns), number(rows), number(columns)}),
             rows * columns);
  for (size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (size_t i = 0; i < columns; ++i) sum += values[row * columns + i];
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(References, ALayerNormHasMeanZeroAndVarianceOneBeforeGainAndBias) {
  constexpr size_t rows = 4, columns = 50;
  Call call;
  const auto values =
      all_of("layer_norm_rows",
             call.arguments({buffer(Element::kF32, rows * columns), buffer(Element::kF32, columns),
                             buffer(Element::kF32, columns), buffer(Element::kF32, rows * columns),
                             number(columns)}),
             rows * columns);
  for (size_t row = 0; row < rows; ++row) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < columns; ++i) {
      const double plain = (values[row * columns + i] - call.at(2, i)) / call.at(1, i);
      mean += plain / columns;
      square += plain * plain / columns;
    }
    EXPECT_NEAR(mean, 0, 1e-6);
    EXPECT_NEAR(square, 1, 1e-3);
  }
}

TEST(References, TwoBodiesPullEachOtherEquallyByTheirMasses) {
  Call call;
  const auto values = all_of(
      "n_body", call.arguments({buffer(Element::kF32, 8), buffer(Element::kF32, 8), number(2)}), 8);
  for (size_t axis = 0; axis < 3; ++axis)
    EXPECT_NEAR(values[axis] * call.at(0, 3), -values[4 + axis] * call.at(0, 7), 1e-9);
  EXPECT_EQ(values[3], 0);
}

TEST(References, AStencilLeavesItsBorder) {
  Call call;
  const auto arguments =
      call.arguments({buffer(Element::kF32, 4 * 5 * 6), buffer(Element::kF32, 4 * 5 * 6), number(4),
                      number(5), number(6), number(0.1)});
  const auto values = all_of("stencil_heat", arguments, 4 * 5 * 6);
  EXPECT_EQ(values[0], call.at(1, 0));
  const size_t inside = (2 * 5 + 2) * 4 + 1;
  double around = 0;
  for (const size_t step : {size_t{1}, size_t{4}, size_t{20}})
    around += call.at(0, inside - step) + call.at(0, inside + step);
  EXPECT_NEAR(values[inside], call.at(0, inside) + 0.1 * (around - 6 * call.at(0, inside)), 1e-6);
}

TEST(References, ATransposeTwiceIsTheSame) {
  Call call;
  const auto values = all_of("transpose",
                             call.arguments({buffer(Element::kF32, 3 * 8),
                                             buffer(Element::kF32, 3 * 8), number(3), number(8)}),
                             24);
  for (size_t row = 0; row < 3; ++row)
    for (size_t column = 0; column < 8; ++column)
      EXPECT_EQ(values[column * 3 + row], call.at(0, row * 8 + column));
}

TEST(References, TheTwoGelusAgreeToAThousandth) {
  Call call;
  const auto arguments =
      call.arguments({buffer(Element::kF32, 500), buffer(Element::kF32, 500), number(500)});
  const auto exact = all_of("gelu", arguments, 500), tanh = all_of("gelu_tanh", arguments, 500);
  for (size_t i = 0; i < 500; ++i) {
    ASSERT_NEAR(exact[i], tanh[i], 1e-3);
    ASSERT_GE(exact[i], -0.18);
  }
}

TEST(References, SaySoWhereTheArgumentsDoNotFit) {
  Call call;
  const auto arguments = call.arguments({buffer(Element::kF32, 5), number(3)});
  EXPECT_EQ(check_reference("saxpy", arguments).error().message,
            "the reference saxpy needs 4 arguments, the kernel has 2");
  EXPECT_EQ(check_reference("reduce_rows", call.arguments({number(1), number(2), number(3)}))
                .error()
                .message,
            "the reference reduce_rows wants a buffer as argument 1");
  EXPECT_NE(check_reference("sigmoid", arguments)
                .error()
                .message.find("there is no reference function sigmoid; there are attention,"),
            std::string::npos);
}

TEST(References, ReadNothingBeyondABufferWhateverTheSizes) {
  Call call;
  const auto few = [&](size_t numbers, size_t buffers) {
    std::vector<Call::Piece> pieces;
    for (size_t i = 0; i < buffers; ++i) pieces.push_back(buffer(Element::kF32, 4));
    for (size_t i = 0; i < numbers; ++i) pieces.push_back(number(1000));
    return pieces;
  };
  const std::vector<size_t> indices = {0, 3, 123'456};
  EXPECT_TRUE(std::isnan((*reference_values("matmul", call.arguments(few(3, 3)), indices, 1))[2]));
  Call other;
  EXPECT_TRUE(
      std::isnan((*reference_values("transpose", other.arguments(few(2, 2)), indices, 1))[2]));
  Call third;
  EXPECT_TRUE(reference_values("sparse_matvec", third.arguments(few(1, 5)), indices, 1));
}

RC_GTEST_PROP(SampleProperty, IsInOrderInsideAndHoldsBothEnds, ()) {
  const size_t count = *rc::gen::inRange<size_t>(1, 1'000'000),
               most = *rc::gen::inRange<size_t>(1, 5000);
  const auto sample = sample_of(count, most);
  RC_ASSERT(sample.front() == 0u);
  RC_ASSERT(sample.back() == count - 1);
  RC_ASSERT(std::is_sorted(sample.begin(), sample.end()));
  RC_ASSERT(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
  RC_ASSERT(sample.size() <= std::max<size_t>(most, 128));
}

}  // namespace
