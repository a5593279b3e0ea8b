// glibc's heap and Linux's transparent large pages.
#include "heap.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Sanitizers bring their own heap.
#if defined(__linux__) && defined(__GLIBC__) && !defined(ERGON_SANITIZED)
#define ERGON_GLIBC_HEAP
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ergon::cli {

void prepare_heap() {
#if defined(ERGON_GLIBC_HEAP)
  constexpr int kHeap = 64 << 20;       // address space, not memory
  constexpr int kOwnMapping = 4 << 20;  // larger pieces are mapped, and given back, one by one
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  mallopt(M_MMAP_THRESHOLD, kOwnMapping);
  mallopt(M_TRIM_THRESHOLD, 2 * kHeap);
  mallopt(M_TOP_PAD, kHeap);
  // More than is left of what the loader's allocations took: now the heap gets its space.
  constexpr std::size_t kEnough = std::size_t{1} << 18;
  void* const probe = std::malloc(kEnough);
  if (probe == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(probe);
  std::free(probe);
  // A large page comes only where nothing has been touched: what lies before the first one is left
  // alone for good, with the heap's own note of where it ends.
  constexpr std::size_t kNote = 64;
  const std::uintptr_t first = (begin + kEnough + kNote + kLargePage - 1) / kLargePage * kLargePage;
  [[maybe_unused]] static void* volatile unused = nullptr;
  void* const before = std::malloc(first - kNote - begin);
  unused = before;
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  if (reinterpret_cast<std::uintptr_t>(before) == begin && end > first) {
    madvise(static_cast<char*>(before) + (first - begin), (end - first) / kLargePage * kLargePage,
            MADV_HUGEPAGE);
  }
  mallopt(M_TOP_PAD, kOwnMapping);
#endif
}

}  // namespace ergon::cli
