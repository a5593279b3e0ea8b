// glibc's heap and Linux's transparent large pages.
#include "heap.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ergon::cli {

void prepare_heap() {
#if defined(__linux__) && defined(__GLIBC__)
  constexpr int kHeap = 64 << 20;       // address space, not memory
  constexpr int kOwnMapping = 4 << 20;  // larger pieces are mapped, and given back, one by one
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  mallopt(M_MMAP_THRESHOLD, kOwnMapping);
  mallopt(M_TRIM_THRESHOLD, 2 * kHeap);
  mallopt(M_TOP_PAD, kHeap);
  // More than is left of what the loader's allocations took: now the heap gets its space.
  void* const piece = std::malloc(std::size_t{1} << 20);
  if (piece == nullptr) return;
  const auto to_boundary =
      (kLargePage - reinterpret_cast<std::uintptr_t>(piece) % kLargePage) % kLargePage;
  char* const begin = static_cast<char*>(piece) + to_boundary;
  const std::ptrdiff_t bytes = static_cast<char*>(sbrk(0)) - begin;
  if (bytes > 0) {
    madvise(begin, static_cast<std::size_t>(bytes) / kLargePage * kLargePage, MADV_HUGEPAGE);
  }
  std::free(piece);
  mallopt(M_TOP_PAD, kOwnMapping);
#endif
}

}  // namespace ergon::cli
