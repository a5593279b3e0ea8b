// Operations that no rule explains but that start just when work on another stream ends. With a
// stream wait called between the two launches, or inside one CUDA graph, that is an event wait
// (inferred). Else the GPU was full: the operation was ready while the other ran, and got its
// multiprocessors. That is inferred when the other's grid can fill the GPU, and assumed where
// nothing says so.
#include <algorithm>
#include <charconv>

#include "draft.hpp"
#include "ergon/base/radix_sort.hpp"

namespace ergon::graph {
namespace {

constexpr int kNearest = 32;  // operations looked at before and after the start
// The last blocks of a kernel leave room before it ends: within this share of its duration.
constexpr Nanos kTailShare = 50;

// The product of the numbers in `"key": [a, b, c]`; 0 where there are none.
double product_after(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  at = text.find('[', at);
  if (at == std::string_view::npos) return 0;
  double product = 1;
  for (int i = 0; i < 3; ++i) {
    at = text.find_first_of("0123456789", at);
    if (at == std::string_view::npos) return 0;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{}) return 0;
    product *= value;
    at = static_cast<std::size_t>(end - text.data());
  }
  return product;
}

class CoincidenceFinder {
 public:
  CoincidenceFinder(Draft& d, std::uint32_t table)
      : d_(d), table_(table), waits_(d.processes.size()) {}

  void run() {
    std::size_t busy = 0;
    for (const Stream& s : d_.streams) busy += s.table == table_ && s.first < s.last ? 1 : 0;
    if (busy < 2) return;
    const std::vector<Op> late = unexplained();
    if (late.empty()) return;
    for (const Stream& s : d_.streams) {
      if (s.table != table_) continue;
      for (Op k = s.first; k < s.last; ++k) by_end_.emplace_back(d_.op_end(k), k);
    }
    // Operations ascend: of equal ends they stay so.
    radix_sort(by_end_, [](const auto& entry) { return entry.first; });
    for (std::size_t p = 0; p < d_.processes.size(); ++p) {
      if (d_.processes[p].table == table_) waits_[p] = wait_calls(d_, d_.processes[p]);
    }
    for (const Op k : late) explain(k);
  }

 private:
  std::vector<Op> unexplained() const {
    std::vector<Op> waited;
    for (const OpEdge& e : d_.op_edges) {
      if (d_.op_start(e.to) - d_.op_end(e.from) <= kTolerance) waited.push_back(e.to);
    }
    std::sort(waited.begin(), waited.end());
    std::vector<Op> late;
    for (const Stream& s : d_.streams) {
      if (s.table != table_) continue;
      for (Op k = s.first; k < s.last; ++k) {
        const Nanos bound = std::max(d_.launch_bound(k), d_.stream_bound(k));
        if (bound == kNever || d_.op_start(k) <= bound + kTolerance) continue;
        if (!std::binary_search(waited.begin(), waited.end(), k)) late.push_back(k);
      }
    }
    return late;
  }

  [[nodiscard]] std::int32_t gpu(Op k) const { return d_.streams[d_.op_stream[k]].gpu; }
  [[nodiscard]] std::uint32_t process(Op k) const { return d_.streams[d_.op_stream[k]].process; }

  void explain(Op k) {
    const Nanos start = d_.op_start(k);
    const auto at = std::upper_bound(by_end_.begin(), by_end_.end(), std::pair(start, kNone));
    Op best = kNone;
    const auto consider = [&](Op x) {
      if (d_.op_stream[x] == d_.op_stream[k] || d_.op_start(x) >= start) return;
      if (best == kNone || distance(x, start) < distance(best, start)) best = x;
    };
    int tries = kNearest;
    for (auto it = at; it != by_end_.begin() && tries-- > 0;) {
      --it;
      if (it->first < start - kTolerance) break;
      if (process(it->second) == process(k)) consider(it->second);
    }
    tries = kNearest;
    for (auto it = at; it != by_end_.end() && tries-- > 0; ++it) {
      const Op x = it->second;
      if (gpu(x) == gpu(k) &&
          it->first - start <= std::max(kTolerance, d_.duration(d_.op_event[x]) / kTailShare)) {
        consider(x);
      }
    }
    if (best == kNone) return;
    if (d_.op_end(best) <= start + kRounding && waited_for(best, k)) {
      d_.op_edges.push_back({best, k, Rule::kEventWait, Known::kInferred});
    } else if (gpu(best) == gpu(k)) {
      d_.op_edges.push_back(
          {best, k, Rule::kSharedGpu, fills_gpu(best) ? Known::kInferred : Known::kAssumed});
    }
  }
  [[nodiscard]] Nanos distance(Op x, Nanos start) const { return std::abs(d_.op_end(x) - start); }

  // Does the order of the calls allow that `k` waits for `x`?
  [[nodiscard]] bool waited_for(Op x, Op k) const {
    const std::uint32_t before = d_.op_call[x];
    const std::uint32_t after = d_.op_call[k];
    if (before == kNone || after == kNone) return false;
    if (before == after) return true;
    return process(k) != kNone &&
           wait_between(waits_[process(k)], d_.start(before), d_.start(after));
  }

  // At least two blocks for each multiprocessor, or 1,024 threads.
  [[nodiscard]] bool fills_gpu(Op x) const {
    const Draft::Ref r = d_.ref(d_.op_event[x]);
    const std::string_view detail = r.table->detail_of(r.event);
    const double blocks = product_after(detail, "\"grid\"");
    const double threads = product_after(detail, "\"block\"");
    double multiprocessors = 100;
    for (const trace::GpuProperties& p : r.table->gpus) {
      if (p.device == d_.gpus[static_cast<std::size_t>(gpu(x))].device && p.sm_count > 0)
        multiprocessors = p.sm_count;
    }
    return blocks >= 2 * multiprocessors || blocks * threads >= 1024 * multiprocessors;
  }

  Draft& d_;
  std::uint32_t table_;
  std::vector<std::pair<Nanos, Op>> by_end_;
  std::vector<std::vector<Nanos>> waits_;
};

}  // namespace

std::vector<Nanos> wait_calls(const Draft& d, const Process& p) {
  std::vector<Nanos> times;
  for (const std::uint32_t call : p.calls) {
    if (d.api(call) == ApiClass::kStreamWait) times.push_back(d.start(call));
  }
  return times;
}

bool wait_between(const std::vector<Nanos>& waits, Nanos begin, Nanos end) {
  const auto it = std::lower_bound(waits.begin(), waits.end(), begin);
  return it != waits.end() && *it < end;
}

void find_coincidences(Draft& d) {
  for (std::uint32_t table = 0; table < d.tables.size(); ++table) CoincidenceFinder(d, table).run();
}

}  // namespace ergon::graph
