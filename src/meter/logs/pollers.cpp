// What small pollers print: "[000] Power: 290.6, Util: 100 Temp: 55", and rocm-smi's lines.
#include <algorithm>
#include <cmath>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

// Pairs of "Name: value" on one line.
class KeyValue final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override {
    const std::string_view t = trim(line.text);
    if (t.size() > 400 || t.find_first_of(":=") == std::string_view::npos) return false;
    return rocm(t, line, out) || pairs(t, line, out);
  }

 private:
  // "GPU[0]		: Average Graphics Package Power (W): 35.0"
  bool rocm(std::string_view t, const Line& line, Builder& out) {
    if (!t.starts_with("GPU[")) return false;
    const std::size_t close = t.find(']');
    const std::size_t colon = t.find(':', close);
    const std::size_t last = t.rfind(':');
    if (close == std::string_view::npos || colon == std::string_view::npos || last == colon)
      return false;
    const std::string id(t.substr(4, close - 4));
    const std::string_view name = trim(t.substr(colon + 1, last - colon - 1));
    const std::string_view value = trim(t.substr(last + 1));
    const Field field = field_of(name);
    // "sclk clock level: 1: (1700Mhz)", or "1 (1700Mhz)": the level is no clock.
    const auto number = number_of(value);
    if (!field.fixed || (field.needs_unit && number && number->rest.empty())) return true;
    // The same reading of the same GPU again is the next sample.
    const std::string key = id + '\n' + field.name;
    const bool again = std::ranges::find(seen_, key) != seen_.end();
    if (again || seen_.empty() || id != rocm_gpu_) {
      if (again) seen_.clear();
      out.format("rocm-smi");
      out.begin_row(line.number);
      out.set_gpu(id);
      rocm_gpu_ = id;
    }
    seen_.push_back(key);
    out.set_cell(field, value);
    return true;
  }

  bool pairs(std::string_view t, const Line& line, Builder& out) {
    struct Pair {
      Field field;
      std::string_view value;
    };
    std::vector<Pair> found;
    std::optional<Stamp> stamp;
    std::string_view rest = t;
    // A sample number, or a time, in brackets.
    if (rest.front() == '[') {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) return false;
      stamp = wall_time(rest.substr(1, close - 1));
      rest = trim(rest.substr(close + 1));
      if (rest.starts_with('[')) return false;  // a message of a logging library
    } else {
      const std::size_t first = rest.find_first_of(" ,");
      if (first != std::string_view::npos) {
        stamp = wall_time(rest.substr(0, first));
        if (stamp) rest = trim(rest.substr(first + 1));
      }
      if (!stamp && rest.size() > 19) {
        std::size_t second =
            first == std::string_view::npos ? first : rest.find_first_of(" ,", first + 1);
        if (second != std::string_view::npos) {
          stamp = wall_time(rest.substr(0, second));
          if (stamp) rest = trim(rest.substr(second + 1));
        }
      }
    }
    std::string_view gpu;
    while (!rest.empty()) {
      const std::size_t colon = rest.find_first_of(":=");
      if (colon == std::string_view::npos || colon == 0) break;
      std::string_view name = trim(rest.substr(0, colon));
      rest = trim(rest.substr(colon + 1));
      const auto number = number_of(rest);
      std::size_t end = rest.find_first_of(",;|");
      if (number) {
        // The value ends after its unit, if that is one.
        const std::size_t digits = rest.size() - number->rest.size();
        const std::size_t word = std::min(number->rest.find_first_of(" ,;|"), number->rest.size());
        if (unit_of(number->rest.substr(0, word))) {
          end = std::min(end, digits + word);
        } else {
          end = std::min(end, static_cast<std::size_t>(rest.find_first_of(" ,;|")));
        }
      } else {
        end = std::min(end, rest.find(' '));
      }
      if (end == std::string_view::npos) end = rest.size();
      const std::string_view value = trim(rest.substr(0, end));
      rest = rest.substr(std::min(end, rest.size()));
      while (!rest.empty() && (rest.front() == ',' || rest.front() == ' ' || rest.front() == ';' ||
                               rest.front() == '|'))
        rest.remove_prefix(1);
      while (!name.empty() && (name.front() == '-' || name.front() == '*' || name.front() == ' '))
        name.remove_prefix(1);
      // Names of one to three words: sentences have other sense.
      if (std::ranges::count(name, ' ') > 2 || name.size() > 40) return false;
      Field field = field_of(name);
      // ipmitool dcmi power reading: the node's.
      const std::string words = lower(name);
      if (words == "instantaneous power reading") {
        field = canonical_field("system_power_w");
        out.no_gpu();
      } else if (words.find("sampl") != std::string::npos) {
        continue;  // "Average power reading over sample period"
      }
      if (field.role == Field::Role::kGpu) {
        gpu = value;
        continue;
      }
      if (field.role == Field::Role::kTime) {
        if (!stamp) stamp = wall_time(value);
        if (!stamp) stamp = number_time(value, std::nullopt);
        continue;
      }
      if (field.lane >= 0 || !field.fixed || value.empty() || (!number && !missing_marker(value)))
        continue;
      found.push_back({std::move(field), value});
    }
    const bool reading = std::ranges::any_of(found, [](const Pair& p) {
      return p.field.name.ends_with("power_w") || p.field.name == "energy_j";
    });
    if (!reading) return false;
    if (line.unended && last_pairs_ > found.size()) {
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    last_pairs_ = found.size();
    out.format("poller text");
    out.begin_row(line.number);
    if (stamp) out.set_time(*stamp);
    if (!gpu.empty()) out.set_gpu(gpu);
    for (const Pair& p : found) out.set_cell(p.field, p.value);
    return true;
  }

  std::vector<std::string> seen_;
  std::string rocm_gpu_;
  std::size_t last_pairs_ = 0;
};

}  // namespace

std::unique_ptr<Reader> key_value_reader() { return std::make_unique<KeyValue>(); }

}  // namespace ergon::meter::logs
