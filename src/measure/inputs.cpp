#include "measure/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "measure/values.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/pool.h"

namespace namesake::measure {
namespace {

constexpr size_t kChunk = 1 << 18;  // elements that one worker makes at a time

void store(std::span<std::byte> into, size_t index, size_t size, uint64_t bits) {
  std::memcpy(into.subspan(index * size, size).data(), &bits, size);  // low bytes first
}

std::vector<std::byte> palette_of(gpu::Element type, const std::function<uint64_t(size_t)>& bits) {
  const size_t size = gpu::bytes_of(type);
  std::vector<std::byte> palette(kPaletteEntries * size);
  for (size_t i = 0; i < kPaletteEntries; ++i) store(palette, i, size, bits(i));
  return palette;
}

// The x below which a normal variable lies with probability p: Newton's method on the distribution,
// from a start that is right to a few percent.
double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  const double t = std::sqrt(-2 * std::log(p));
  double x = -(t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t));
  for (int i = 0; i < 3; ++i) {
    const double below = 0.5 * std::erfc(-x / std::sqrt(2.0));
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    x -= (below - p) / density;
  }
  return x;
}

const std::vector<double>& normal_values() {
  static const std::vector<double> values = [] {
    std::vector<double> all(kPaletteEntries);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(all.size()));
    return all;
  }();
  return values;
}

bool random_floats(const BufferPlan& buffer) {
  const bool random = std::holds_alternative<NormalFill>(buffer.fill) ||
                      std::holds_alternative<UniformFill>(buffer.fill);
  return random && is_floating(buffer.type);
}

double largest_of(gpu::Element type) {
  const FloatShape shape = shape_of(type);
  const int bias = (1 << (shape.exponent_bits - 1)) - 1;
  const double ulps = std::ldexp(1.0, -shape.mantissa_bits);
  // Without infinities the topmost exponent holds numbers, all but the last of them.
  return shape.has_infinity ? std::ldexp(2 - ulps, bias) : std::ldexp(2 - 2 * ulps, bias + 1);
}
double smallest_normal_of(gpu::Element type) {
  return std::ldexp(1.0, 2 - (1 << (shape_of(type).exponent_bits - 1)));
}

std::vector<std::byte> extremes_of(gpu::Element type) {
  const double most = largest_of(type), least = smallest_normal_of(type);
  const double denormal = std::ldexp(least, -shape_of(type).mantissa_bits);
  const std::vector<double> values = {most, -most, least, -least, denormal, -denormal,
                                      0.0,  -0.0,  1.0,   -1.0,   most / 2, least * 2};
  return palette_of(type, [&](size_t i) { return bits_of(values[i % values.size()], type); });
}

std::vector<std::byte> denormals_of(gpu::Element type) {
  const FloatShape shape = shape_of(type);
  return palette_of(type, [&](size_t i) {
    const uint64_t random = hash_bytes({reinterpret_cast<const char*>(&i), sizeof i}).low;
    const uint64_t mantissa = random & ((uint64_t{1} << shape.mantissa_bits) - 1);
    return mantissa | (random >> 63) << (shape.exponent_bits + shape.mantissa_bits);
  });
}

// A few of each: in a matrix product one of them spoils a row or a column, and most must stay
// readable.
std::vector<Plant> not_finite_plants(const BufferPlan& buffer, uint64_t seed) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
  const size_t number = std::clamp<size_t>(buffer.count / 200'000, 3, 96);
  std::vector<Plant> plants;
  for (uint64_t i = 0; i < number; ++i) {
    const uint64_t words[] = {seed, i, 0x706c616e74};
    const uint64_t random = hash_bytes({reinterpret_cast<const char*>(words), sizeof words}).low;
    plants.push_back(
        {static_cast<size_t>(random % buffer.count), bits_of(values[i % 3], buffer.type)});
  }
  return plants;
}

Result<std::vector<std::byte>> pattern_bytes(const Plan& plan, const BufferPlan& buffer,
                                             const Expression& pattern, int workers) {
  std::vector<int64_t> names;
  size_t place_of_i = pattern.names().size();
  for (const std::string& name : pattern.names()) {
    if (name == "i") place_of_i = names.size();
    names.push_back(name == "i" ? 0 : plan.sizes.at(name));
  }
  const size_t size = gpu::bytes_of(buffer.type);
  std::vector<std::byte> bytes(buffer.bytes());
  std::vector<char> failed((buffer.count + kChunk - 1) / kChunk, 0);
  for_each_parallel(failed.size(), workers, [&](size_t chunk) {
    std::vector<int64_t> values = names;
    for (size_t i = chunk * kChunk; i < std::min(buffer.count, (chunk + 1) * kChunk); ++i) {
      if (place_of_i < values.size()) values[place_of_i] = static_cast<int64_t>(i);
      const auto value = pattern.value(values);
      if (!value) {
        failed[chunk] = 1;
        return;
      }
      store(bytes, i, size,
            is_floating(buffer.type) ? bits_of(static_cast<double>(*value), buffer.type)
                                     : static_cast<uint64_t>(*value));
    }
  });
  if (std::find(failed.begin(), failed.end(), 1) != failed.end())
    return error(fmt::format(
        "the pattern \"{}\" of {} has no value for some elements: it divides by zero or overflows",
        pattern.text(), buffer.name));
  return bytes;
}

Result<std::vector<std::byte>> file_bytes(const BufferPlan& buffer,
                                          const std::filesystem::path& file) {
  TRY_ASSIGN(const std::string text, read_file(file));
  if (text.size() != buffer.bytes())
    return error(fmt::format("{} holds {} bytes, but {} needs {} ({} × {})", file.string(),
                             text.size(), buffer.name, buffer.bytes(), buffer.count,
                             type_name(buffer.type)));
  const auto bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace

const char* name_of(InputKind kind) {
  switch (kind) {
    case InputKind::as_given:
      return "as given";
    case InputKind::constant:
      return "constant";
    case InputKind::not_finite:
      return "NaN and infinity";
    case InputKind::denormals:
      return "denormals";
    case InputKind::extremes:
      return "extremes";
  }
  return "";
}

std::vector<InputKind> input_kinds(const Plan& plan) {
  if (std::none_of(plan.buffers.begin(), plan.buffers.end(), random_floats))
    return {InputKind::as_given};
  return {InputKind::as_given, InputKind::constant, InputKind::not_finite, InputKind::denormals,
          InputKind::extremes};
}

Result<Content> content_of(const Plan& plan, size_t place, InputKind kind, int workers) {
  const BufferPlan& buffer = plan.buffers[place];
  const gpu::Element type = buffer.type;
  Content content;
  content.seed =
      hash_bytes(buffer.name).low;  // so a reference kernel's buffer of that name holds the same
  if (kind != InputKind::as_given && random_floats(buffer)) {
    if (kind == InputKind::constant) {
      content.palette = palette_of(type, [&](size_t) { return bits_of(1, type); });
      return content;
    }
    if (kind == InputKind::denormals || kind == InputKind::extremes) {
      content.palette = kind == InputKind::denormals ? denormals_of(type) : extremes_of(type);
      return content;
    }
    content.plants = not_finite_plants(buffer, content.seed);
  }
  if (std::holds_alternative<NormalFill>(buffer.fill)) {
    content.palette = palette_of(type, [&](size_t i) { return bits_of(normal_values()[i], type); });
  } else if (const auto* uniform = std::get_if<UniformFill>(&buffer.fill)) {
    content.palette = palette_of(type, [&](size_t i) {
      return bits_of(
          std::lerp(uniform->low, uniform->high, (static_cast<double>(i) + 0.5) / kPaletteEntries),
          type);
    });
  } else if (const auto* constant = std::get_if<ConstantFill>(&buffer.fill)) {
    content.palette = palette_of(type, [&](size_t) { return bits_of(constant->value, type); });
  } else if (const auto* pattern = std::get_if<PatternFill>(&buffer.fill)) {
    TRY_ASSIGN(content.bytes, pattern_bytes(plan, buffer, pattern->element, workers));
  } else if (const auto* file = std::get_if<FileFill>(&buffer.fill)) {
    TRY_ASSIGN(content.bytes, file_bytes(buffer, file->file));
  }
  return content;
}

std::vector<std::byte> bytes_of_content(const Content& content, const BufferPlan& buffer,
                                        int workers) {
  if (content.palette.empty()) return content.bytes;
  const size_t size = gpu::bytes_of(buffer.type);
  std::vector<std::byte> bytes(buffer.bytes());
  for_each_parallel((buffer.count + kChunk - 1) / kChunk, workers, [&](size_t chunk) {
    for (size_t i = chunk * kChunk; i < std::min(buffer.count, (chunk + 1) * kChunk); ++i)
      std::memcpy(&bytes[i * size], &content.palette[palette_entry(content.seed, i) * size], size);
  });
  for (const Plant& plant : content.plants) store(bytes, plant.index, size, plant.bits);
  return bytes;
}

}  // namespace namesake::measure
