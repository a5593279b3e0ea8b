// Sliding: what is kept moves to the front, new bytes follow.
#include "window.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

namespace ergon::trace::kineto {

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

namespace {
// Reading the clock costs more than reading a few bytes.
constexpr std::size_t kTimedStep = 4096;
}  // namespace

Window::Window(io::ByteSource& source, std::size_t step)
    : source_(source),
      step_(std::max<std::size_t>(step, 1)),
      buffer_(std::make_unique_for_overwrite<char[]>(step_ + kPadding)),
      capacity_(step_ + kPadding) {}

bool Window::more(const char*& keep) {
  const auto at = static_cast<std::size_t>(keep - buffer_.get());
  const std::size_t kept = size_ - at;
  const std::size_t want = done_ ? 0 : std::max(step_, kept);
  if (capacity_ < kept + want + kPadding) {
    capacity_ = kept + want + kPadding;
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
    std::memcpy(larger.get(), keep, kept);
    buffer_ = std::move(larger);
  } else if (at > 0) {
    std::memmove(buffer_.get(), keep, kept);
  }
  first_ += at;
  size_ = kept;
  keep = buffer_.get();
  bool added = false;
  if (!done_) {
    const bool timed = step_ >= kTimedStep;
    const double before = timed ? thread_seconds() : 0;
    auto got = source_.read(std::span(buffer_.get() + kept, want));
    if (timed) seconds_ += thread_seconds() - before;
    if (!got) failure_ = got.error();
    done_ = !got || *got == 0;
    added = !done_;
    if (added) size_ += *got;
  }
  std::memset(buffer_.get() + size_, 0, kPadding);
  return added;
}

}  // namespace ergon::trace::kineto
