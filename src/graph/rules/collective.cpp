// The members of a collective wait for the last of them. Members are found by communicator, message
// and sequence number where the trace has one, else by their order; what proves them is that they
// run at the same time and end together. From the moment at which the last one has begun, a member
// has a node of its own, its transfer.
#include <algorithm>
#include <map>
#include <string>

#include "draft.hpp"

namespace ergon::graph {
namespace {

// Members end together: clocks of GPUs differ by the first, the last packets of a long transfer by
// the second (a share of the shortest member).
constexpr Nanos kTogether = 20'000;
constexpr Nanos kTogetherShare = 100;

// The text of a member of a detail object, quotes included; empty where there is none.
std::string_view text_after(std::string_view detail, std::string_view key) {
  const std::size_t found = detail.find(key);
  if (found == std::string_view::npos) return {};
  std::string_view rest = detail.substr(found + key.size());
  const std::size_t at = rest.find_first_not_of(" :");
  if (at == std::string_view::npos) return {};
  rest.remove_prefix(at);
  if (rest.front() == '[') return rest.substr(0, rest.find(']'));
  if (rest.front() == '"') return rest.substr(0, rest.find('"', 1));
  return rest.substr(0, rest.find_first_of(",}"));
}

struct Member {
  Op op = 0;
  std::int32_t gpu = 0;
  std::int64_t sequence = -1;
  Nanos start = 0, end = 0;
};
using Members = std::vector<Member>;

class CollectiveFinder {
 public:
  explicit CollectiveFinder(Draft& d) : d_(d) {}

  void run() {
    std::size_t shared = 0;
    for (const auto& [key, members] : gather()) {
      shared += members.size();
      if (std::all_of(members.begin(), members.end(),
                      [](const Member& m) { return m.sequence >= 0; })) {
        by_sequence(members);
      } else if (!by_order(members)) {
        by_end(members);
      }
    }
    std::sort(d_.transfers.begin(), d_.transfers.end(), [](const Transfer& a, const Transfer& b) {
      return std::tie(a.at, a.group, a.op) < std::tie(b.at, b.group, b.op);
    });
    d_.note(
        "collective_not_together",
        "collectives that other GPUs run too, but of which no other member ends at the same time "
        "(clocks of hosts differ, or members are missing)",
        shared - d_.transfers.size());
  }

 private:
  // The collectives that several GPUs run, by what must be the same on all of them.
  std::map<std::string, Members> gather() const {
    std::map<std::string, Members> by_key;
    for (Op k = 0; k < d_.op_event.size(); ++k) {
      if (!d_.op_named(k, kNameCollective)) continue;
      const Draft::Ref r = d_.ref(d_.op_event[k]);
      const std::string_view detail = r.table->detail_of(r.event);
      std::string key(r.table->name_of(r.event));
      for (const char* part : {"\"Process Group Name\"", "\"Process Group Ranks\"", "\"dtype\""}) {
        key.append("|").append(text_after(detail, part));
      }
      // what a rank sends and receives may differ in an exchange of all with all
      if (key.find("SendRecv") == std::string::npos)
        key.append("|").append(text_after(detail, "\"In msg nelems\""));
      const std::int64_t sequence = text_after(detail, "\"Process Group Name\"").empty()
                                        ? -1
                                        : r.table->collective_seq.get(r.event).value_or(-1);
      by_key[key].push_back(
          {k, d_.streams[d_.op_stream[k]].gpu, sequence, d_.op_start(k), d_.op_end(k)});
    }
    std::erase_if(by_key, [](const auto& entry) {
      const Members& m = entry.second;
      return std::all_of(m.begin(), m.end(),
                         [&](const Member& x) { return x.gpu == m.front().gpu; });
    });
    for (auto& [key, members] : by_key) {
      std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
        return std::tie(a.end, a.gpu, a.op) < std::tie(b.end, b.gpu, b.op);
      });
    }
    return by_key;
  }

  void by_sequence(const Members& members) {
    std::map<std::int64_t, Members> groups;
    for (const Member& m : members) groups[m.sequence].push_back(m);
    for (const auto& [sequence, group] : groups) {
      couple(group, Known::kRecorded);
    }
  }

  // The n-th of every GPU, if nearly all of these prove to be together.
  bool by_order(const Members& members) {
    std::map<std::int32_t, std::size_t> seen;
    std::vector<Members> groups;
    for (const Member& m : members) {
      const std::size_t n = seen[m.gpu]++;
      if (n == groups.size()) groups.emplace_back();
      groups[n].push_back(m);
    }
    const auto sound =
        static_cast<std::size_t>(std::count_if(groups.begin(), groups.end(), [&](const Members& g) {
          return g.size() == seen.size() && together(g);
        }));
    if (10 * sound < 9 * groups.size()) return false;
    for (const Members& g : groups) couple(g, Known::kInferred);
    return true;
  }

  // Traces that begin or end at different collectives: those that end together.
  void by_end(const Members& members) {
    Members group;
    for (const Member& m : members) {
      group.push_back(m);
      if (together(group)) continue;
      group.pop_back();
      couple(group, Known::kInferred);
      group.assign(1, m);
    }
    couple(group, Known::kInferred);
  }

  // All at once at some moment, each on a GPU of its own, and the ends close.
  [[nodiscard]] static bool together(const Members& group) {
    Nanos last_start = kNever;
    Nanos first_end = group.front().end;
    Nanos last_end = kNever;
    Nanos shortest = group.front().end - group.front().start;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Member& m = group[i];
      for (std::size_t j = 0; j < i; ++j) {
        if (group[j].gpu == m.gpu) return false;
      }
      last_start = std::max(last_start, m.start);
      first_end = std::min(first_end, m.end);
      last_end = std::max(last_end, m.end);
      shortest = std::min(shortest, m.end - m.start);
    }
    return last_start <= first_end && last_end - first_end <= kTogether + shortest / kTogetherShare;
  }

  void couple(const Members& group, Known known) {
    if (group.size() < 2 || !together(group)) return;
    Nanos at = kNever;
    for (const Member& m : group) at = std::max(at, m.start);
    for (const Member& m : group) d_.transfers.push_back({m.op, groups_, at, known});
    ++groups_;
  }

  Draft& d_;
  std::uint32_t groups_ = 0;
};

}  // namespace

void find_collectives(Draft& d) {
  if (d.gpus.size() > 1) CollectiveFinder(d).run();
}

void place_transfers(Draft& d) {
  d.first_transfer = static_cast<Pre>(d.op_event.size() + d.host_event.size());
  for (const Transfer& t : d.transfers) {
    d.transfer_of.emplace_back(t.op, d.first_transfer + static_cast<Pre>(d.transfer_of.size()));
    d.host_event.push_back(d.op_event[t.op]);
    d.host_kind.push_back(NodeKind::kCollective);
    d.host_start.push_back(t.at);
    d.host_duration.push_back(d.op_end(t.op) - t.at);
    d.host_annotation.push_back(0);
  }
  std::sort(d.transfer_of.begin(), d.transfer_of.end());
}

}  // namespace ergon::graph
