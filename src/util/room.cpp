#include "util/room.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace namesake {

Room::~Room() {
  if (begin_) ::munmap(begin_, size_);
}

char* Room::of(size_t bytes) {
  if (bytes <= size_) return begin_;
  constexpr size_t kLeast = size_t{2} << 20;
  size_t size = std::max({bytes, size_ + size_ / 2, kLeast});
  // Pages that were written to once move along: the kernel need not clear others.
  void* address = begin_ ? ::mremap(begin_, size_, size, MREMAP_MAYMOVE)
                         : ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  ::madvise(address, size, MADV_HUGEPAGE);
  begin_ = static_cast<char*>(address);
  size_ = size;
  return begin_;
}

}  // namespace namesake
