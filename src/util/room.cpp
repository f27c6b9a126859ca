#include "util/room.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace namesake {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t whole_pages(size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

}  // namespace

Room::~Room() {
  if (begin_) ::munmap(begin_, size_);
}

// Whole huge pages and at a multiple of their size, or the kernel clears small ones one by one,
// which takes five times as long.
char* Room::of(size_t bytes) {
  if (bytes <= size_) return begin_;
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  size_t size = whole_pages(std::max(bytes, size_ + size_ / 2));
  void* address = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<char*>(address);
  size_t front = (kHugePage - reinterpret_cast<uintptr_t>(address) % kHugePage) % kHugePage;
  if (front > 0) ::munmap(begin, front);
  begin += front;
  ::munmap(begin + size, kHugePage - front);
  ::madvise(begin, size, MADV_HUGEPAGE);
  if (begin_) {
    // Pages that were written to once move along: the kernel need not clear others.
    if (::mremap(begin_, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == MAP_FAILED)
      ::munmap(begin_, size_);
  }
  begin_ = begin;
  size_ = size;
  return begin_;
}

}  // namespace namesake
