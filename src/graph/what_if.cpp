// Changes of durations by name.
#include <regex.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "impl.hpp"

namespace ergon::graph {
namespace {

constexpr const char* kSpellings =
    "write kernel=~REGEX:xFACTOR, copy=~REGEX:xFACTOR or host=~REGEX:xFACTOR (for example "
    "'kernel=~gemm:x0.5'), or a time "
    "to add or take away in place of xFACTOR: +10us, -1ms";

enum class Target : std::uint8_t { kKernel, kCopy, kHost };

bool hits(Target target, NodeKind kind) {
  switch (target) {
    case Target::kKernel:
      return kind == NodeKind::kKernel || kind == NodeKind::kCollective;
    case Target::kCopy:
      return kind == NodeKind::kCopy || kind == NodeKind::kMemset;
    case Target::kHost:
      return !on_gpu(kind);
  }
  return false;
}

std::optional<double> number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> unit_ns(std::string_view unit) {
  if (unit == "ns") return 1.0;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  return std::nullopt;
}

// Why the expression is refused before the C library sees it, which recurses over groups and writes
// counted repeats out; empty: fine.
std::string too_complex(std::string_view pattern) {
  constexpr std::size_t kLongest = 1000;
  constexpr std::size_t kDeepest = 100;
  constexpr std::uint64_t kLargest = 5000;  // characters with all counted repeats written out
  if (pattern.size() > kLongest) return "the expression has more than 1,000 characters";
  std::vector<std::uint64_t> groups{0};
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '(') {
      groups.push_back(0);
      if (groups.size() > kDeepest) return "groups lie more than 100 deep";
      continue;
    }
    if (c == '{') {
      std::uint64_t most = 0;
      std::uint64_t count = 0;
      for (++i; i < pattern.size() && pattern[i] != '}'; ++i) {
        const bool digit = pattern[i] >= '0' && pattern[i] <= '9';
        count = digit ? std::min<std::uint64_t>(
                            count * 10 + static_cast<std::uint64_t>(pattern[i] - '0'), kLargest)
                      : 0;
        most = std::max(most, count);
      }
      groups.back() += most * last;
      last *= std::max<std::uint64_t>(1, most);
    } else {
      last = 1;
      if (c == ')' && groups.size() > 1) {
        last = groups.back() + 1;
        groups.pop_back();
      } else if (c == '\\') {
        ++i;
      } else if (c == '[') {
        i += i + 1 < pattern.size() && pattern[i + 1] == '^' ? 2 : 1;
        while (i + 1 < pattern.size() && pattern[i + 1] != ']') ++i;
        ++i;
      }
      groups.back() += last;
    }
    if (groups.back() > kLargest) return "its counted repeats are too many when written out";
  }
  return {};
}

}  // namespace

struct WhatIf::Impl {
  Target target = Target::kKernel;
  regex_t regex{};
  double factor = 1;
  Nanos add = 0;
  bool compiled = false;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (compiled) regfree(&regex);
  }
};

Result<WhatIf> WhatIf::parse(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::kInvalidArgument, "what-if rule '" + std::string(text) + "': " + why,
                kSpellings);
  };
  const std::size_t match = text.find("=~");
  const std::size_t colon = text.rfind(':');
  if (match == std::string_view::npos) return refuse("no =~ in it");
  if (colon == std::string_view::npos || colon < match + 2) return refuse("no :xFACTOR at its end");
  auto impl = std::make_shared<Impl>();
  const std::string_view what = text.substr(0, match);
  if (what == "kernel") {
    impl->target = Target::kKernel;
  } else if (what == "copy") {
    impl->target = Target::kCopy;
  } else if (what == "host") {
    impl->target = Target::kHost;
  } else {
    return refuse("'" + std::string(what) + "' is none of kernel, copy, host");
  }
  const std::string pattern(text.substr(match + 2, colon - match - 2));
  if (pattern.find('\0') != std::string::npos) return refuse("a zero byte in the expression");
  if (const std::string why = too_complex(pattern); !why.empty()) return refuse(why);
  const int status = regcomp(&impl->regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (status != 0) {
    std::string why(256, '\0');
    why.resize(regerror(status, &impl->regex, why.data(), why.size()));
    while (!why.empty() && why.back() == '\0') why.pop_back();
    return refuse("'" + pattern + "' is no extended regular expression (" + why + ")");
  }
  impl->compiled = true;

  const std::string_view change = text.substr(colon + 1);
  std::string_view rest;
  if (change.starts_with('x')) {
    const auto value = number(change.substr(1), rest);
    if (!value || !rest.empty() || *value < 0 || *value > 1e6)
      return refuse("the factor must be a number from 0 to 1e6");
    impl->factor = *value;
  } else if (change.starts_with('+') || change.starts_with('-')) {
    const auto value = number(change.substr(1), rest);
    const auto unit = unit_ns(rest);
    if (!value || !unit || *value < 0)
      return refuse("the time must be a number with ns, us, ms or s");
    if (*value * *unit > 1e15) return refuse("the time is longer than 1000000 s");
    impl->add = static_cast<Nanos>(std::llround(*value * *unit)) * (change[0] == '-' ? -1 : 1);
  } else {
    return refuse("'" + std::string(change) + "' is neither xFACTOR nor a time with a sign");
  }
  WhatIf rule;
  rule.impl_ = std::move(impl);
  return rule;
}

std::uint64_t WhatIf::apply(const Graph& graph, std::span<Nanos> durations) const {
  std::vector<bool> touched(durations.size(), false);
  return apply(graph, durations, touched);
}

std::uint64_t WhatIf::apply(const Graph& graph, std::span<Nanos> durations,
                            std::vector<bool>& touched) const {
  const Graph::Impl& g = graph.impl();
  ERGON_CHECK(touched.size() == g.size(), "one mark a node");
  ERGON_CHECK(durations.size() == g.size(), "one duration a node");
  enum : std::uint8_t { kUnknown, kNo, kYes };
  std::vector<std::vector<std::uint8_t>> verdict;  // [table][string]: names repeat
  verdict.reserve(g.tables.size());
  for (const trace::EventTable* table : g.tables)
    verdict.emplace_back(table->strings.size(), kUnknown);
  std::uint64_t hit = 0;
  for (NodeId n = 0; n < g.size(); ++n) {
    if (!hits(impl_->target, g.kind[n]) || graph.transfer(n) != n) continue;
    const std::uint32_t t = g.table_of(g.event[n]);
    const trace::EventId e = g.event[n] - g.base[t];
    std::uint8_t& v = verdict[t][g.tables[t]->name[e]];
    if (v == kUnknown) {
      const std::string name(g.tables[t]->name_of(e));
      v = regexec(&impl_->regex, name.c_str(), 0, nullptr, 0) == 0 ? kYes : kNo;
    }
    if (v != kYes) continue;
    ++hit;
    touched[n] = true;
    const double scaled = static_cast<double>(durations[n]) * impl_->factor;
    durations[n] = static_cast<Nanos>(std::llround(std::min(scaled, 4e18)));
    // a host operation in several pieces gets the time once, in its first
    const bool first = on_gpu(g.kind[n]) || g.start[n] == g.tables[t]->start_ns[e] + g.clock[t];
    if (first) durations[n] = std::max<Nanos>(0, durations[n] + impl_->add);
  }
  return hit;
}

}  // namespace ergon::graph
