// Reading names. A name is a hint: whoever uses one says so.
#include "names.hpp"

#include <algorithm>
#include <array>

#include "cells.hpp"
#include "ergon/io.hpp"

namespace ergon::study {
namespace {

/// Runs of letters and runs of digits, apart: "clk1005_r1" gives clk 1005 r 1.
struct Token {
  std::string text;
  Maybe number;
  bool joined = false;  ///< follows the token before without a separator
};
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const bool joined = begin > 0 && (is_digit(text[begin - 1]) || is_letter(text[begin - 1]));
    if (is_digit(text[i])) {
      while (i < text.size() && is_digit(text[i])) ++i;
      out.push_back({std::string(text.substr(begin, i - begin)),
                     io::parse_double(text.substr(begin, i - begin)), joined});
    } else if (is_letter(text[i])) {
      while (i < text.size() && is_letter(text[i])) ++i;
      out.push_back({lower(text.substr(begin, i - begin)), {}, joined});
    } else {
      ++i;
    }
  }
  return out;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kGpus = {{
    {"gtx1080ti", "GTX 1080 Ti"},
    {"rtx2080ti", "RTX 2080 Ti"},
    {"gtx2080ti", "RTX 2080 Ti"},
    {"rtx2070s", "RTX 2070 Super"},
    {"gtx2070s", "RTX 2070 Super"},
    {"rtxpro6000", "RTX PRO 6000"},
    {"rtx6000", "RTX 6000"},
    {"rtx8000", "RTX 8000"},
    {"rtx3060", "RTX 3060"},
    {"rtx3090", "RTX 3090"},
    {"rtx4050", "RTX 4050"},
    {"rtx4090", "RTX 4090"},
    {"gtxtitanx", "Titan X"},
    {"titanxp", "Titan Xp"},
    {"titanx", "Titan X"},
    {"titanv", "Titan V"},
    {"teslat4", "T4"},
    {"gtx980", "GTX 980"},
    {"gtx1080", "GTX 1080"},
    {"rx480", "RX 480"},
    {"mi300x", "MI300X"},
    {"mi250x", "MI250X"},
    {"h100", "H100"},
    {"h200", "H200"},
    {"a100", "A100"},
    {"v100", "V100"},
    {"p100", "P100"},
    {"b200", "B200"},
    {"l40s", "L40S"},
}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kShortGpus = {
    {{"a40", "A40"}, {"k40m", "K40m"}, {"l4", "L4"}, {"t4", "T4"}, {"k80", "K80"}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kNetworks = {{
    {"alexnet", "AlexNet"},
    {"googlenet", "GoogLeNet"},
    {"resnet50", "ResNet-50"},
    {"resnet18", "ResNet-18"},
    {"resnet101", "ResNet-101"},
    {"resnet152", "ResNet-152"},
    {"resnet", "ResNet"},
    {"vgg16", "VGG-16"},
    {"vgg19", "VGG-19"},
    {"vgg", "VGG"},
    {"inception", "Inception"},
    {"shufflenetv2", "ShuffleNet V2"},
    {"shufflenet", "ShuffleNet"},
    {"mobilenet", "MobileNet"},
    {"densenet", "DenseNet"},
    {"squeezenet", "SqueezeNet"},
    {"bert", "BERT"},
    {"vit", "ViT"},
    {"lstm", "LSTM"},
    {"gpt2", "GPT-2"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kAlgorithms = {{
    {"winograd_nonfused", "winograd_nonfused"},
    {"winograd", "winograd"},
    {"fft_tile", "fft_tile"},
    {"fft", "fft"},
    {"ipc_gemm", "ipc_gemm"},
    {"sgemm", "gemm"},
    {"implicit_gemm", "implicit_gemm"},
    {"gemm", "gemm"},
    {"direct", "direct"},
}};

bool measured_word(std::string_view w) {
  static constexpr std::array<std::string_view, 16> kWords = {
      "energy",  "time",   "power",        "performance", "efficiency", "benchmark",
      "results", "result", "perf",         "dataset",     "data",       "runtime",
      "log",     "logs",   "measurements", "input"};
  return std::ranges::find(kWords, w) != kWords.end();
}

}  // namespace

std::string gpu_in(std::string_view path) {
  // The file's own name first, then its folder's.
  for (int level = 0; level < 2 && !path.empty(); ++level) {
    const auto slash = path.find_last_of("/\\");
    const std::string_view part = slash == std::string_view::npos ? path : path.substr(slash + 1);
    const std::string text = squeezed(part);
    for (const auto& [word, name] : kGpus) {
      if (text.find(word) != std::string::npos) return std::string(name);
    }
    for (const auto& word : words_of(part)) {
      for (const auto& [name, full] : kShortGpus) {
        if (word == name) return std::string(full);
      }
    }
    if (slash == std::string_view::npos) break;
    path = path.substr(0, slash);
  }
  return {};
}

void add_factors_in(std::string_view text, std::map<std::string, std::string>& factors) {
  const std::string small = lower(text);
  const std::string tight = squeezed(text);
  if (!factors.contains("network")) {
    for (const auto& [word, name] : kNetworks) {
      if (tight.find(word) != std::string::npos) {
        factors.emplace("network", name);
        break;
      }
    }
  }
  if (!factors.contains("algorithm")) {
    const std::string underscored = [&] {
      std::string out = small;
      std::ranges::replace(out, '-', '_');
      return out;
    }();
    for (const auto& [word, name] : kAlgorithms) {
      const auto at = underscored.find(word);
      if (at == std::string::npos) continue;
      const bool begins = at == 0 || !is_letter(underscored[at - 1]);
      const auto end = at + word.size();
      if (begins && (end == underscored.size() || !is_letter(underscored[end]))) {
        factors.emplace("algorithm", name);
        break;
      }
    }
  }
  if (!factors.contains("batch")) {
    const auto tokens = tokens_of(text);
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const bool word = tokens[i].text == "b" || tokens[i].text == "bs" ||
                        tokens[i].text == "batch" || tokens[i].text == "batchsize";
      if (word && tokens[i + 1].number &&
          (tokens[i + 1].joined || tokens[i].text.starts_with("batch"))) {
        factors.emplace("batch", tokens[i + 1].text);
        break;
      }
    }
  }
}

std::string short_argument(std::string_view text) {
  // The value of --model or --solver without its ending, else the text.
  for (const std::string_view key : {"model", "solver"}) {
    auto at = text.find(key);
    if (at == std::string_view::npos || at == 0 || text[at - 1] != '-') continue;
    at += key.size();
    while (at < text.size() && (text[at] == '=' || text[at] == ' ')) ++at;
    const auto end = std::min(text.find(' ', at), text.size());
    std::string_view value = text.substr(at, end - at);
    const auto dot = value.find(".prototxt");
    if (dot != std::string_view::npos) value = value.substr(0, dot);
    if (!value.empty()) return std::string(value);
  }
  return std::string(text);
}

NamedSetting setting_in(std::string_view stem) {
  NamedSetting out;
  const auto tokens = tokens_of(stem);
  std::vector<bool> used(tokens.size(), false);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& w = tokens[i].text;
    // "20260419_063615": when it was recorded. "r1": a repeat.
    if (tokens[i].number && w.size() == 8 && (w.starts_with("20") || w.starts_with("19"))) {
      out.stamp = w;
      used[i] = true;
      if (i + 1 < tokens.size() && tokens[i + 1].number && tokens[i + 1].text.size() == 6) {
        out.stamp += tokens[i + 1].text;
        used[++i] = true;
      }
    } else if (i + 1 < tokens.size() && (w == "r" || w == "run" || w == "rep") &&
               tokens[i + 1].number && tokens[i + 1].text.size() <= 3) {
      out.run = tokens[i + 1].text;
      used[i] = used[i + 1] = true;
      ++i;
    }
  }
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].number || !tokens[i + 1].number || used[i] || used[i + 1]) continue;
    const std::string& w = tokens[i].text;
    const double n = *tokens[i + 1].number;
    const bool joined = tokens[i + 1].joined;
    const bool clock = (w == "core" || w == "clk" || w == "clock" || w == "sm" || w == "freq" ||
                        w == "gpuclock" || ((w == "f" || w == "c") && joined)) &&
                       n >= 100 && n <= 5000;
    const bool memory =
        (w == "mem" || w == "memory" || (w == "m" && joined)) && n >= 300 && n <= 20000;
    const bool limit = (w == "cap" || w == "pl" || w == "limit" || w == "powercap" ||
                        w == "powerlimit" || (w == "p" && joined)) &&
                       n >= 20 && n <= 2000;
    if (clock && !out.setting.clock_hz) {
      out.setting.clock_hz = n * 1e6;
    } else if (memory && !out.setting.memory_clock_hz) {
      out.setting.memory_clock_hz = n * 1e6;
    } else if (limit && !out.setting.power_limit_w) {
      out.setting.power_limit_w = n;
    } else {
      continue;
    }
    used[i] = used[i + 1] = true;
  }
  if (!out.any()) {
    // Bare numbers at the end: [memory,] core[, limit]. A limit is smaller than its clock.
    std::size_t first = tokens.size();
    while (first > 0 && tokens[first - 1].number && !tokens[first - 1].joined) --first;
    std::vector<double> n;
    for (std::size_t i = first; i < tokens.size(); ++i) n.push_back(*tokens[i].number);
    const auto limit = [](double v) { return v >= 20 && v <= 1500; };
    const auto clock = [](double v) { return v >= 200 && v <= 4000; };
    if (n.size() == 2 && clock(n[0]) && limit(n[1]) && n[1] < n[0]) {
      out.setting.clock_hz = n[0] * 1e6;
      out.setting.power_limit_w = n[1];
    } else if (n.size() == 3 && clock(n[1]) && limit(n[2]) && n[2] < n[1] && n[0] > n[1]) {
      out.setting.memory_clock_hz = n[0] * 1e6;
      out.setting.clock_hz = n[1] * 1e6;
      out.setting.power_limit_w = n[2];
    }
    if (out.any()) std::fill(used.begin() + static_cast<std::ptrdiff_t>(first), used.end(), true);
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (used[i] || measured_word(tokens[i].text)) continue;
    if (!out.label.empty() && !tokens[i].joined) out.label += '_';
    out.label += tokens[i].text;
  }
  if (out.label.empty()) out.label = std::string(stem);
  return out;
}

NamedSetting setting_in_text(std::string_view text) {
  NamedSetting out;
  const auto tokens = tokens_of(text);
  if (tokens.empty() || !tokens.back().number) return out;
  std::string before;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) before += tokens[i].text;
  const double n = *tokens.back().number;
  if (before.find("powerlimit") != std::string::npos ||
      before.find("powercap") != std::string::npos) {
    // Zeus prints milliwatts in some versions; no board has a limit of 10 kW.
    out.setting.power_limit_w = n >= 10000 ? n / 1000 : n;
  } else if (before.find("clock") != std::string::npos ||
             before.find("freq") != std::string::npos) {
    out.setting.clock_hz = n * 1e6;
  }
  return out;
}

}  // namespace ergon::study
