// Sliding: what is kept moves to the front, new bytes follow.
#include "window.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace ergon::trace::kineto {

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Window::Window(io::ByteSource& source, std::size_t step)
    : source_(source), step_(std::max<std::size_t>(step, 1)), buffer_(step_ + kPadding) {}

bool Window::more(const char*& keep) {
  const auto at = static_cast<std::size_t>(keep - buffer_.data());
  const std::size_t kept = size_ - at;
  if (at > 0) {
    std::memmove(buffer_.data(), buffer_.data() + at, kept);
    first_ += at;
    size_ = kept;
  }
  bool added = false;
  if (!done_) {
    const std::size_t want = std::max(step_, kept);
    if (buffer_.size() < kept + want + kPadding) buffer_.resize(kept + want + kPadding);
    const double before = thread_seconds();
    auto got = source_.read(std::span(buffer_.data() + kept, want));
    seconds_ += thread_seconds() - before;
    if (!got) {
      failure_ = std::move(got).error();
      done_ = true;
    } else if (*got == 0) {
      done_ = true;
    } else {
      size_ += *got;
      added = true;
    }
  }
  std::memset(buffer_.data() + size_, 0, kPadding);
  keep = buffer_.data();
  return added;
}

}  // namespace ergon::trace::kineto
