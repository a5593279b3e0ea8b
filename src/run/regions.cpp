// Reads the ring of marks and pairs begins with ends.
#include "ergon/run/regions.hpp"

#include <ergon_ring.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "ergon/io.hpp"

namespace ergon::run {
namespace {

constexpr std::uint32_t kSlots = 32768;
constexpr std::size_t kBytes = sizeof(ergon_ring_header) + kSlots * sizeof(ergon_ring_record);
static_assert(sizeof(ergon_ring_record) == 128 && sizeof(ergon_ring_header) == 192);

}  // namespace

struct RegionRing::Impl {
  std::string path;
  ergon_ring_header* header = nullptr;
  ergon_ring_record* records = nullptr;
  std::uint64_t tail = 0;
  std::uint64_t lost_before = 0;
  Marks marks;
  std::map<std::string, std::size_t, std::less<>> by_name;
  struct Open {
    std::size_t region;
    Nanos start_ns;
  };
  std::unordered_map<std::uint64_t, Open> open;

  ~Impl() {
    if (header != nullptr) ::munmap(header, kBytes);
    if (!path.empty()) ::unlink(path.c_str());
  }

  std::size_t region_of(std::string_view name) {
    const auto found = by_name.find(name);
    if (found != by_name.end()) return found->second;
    marks.regions.push_back({std::string(name), {}});
    by_name.emplace(std::string(name), marks.regions.size() - 1);
    return marks.regions.size() - 1;
  }

  void close_span(const Open& begun, Nanos end_ns, bool cut) {
    marks.regions[begun.region].spans.push_back(
        {begun.start_ns, std::max(end_ns, begun.start_ns), cut});
  }

  void take_in(const ergon_ring_record& record) {
    if (record.kind == ERGON_RECORD_BEGIN) {
      const std::string_view name(record.name, ::strnlen(record.name, ERGON_RING_NAME));
      open[record.region] = {region_of(io::valid_utf8(name)), record.time_ns};
      return;
    }
    const auto found = open.find(record.region);
    if (record.kind != ERGON_RECORD_END || found == open.end()) {
      ++marks.unmatched;
      return;
    }
    close_span(found->second, record.time_ns, false);
    open.erase(found);
  }

  // A slot that was claimed and never filled belongs to a writer that died; `over` says that nobody
  // writes any more.
  void drain(bool over) {
    for (;;) {
      ergon_ring_record& record = records[tail & (kSlots - 1)];
      const std::uint64_t lap = tail / kSlots;
      const std::uint64_t turn = __atomic_load_n(&record.turn, __ATOMIC_ACQUIRE);
      if (turn == 2 * lap + 1) {
        take_in(record);
      } else if (over && tail < __atomic_load_n(&header->head, __ATOMIC_ACQUIRE)) {
        ++marks.lost;
      } else {
        return;
      }
      __atomic_store_n(&record.turn, 2 * (lap + 1), __ATOMIC_RELEASE);
      ++tail;
    }
  }
};

RegionRing::RegionRing(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RegionRing::RegionRing(RegionRing&&) noexcept = default;
RegionRing& RegionRing::operator=(RegionRing&&) noexcept = default;
RegionRing::~RegionRing() = default;

Result<RegionRing> RegionRing::create(const std::string& folder) {
  auto impl = std::make_unique<Impl>();
  const std::string path = folder + "/regions";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const auto broken = [&](const char* what) {
    return fail(Errc::kIo, std::string("cannot ") + what + " " + path + ": " + std::strerror(errno),
                "is there room in that folder?");
  };
  if (file < 0) return broken("make");
  impl->path = path;
  if (::ftruncate(file, static_cast<off_t>(kBytes)) != 0) {
    auto error = broken("size");
    ::close(file);
    return error;
  }
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) return broken("map");
  impl->header = static_cast<ergon_ring_header*>(memory);
  impl->records = reinterpret_cast<ergon_ring_record*>(impl->header + 1);
  impl->header->slots = kSlots;
  impl->header->record_bytes = sizeof(ergon_ring_record);
  __atomic_store_n(&impl->header->magic, ERGON_RING_MAGIC, __ATOMIC_RELEASE);
  return RegionRing(std::move(impl));
}

const std::string& RegionRing::path() const { return impl_->path; }

void RegionRing::drain() { impl_->drain(false); }

Marks RegionRing::take(Nanos end_ns) {
  Impl& impl = *impl_;
  impl.drain(true);
  for (const auto& [region, begun] : impl.open) impl.close_span(begun, end_ns, true);
  impl.open.clear();
  for (Region& region : impl.marks.regions) {
    std::ranges::sort(region.spans, [](const Span& a, const Span& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
    });
  }
  const std::uint64_t lost = __atomic_load_n(&impl.header->lost, __ATOMIC_RELAXED);
  impl.marks.lost += lost - impl.lost_before;
  impl.lost_before = lost;
  impl.by_name.clear();
  return std::exchange(impl.marks, {});
}

}  // namespace ergon::run
