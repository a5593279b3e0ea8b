// Events of a table -> pieces. Everything dear is done once a distinct text: names, arguments,
// operators, pieces.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "ergon/work.hpp"
#include "pieces.hpp"

namespace ergon::work {
namespace {

using trace::EventId;
using trace::EventKind;
using trace::EventTable;
using trace::kNoEvent;
using trace::StringId;

/// An operator as far as its work goes: its name and arguments, those of the operator around it
/// where its own do not suffice, and a result's dimensions found elsewhere.
struct OperatorKey {
  StringId name = 0, detail = 0, outer_name = 0, outer_detail = 0;
  std::uint64_t output = 0;
  friend bool operator==(const OperatorKey&, const OperatorKey&) = default;
};

std::size_t mix(std::size_t seed, std::uint64_t value) {
  std::uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6U) + (seed >> 2U));
  x ^= x >> 31U;
  return x * 0xbf58476d1ce4e5b9ULL;
}

struct OperatorHash {
  std::size_t operator()(const OperatorKey& k) const {
    return mix(mix(mix(mix(mix(1, k.name), k.detail), k.outer_name), k.outer_detail), k.output);
  }
};

struct PieceKey {
  StringId kernel = 0, launch = 0;
  std::uint32_t op = 0;
  Company company;
  friend bool operator==(const PieceKey&, const PieceKey&) = default;
};

struct PieceHash {
  std::size_t operator()(const PieceKey& k) const {
    const Company& c = k.company;
    const std::uint64_t company =
        (std::uint64_t{c.mains} << 32U) | (std::uint64_t{c.data_gradients} << 20U) |
        (std::uint64_t{c.weight_gradients} << 8U) | (c.unknown_are_mains ? 16U : 0U) |
        static_cast<std::uint64_t>(c.shortcut);
    return mix(mix(mix(mix(2, k.kernel), k.launch), k.op), company);
  }
};

constexpr std::uint32_t kNoOperator = 0xffffffffU;
constexpr std::size_t kLookAround =
    48;  // operators searched before and after one for what it does not say itself

class Classifier {
 public:
  explicit Classifier(const EventTable& table) : t_(table) {}

  Classified run(std::span<const EventId> events, std::span<const EventId> operators) {
    ERGON_CHECK(events.size() == operators.size(), "one operator (or kNoEvent) for each event");
    out_.piece.resize(events.size());
    std::vector<std::uint32_t> order(events.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
      return operators[a] != operators[b] ? operators[a] < operators[b] : a < b;
    };
    if (!std::is_sorted(order.begin(), order.end(), earlier))
      std::sort(order.begin(), order.end(), earlier);
    std::size_t begin = 0;
    while (begin < order.size()) {
      const EventId op = operators[order[begin]];
      std::size_t end = begin + 1;
      while (end < order.size() && operators[order[end]] == op) ++end;
      group(std::span(order).subspan(begin, end - begin), events, op);
      begin = end;
    }
    shares(events);
    return std::move(out_);
  }

 private:
  struct Operator {
    std::string_view name;
    std::optional<OperatorWork> work;
  };

  const KernelName& kernel_name(StringId id) {
    const auto [it, fresh] = names_.try_emplace(id);
    if (fresh) it->second = read_kernel_name(t_.strings.view(id));
    return it->second;
  }

  const Arguments& arguments(StringId id) {
    const auto [it, fresh] = arguments_.try_emplace(id);
    if (fresh) it->second = read_arguments(t_.strings.view(id));
    return it->second;
  }

  void group(std::span<const std::uint32_t> members, std::span<const EventId> events, EventId op) {
    std::uint32_t index = kNoOperator;
    Company company;
    if (op != kNoEvent) {
      index = find_operator(op);
      const auto& work = operators_[index].work;
      if (work) {
        kernels_.clear();
        for (const std::uint32_t i : members) {
          if (t_.kind[events[i]] == EventKind::kKernel)
            kernels_.push_back(&kernel_name(t_.name[events[i]]));
        }
        company = company_of(kernels_, work->family);
      }
    }
    for (const std::uint32_t i : members) out_.piece[i] = piece(events[i], index, company);
  }

  std::uint32_t piece(EventId e, std::uint32_t op, const Company& company) {
    PieceKey key;
    key.kernel = t_.name[e];
    const EventKind kind = t_.kind[e];
    if (kind == EventKind::kKernel) {
      const KernelName& k = kernel_name(key.kernel);
      key.op = op;
      key.company = company;
      // The launch's own arguments matter for messages and grids only; a graph's node ids would
      // make every launch new.
      if (k.kind == model::WorkClass::kCollective ||
          ((k.items_per_block > 0 || k.items_per_thread > 0) &&
           (op == kNoOperator || !operators_[op].work))) {
        key.launch = t_.detail[e];
      }
      if (k.kind == model::WorkClass::kCollective) key.op = kNoOperator;
    } else {
      key.launch = t_.detail[e];
      key.op = kNoOperator - 1 - (kind == EventKind::kMemset ? 1U : 0U);
    }
    const auto [it, fresh] =
        pieces_.try_emplace(key, static_cast<std::uint32_t>(out_.pieces.size()));
    if (fresh) out_.pieces.push_back(make_piece(e, key));
    return it->second;
  }

  Piece make_piece(EventId e, const PieceKey& key) {
    const Arguments& launch = arguments(key.launch);
    switch (t_.kind[e]) {
      case EventKind::kCopy:
        return piece_of_copy(t_.strings.view(key.kernel), launch);
      case EventKind::kMemset:
        return piece_of_memset(launch);
      default:
        break;
    }
    const KernelName& k = kernel_name(key.kernel);
    if (k.kind == model::WorkClass::kCollective) return piece_of_collective(launch);
    if (key.op == kNoOperator) return piece_by_name(k, launch);
    const Operator& op = operators_[key.op];
    return piece_of(k, op.name, op.work, key.company, launch);
  }

  std::uint32_t find_operator(EventId op) {
    OperatorKey key{t_.name[op], t_.detail[op], 0, 0, 0};
    // First by its own arguments; the way to a neighbour is gone only where these do not suffice.
    const auto [plain, fresh] =
        by_key_.try_emplace(key, static_cast<std::uint32_t>(operators_.size()));
    if (fresh) operators_.push_back(make_operator(key, std::nullopt));
    if (operators_[plain->second].work) return plain->second;
    const std::uint32_t without = plain->second;
    std::optional<Dims> output;
    if (const auto wanted = wanted_output(t_.strings.view(key.name), arguments(key.detail))) {
      output = result_after(op, *wanted);
      if (output) {
        for (const std::int64_t d : *output)
          key.output = mix(key.output + 1, static_cast<std::uint64_t>(d));
      }
    } else if (const EventId outer = outer_convolution(op); outer != kNoEvent) {
      key.outer_name = t_.name[outer];
      key.outer_detail = t_.detail[outer];
    }
    if (!output && key.outer_name == 0) return without;
    const auto [it, new_key] =
        by_key_.try_emplace(key, static_cast<std::uint32_t>(operators_.size()));
    if (new_key) operators_.push_back(make_operator(key, output));
    return it->second;
  }

  Operator make_operator(const OperatorKey& key, const std::optional<Dims>& output) {
    const std::string_view name = t_.strings.view(key.name);
    if (key.outer_name == 0) return {name, operator_work(name, arguments(key.detail), output)};
    Operator op{name, operator_work(t_.strings.view(key.outer_name), arguments(key.outer_detail),
                                    std::nullopt)};
    if (op.work) op.work->products = 1;  // this operator computes one of its gradients
    return op;
  }

  /// The result's dimensions of a convolution, from the first of the next operators of its thread
  /// that takes a tensor of that batch and those channels.
  std::optional<Dims> result_after(EventId op, const WantedOutput& wanted) {
    const Nanos end = t_.end_ns(op);
    std::size_t seen = 0;
    for (EventId e = op + 1; e < t_.size() && t_.track[e] == t_.track[op] && seen < kLookAround;
         ++e) {
      if (t_.kind[e] != EventKind::kHostOp || t_.start_ns[e] < end) continue;
      ++seen;
      for (const Input& in : arguments(t_.detail[e]).inputs) {
        if (in.is_list || in.tensors.size() != 1) continue;
        const Dims& d = in.tensors[0];
        if (d.size() == wanted.rank && d[0] == wanted.batch && d[1] == wanted.channels) return d;
      }
    }
    return std::nullopt;
  }

  /// cudnn_convolution_backward around its two halves: it records all three tensors.
  EventId outer_convolution(EventId op) const {
    const std::string_view name = t_.name_of(op);
    if (name.find("convolution_backward_") == std::string_view::npos) return kNoEvent;
    const Nanos end = t_.end_ns(op);
    std::size_t seen = 0;
    for (EventId next = op; next > 0 && seen < kLookAround; --next, ++seen) {
      const EventId e = next - 1;
      if (t_.track[e] != t_.track[op]) break;
      if (t_.kind[e] == EventKind::kHostOp && t_.end_ns(e) >= end &&
          t_.name_of(e).ends_with("convolution_backward"))
        return e;
    }
    return kNoEvent;
  }

  void shares(std::span<const EventId> events) {
    double total = 0;
    std::array<double, model::kKnownKinds> time = {};
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto d = static_cast<double>(t_.duration_ns[events[i]]);
      time[static_cast<std::size_t>(out_.of(i).known)] += d;
      total += d;
    }
    if (total <= 0) return;
    for (std::size_t k = 0; k < time.size(); ++k) out_.shares[k] = time[k] / total;
  }

  const EventTable& t_;
  Classified out_;
  std::unordered_map<StringId, KernelName> names_;
  std::unordered_map<StringId, Arguments> arguments_;
  std::unordered_map<OperatorKey, std::uint32_t, OperatorHash> by_key_;
  std::unordered_map<PieceKey, std::uint32_t, PieceHash> pieces_;
  std::vector<Operator> operators_;
  std::vector<const KernelName*> kernels_;
};

}  // namespace

Classified classify(const EventTable& table, std::span<const EventId> gpu_events,
                    std::span<const EventId> operators) {
  return Classifier(table).run(gpu_events, operators);
}

std::vector<EventId> gpu_events_of(const EventTable& table) {
  std::vector<EventId> out;
  for (EventId e = 0; e < table.size(); ++e) {
    const EventKind k = table.kind[e];
    if (k == EventKind::kKernel || k == EventKind::kCopy || k == EventKind::kMemset)
      out.push_back(e);
  }
  return out;
}

std::vector<EventId> operators_of(const EventTable& table, std::span<const EventId> gpu_events) {
  // One sweep: events stand by track, start, longer first, so that open operators make a stack.
  struct ByCorrelation {
    std::int64_t process, correlation;
    EventId op;
  };
  std::vector<ByCorrelation> launches;
  std::unordered_map<std::int64_t, EventId> by_external_id;
  std::vector<EventId> open;
  std::uint32_t track = 0xffffffffU;
  for (EventId e = 0; e < table.size(); ++e) {
    if (table.track[e] != track) {
      track = table.track[e];
      open.clear();
    }
    const EventKind kind = table.kind[e];
    if (kind == EventKind::kHostOp) {
      while (!open.empty() && table.end_ns(open.back()) <= table.start_ns[e]) open.pop_back();
      open.push_back(e);
      if (table.external_id[e] >= 0) by_external_id.emplace(table.external_id[e], e);
    } else if (kind == EventKind::kApi && table.correlation[e] >= 0) {
      const Nanos start = table.start_ns[e];
      while (!open.empty() && table.end_ns(open.back()) < start) open.pop_back();
      EventId op = kNoEvent;
      for (auto it = open.rbegin(); it != open.rend() && op == kNoEvent; ++it) {
        if (table.end_ns(*it) >= start) op = *it;
      }
      if (op != kNoEvent)
        launches.push_back({table.tracks[track].process, table.correlation[e], op});
    }
  }
  const auto less = [](const ByCorrelation& a, const ByCorrelation& b) {
    return a.process != b.process ? a.process < b.process : a.correlation < b.correlation;
  };
  std::sort(launches.begin(), launches.end(), [&](const ByCorrelation& a, const ByCorrelation& b) {
    return less(a, b) || (!less(b, a) && a.op < b.op);
  });
  std::vector<EventId> out;
  out.reserve(gpu_events.size());
  for (const EventId e : gpu_events) {
    EventId op = kNoEvent;
    const std::int64_t correlation = table.correlation[e];
    if (correlation >= 0) {
      const ByCorrelation wanted{table.tracks[table.track[e]].process, correlation, kNoEvent};
      const auto it = std::lower_bound(launches.begin(), launches.end(), wanted, less);
      if (it != launches.end() && !less(wanted, *it)) op = it->op;
    }
    const std::int64_t external = table.external_id[e];
    if (op == kNoEvent && external >= 0 && external != correlation) {
      const auto it = by_external_id.find(external);
      if (it != by_external_id.end()) op = it->second;
    }
    out.push_back(op);
  }
  return out;
}

}  // namespace ergon::work
