// The legacy default stream: it waits for what blocking streams of its context were given before,
// and they wait for it. Nothing in a trace says which streams are blocking (PyTorch's are not), so
// a pair of streams must show it: no operation ever runs against the rule, and some that nothing
// else explains start just when it lets them.
#include <algorithm>

#include "draft.hpp"

namespace ergon::graph {
namespace {

constexpr int kEnough = 3;  // starts that only this rule explains

// What CUPTI and HIP call it.
constexpr bool is_default(std::int64_t stream) { return stream == 0 || stream == 7; }

class DefaultStreamFinder {
 public:
  explicit DefaultStreamFinder(Draft& d) : d_(d) {
    for (const OpEdge& e : d.op_edges) {
      if (d.op_start(e.to) - d.op_end(e.from) <= kTolerance) explained_.push_back(e.to);
    }
    std::sort(explained_.begin(), explained_.end());
  }

  void run() {
    for (std::uint32_t s = 0; s < d_.streams.size(); ++s) {
      const Stream& home = d_.streams[s];
      if (!is_default(home.stream) || home.launched.empty() || per_thread(home)) continue;
      for (std::uint32_t o = 0; o < d_.streams.size(); ++o) {
        const Stream& other = d_.streams[o];
        if (o == s || other.launched.empty() || is_default(other.stream) ||
            std::tie(other.table, other.process, other.gpu, other.context) !=
                std::tie(home.table, home.process, home.gpu, home.context)) {
          continue;
        }
        if (home.process != kNone) waits_ = wait_calls(d_, d_.processes[home.process]);
        shown_ = 0;
        found_.clear();
        if (follow(home, other) && follow(other, home) && shown_ >= kEnough)
          d_.op_edges.insert(d_.op_edges.end(), found_.begin(), found_.end());
      }
    }
  }

 private:
  // Launched through the API of per-thread default streams (..._ptsz, ..._ptds): then it is an
  // ordinary one.
  [[nodiscard]] bool per_thread(const Stream& s) const {
    const Draft::Ref r = d_.ref(d_.op_call[s.launched.front()]);
    const std::string_view name = r.table->name_of(r.event);
    return name.find("_ptsz") != std::string_view::npos ||
           name.find("_ptds") != std::string_view::npos;
  }

  // `to` waits for what was launched on `from` before. False when an operation did not.
  bool follow(const Stream& from, const Stream& to) {
    Op last = kNone;
    auto next = from.launched.begin();
    for (const Op k : to.launched) {
      const Nanos called = d_.start(d_.op_call[k]);
      Op newest = last;
      while (next != from.launched.end() && d_.start(d_.op_call[*next]) < called) newest = *next++;
      if (newest == kNone || newest == last) continue;
      last = newest;  // (those before it end before it, and those after k start after k)
      const Nanos late = d_.op_start(k) - d_.op_end(newest);
      if (late < -kRounding) return false;
      const Nanos bound = std::max(d_.launch_bound(k), d_.stream_bound(k));
      if (late <= kTolerance && d_.op_start(k) > bound + kTolerance &&
          !std::binary_search(explained_.begin(), explained_.end(), k) &&
          !wait_between(waits_, d_.start(d_.op_call[newest]), called)) {
        ++shown_;
      }
      if (late >= 0) found_.push_back({newest, k, Rule::kDefaultStream, Known::kInferred});
    }
    return true;
  }

  Draft& d_;
  std::vector<Op> explained_;  ///< by other waits, sorted
  std::vector<Nanos> waits_;   ///< what starts after an explicit wait shows nothing
  std::vector<OpEdge> found_;
  int shown_ = 0;
};

}  // namespace

void find_default_stream(Draft& d) {
  const auto busy = std::count_if(d.streams.begin(), d.streams.end(),
                                  [](const Stream& s) { return !s.launched.empty(); });
  if (busy > 1) DefaultStreamFinder(d).run();
}

}  // namespace ergon::graph
