// Memory to unpack into, used again and again: what was in it is gone when it grows, so nothing is
// copied, and it costs no page that nobody writes to.
#pragma once

#include <cstddef>
#include <string_view>

namespace namesake {

class Room {
 public:
  Room() = default;
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room();

  // So many bytes; std::bad_alloc where there is no memory for them.
  char* of(size_t bytes);
  std::string_view first(size_t bytes) const {
    return std::string_view(begin_, size_).substr(0, bytes);
  }

 private:
  char* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace namesake
