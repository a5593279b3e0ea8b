// tegrastats of Jetson boards: one line a sample, rails in milliwatts.
#include <algorithm>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

bool bare_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "1234mW/1200mW", "1200/1100", "4385mW/3787mW/4385mW": the draw now, then averages.
std::optional<double> milliwatts(std::string_view text) {
  if (text.find('/') == std::string_view::npos || text.ends_with('/')) return std::nullopt;
  std::optional<double> now;
  while (!text.empty()) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    std::string_view part = text.substr(0, slash);
    if (part.ends_with("mW")) part.remove_suffix(2);
    if (!bare_digits(part) || part.size() > 9) return std::nullopt;
    if (!now) now = number_of(part)->value;
    text.remove_prefix(std::min(slash + 1, text.size()));
  }
  return now;
}

// How well a rail stands for the GPU: its own, or shared with others; 0 is another's.
int gpu_rank(std::string_view rail) {
  if (rail == "VDD_GPU" || rail == "POM_5V_GPU" || rail == "VDD_SYS_GPU" || rail == "GPU") return 3;
  if (rail.find("GPU") == std::string_view::npos) return 0;
  return rail.find("CPU") == std::string_view::npos ? 2 : 1;
}

// A sensor that is switched off with its part of the chip says this.
constexpr double kSwitchedOffC = -256;

class Tegrastats final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override {
    std::string_view text = trim(line.text);
    const std::size_t ram = text.find("RAM ");
    if (ram == std::string_view::npos || ram > 48 || text.find("MB") == std::string_view::npos ||
        text.find(" CPU [") == std::string_view::npos) {
      return false;
    }
    const auto stamp = time_of(trim(text.substr(0, ram)));
    split_blanks(text.substr(ram), words_);
    rails_.clear();
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      const std::string_view name = words_[i];
      const bool word = std::ranges::all_of(name, [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      });
      if (!word) continue;
      if (const auto mw = milliwatts(words_[i + 1])) rails_.emplace_back(name, *mw);
    }
    if (line.unended && (rails_.size() < last_rails_ || !words_.back().ends_with(last_tail_))) {
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    last_rails_ = rails_.size();
    last_tail_ = words_.back().ends_with("mW") ? "mW" : "";
    out.format("tegrastats");
    out.begin_row(line.number);
    if (stamp) out.set_time(*stamp);
    put_rails(out);
    put_rest(out);
    return true;
  }

 private:
  // "04-11-2025 10:36:27": the month comes first. Others put their own stamp before the line.
  static std::optional<Stamp> time_of(std::string_view text) {
    if (text.empty()) return std::nullopt;
    if (text.size() >= 19 && text[2] == '-' && text[5] == '-') {
      std::string us(text.substr(0, 19));
      us[2] = us[5] = '/';
      return wall_time(us);
    }
    return leading_stamp(text);
  }

  void put_rails(Builder& out) {
    std::size_t best = rails_.size();
    int rank = 0;
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      if (gpu_rank(rails_[i].first) > rank) {
        rank = gpu_rank(rails_[i].first);
        best = i;
      }
    }
    if (rank == 1 || rank == 2) {
      out.note("the rail " + std::string(rails_[best].first) +
               " feeds more than the GPU: power_w is all of it");
    }
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const std::string name = i == best ? "power_w" : key_of(rails_[i].first) + "_power_w";
      if (rails_[i].first == "NC") continue;  // not connected
      out.set(out.column(name, false), rails_[i].second / 1e3);
    }
  }

  void put_rest(Builder& out) {
    const auto put = [&](const char* name, std::string_view text, double scale) {
      const auto n = number_of(text);
      if (n) out.set(out.column(name, false), n->value * scale);
    };
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string_view w = words_[i];
      const std::string_view next = i + 1 < words_.size() ? words_[i + 1] : std::string_view();
      const bool gpu = w == "GR3D_FREQ";
      if (gpu || w == "EMC_FREQ") {  // "12%@[1300,1300]", "12%@921", "12%"
        put(gpu ? "utilization" : "memory_utilization", next, 0.01);
        std::size_t at = next.find('@');
        if (at == std::string_view::npos) continue;
        at += next.substr(at).starts_with("@[") ? 2 : 1;
        put(gpu ? "clock_hz" : "memory_clock_hz", next.substr(at), 1e6);
      } else if (w == "RAM") {
        put("memory_used_bytes", next, 1048576);
      } else if (w.starts_with("GPU@") || w.starts_with("gpu@")) {
        const auto n = number_of(w.substr(4));
        if (n) {
          out.set(out.column("temperature_c", false),
                  n->value == kSwitchedOffC ? kMissing : n->value);
        }
      }
    }
  }

  std::size_t last_rails_ = 0;
  std::string_view last_tail_ = "";
  std::vector<std::string_view> words_;
  std::vector<std::pair<std::string_view, double>> rails_;
};

}  // namespace

std::unique_ptr<Reader> tegrastats_reader() { return std::make_unique<Tegrastats>(); }

}  // namespace ergon::meter::logs
