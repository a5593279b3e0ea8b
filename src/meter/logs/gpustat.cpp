// gpustat's plain text: a line of host and time, then a line a GPU with its cells between pipes.
#include <algorithm>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t at = text.find(separator);
    out.push_back(trim(text.substr(0, at)));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

// "node-7        Mon Jan  1 12:00:00 2024  535.54.03": the driver is not always there.
std::optional<Stamp> time_of_header(std::string_view text) {
  const std::size_t blank = text.find("  ");
  if (blank == std::string_view::npos || blank == 0 || text.size() > 200) return std::nullopt;
  if (text.substr(0, blank).find_first_of(" \t,;|") != std::string_view::npos) return std::nullopt;
  if (wall_time(text)) return std::nullopt;  // "Fri  Jan ..." is a time of its own
  std::string_view rest = trim(text.substr(blank));
  auto stamp = wall_time(rest);
  if (!stamp) {
    const std::size_t last = rest.rfind(' ');
    if (last == std::string_view::npos) return std::nullopt;
    stamp = wall_time(trim(rest.substr(0, last)));
  }
  const bool dated =
      stamp && (stamp->kind == Stamp::Kind::kLocal || stamp->kind == Stamp::Kind::kUtc);
  return dated ? stamp : std::nullopt;
}

class Gpustat final : public Reader {
 public:
  bool begins(const Line& line) override {
    const auto stamp = time_of_header(trim(line.text));
    if (!stamp) return false;
    time_ = stamp;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    const std::string_view t = trim(line.text);
    if (t.empty() || t.front() != '[') return false;
    const std::size_t close = t.find(']');
    if (close == std::string_view::npos || close < 2 || close > 4 ||
        !std::ranges::all_of(t.substr(1, close - 1), [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    const auto cells = parts_of(t.substr(close + 1), '|');
    const bool hot = cells.size() > 1 && (cells[1].find("'C") != std::string_view::npos ||
                                          cells[1].find("\xc2\xb0"
                                                        "C") != std::string_view::npos);
    // "12345 / 81920 MB" ends what is known of each GPU; processes follow.
    const bool whole = hot && cells.size() > 2 && cells[2].ends_with('B');
    if (!whole) {
      if (!line.unended || !seen_) return false;
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    seen_ = true;
    out.format("gpustat");
    out.begin_row(line.number);
    out.set_gpu(t.substr(1, close - 1));
    if (time_) out.set_time(*time_);
    put(out, "name", cells[0]);
    readings(cells[1], out);
    put(out, "memory_used_bytes", trim(cells[2].substr(0, cells[2].find('/'))));
    return true;
  }

 private:
  static void put(Builder& out, const char* column, std::string_view text) {
    const bool unknown = text.starts_with("??");
    out.set_cell(canonical_field(column), unknown ? std::string_view() : text);
  }

  // "45'C,  30 %,  97 % (E: 3 %  D: 0 %),  250 / 400 W": of two shares the first is the fan's.
  static void readings(std::string_view text, Builder& out) {
    std::vector<std::string_view> shares;
    for (const std::string_view item : parts_of(text, ',')) {
      if (item.ends_with('C')) {
        const std::size_t end = item.find_first_of("'\xc2");
        put(out, "temperature_c", trim(item.substr(0, end)));
      } else if (item.ends_with('W')) {
        const std::size_t slash = item.find('/');
        std::string_view draw = item.substr(0, slash);
        if (draw.ends_with('W')) draw.remove_suffix(1);
        put(out, "power_w", trim(draw));
        if (slash != std::string_view::npos)
          put(out, "power_limit_w", trim(item.substr(slash + 1)));
      } else if (item.find('%') != std::string_view::npos) {
        shares.push_back(trim(item.substr(0, item.find('%'))));
      }
    }
    if (!shares.empty()) put(out, "utilization", shares.back());
    if (shares.size() > 1) put(out, "fan_speed_ratio", shares.front());
  }

  std::optional<Stamp> time_;
  bool seen_ = false;
};

}  // namespace

std::unique_ptr<Reader> gpustat_reader() { return std::make_unique<Gpustat>(); }

}  // namespace ergon::meter::logs
