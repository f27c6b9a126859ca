// A cursor over bytes that never reads past their end: the only way parsers here touch input.
//
// Every read either succeeds whole and advances, or fails and leaves the cursor unusable for good
// (ok() is false, and every later read gives zeros). So a parser reads a header field by field and
// asks once, instead of testing each field, and a forgotten test yields zeros, never foreign memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace namesake {

using Bytes = std::string_view;

class Cursor {
 public:
  explicit Cursor(Bytes data) : data_(data) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t left() const { return ok_ ? data_.size() - position_ : 0; }
  bool at_end() const { return left() == 0; }

  // A little-endian fixed-size value.
  template <class T>
  T read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    Bytes raw = take(sizeof(T));
    if (ok_) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  Bytes take(uint64_t count) {
    if (count > left()) {
      ok_ = false;
      return {};
    }
    Bytes result = data_.substr(position_, count);
    position_ += count;
    return result;
  }

  void skip(uint64_t count) { take(count); }

  void seek(uint64_t position) {
    if (position > data_.size()) {
      ok_ = false;
    } else {
      position_ = position;
    }
  }

  // Up to the terminating zero, which is consumed; fails if there is none.
  Bytes take_string() {
    size_t end = ok_ ? data_.find('\0', position_) : Bytes::npos;
    if (end == Bytes::npos) {
      ok_ = false;
      return {};
    }
    Bytes result = data_.substr(position_, end - position_);
    position_ = end + 1;
    return result;
  }

  // Up to the end of the line, which is consumed (\n or \r\n); the last line may lack it.
  Bytes take_line() {
    if (at_end()) {
      ok_ = false;
      return {};
    }
    size_t end = data_.find('\n', position_);
    Bytes result = data_.substr(position_, end == Bytes::npos ? Bytes::npos : end - position_);
    position_ = end == Bytes::npos ? data_.size() : end + 1;
    if (result.ends_with('\r')) result.remove_suffix(1);
    return result;
  }

 private:
  Bytes data_;
  size_t position_ = 0;
  bool ok_ = true;
};

// data[offset, offset + size) if it lies inside.
inline std::optional<Bytes> slice(Bytes data, uint64_t offset, uint64_t size) {
  if (offset > data.size() || size > data.size() - offset) return std::nullopt;
  return data.substr(offset, size);
}

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  if (a > std::numeric_limits<uint64_t>::max() - b) return std::nullopt;
  return a + b;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  if (b != 0 && a > std::numeric_limits<uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

}  // namespace namesake
