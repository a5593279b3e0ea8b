// Finds devices: exact spellings first, then the one device whose words contain all words asked
// for.
#include "ergon/model/registry.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "embedded_devices.hpp"  // generated
#include "ergon/io.hpp"

namespace ergon::model {
namespace {

/// Lower case, letters and digits only: "A100-SXM4 80GB" and "a100_sxm4_80gb" are one spelling.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) out.push_back(static_cast<char>(std::tolower(u)));
  }
  return out;
}

bool all_digits(const std::string& s) {
  return !s.empty() &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Words of a name without those that say nothing about the model; "80 GB" is "80gb", "rtx4090" is
/// "4090", "2080ti" is "2080" "ti".
std::set<std::string> words_of(std::string_view name) {
  std::vector<std::string> raw(1);
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) {
      raw.back().push_back(static_cast<char>(std::tolower(u)));
    } else if (!raw.back().empty()) {
      raw.emplace_back();
    }
  }
  if (raw.back().empty()) raw.pop_back();
  static constexpr std::array<std::string_view, 12> kNoise = {
      "nvidia", "amd", "geforce",  "tesla",  "instinct", "rtx",
      "gtx",    "gpu", "graphics", "radeon", "oam",      "vf"};
  std::set<std::string> out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    std::string w = raw[i];
    if (all_digits(w) && i + 1 < raw.size() && raw[i + 1] == "gb") {
      w += "gb";
      ++i;
    }
    for (const std::string_view prefix :
         {std::string_view("rtx"), std::string_view("geforce"), std::string_view("nvidia")}) {
      if (w.size() > prefix.size() && w.starts_with(prefix)) w.erase(0, prefix.size());
    }
    if (w.size() > 2 && w.ends_with("ti") && all_digits(w.substr(0, w.size() - 2))) {
      out.insert("ti");
      w.resize(w.size() - 2);
    }
    if (std::find(kNoise.begin(), kNoise.end(), w) == kNoise.end()) out.insert(w);
  }
  return out;
}

std::vector<std::string> spellings(const Device& d) {
  std::vector<std::string> out = {d.id, d.name};
  out.insert(out.end(), d.aliases.begin(), d.aliases.end());
  out.insert(out.end(), d.seen_as.begin(), d.seen_as.end());
  return out;
}

bool spelled(const Device& d, const std::string& key) {
  const auto all = spellings(d);
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& s) { return squeezed(s) == key; });
}

std::set<std::string> words_of(const Device& d) {
  std::set<std::string> out;
  for (const auto& s : spellings(d)) out.merge(words_of(s));
  return out;
}

// Without these words it is another GPU: an RTX 2080 is no RTX 2080 Ti.
constexpr std::array<std::string_view, 3> kVariants = {"ti", "super", "laptop"};

bool holds(const Device& d, const std::set<std::string>& asked) {
  const auto has = words_of(d);
  for (const std::string_view variant : kVariants) {
    const std::string word(variant);
    if (has.contains(word) && !asked.contains(word)) return false;
  }
  // Alone such a word names nothing.
  const bool named = std::any_of(asked.begin(), asked.end(), [](const std::string& w) {
    return std::find(kVariants.begin(), kVariants.end(), w) == kVariants.end();
  });
  return named && std::includes(has.begin(), has.end(), asked.begin(), asked.end());
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t keep = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({keep, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Whether a word is a model's number, such as a100.
bool names_a_model(const std::string& word) {
  return std::any_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; }) &&
         !word.ends_with("gb");
}

// Of the same model number where there are such, else what is spelled nearly so; else none.
std::string nearest_id(std::string_view name) {
  const std::string key = squeezed(name.substr(0, 64));
  const auto asked = words_of(name.substr(0, 64));
  std::string best;
  std::pair<bool, std::size_t> least = {true, key.size() / 2 + 1};
  for (const Device& d : built_in_devices()) {
    const auto has = words_of(d);
    const bool other_model = std::none_of(asked.begin(), asked.end(), [&](const std::string& w) {
      return names_a_model(w) && has.contains(w);
    });
    for (const auto& s : spellings(d)) {
      const std::pair<bool, std::size_t> distance = {other_model, edit_distance(key, squeezed(s))};
      if (distance < least) {
        least = distance;
        best = d.id;
      }
    }
  }
  return best;
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& s : items) {
    if (!out.empty()) out += ", ";
    out += s;
  }
  return out;
}

bool is_path(std::string_view name) {
  return name.ends_with(".json") || name.find('/') != std::string_view::npos;
}

Result<FoundDevice> from_file(std::string_view path) {
  ERGON_TRY(auto source, io::open_source(std::string(path)));
  ERGON_TRY(const std::string text, io::read_all(*source, std::size_t{16} << 20));
  auto device = read_device(text);
  if (!device) {
    Error e = device.error();
    e.message = std::string(path) + ": " + e.message;
    return fail(std::move(e));
  }
  return FoundDevice{*std::move(device), "", std::string(path)};
}

/// All built-in devices that the name may mean, the best first.
std::vector<const Device*> candidates(std::string_view name) {
  std::vector<const Device*> exact;
  std::vector<const Device*> worded;
  const std::string key = squeezed(name);
  const auto asked = words_of(name);
  for (const Device& d : built_in_devices()) {
    if (!key.empty() && spelled(d, key)) {
      exact.push_back(&d);
    } else if (holds(d, asked)) {
      worded.push_back(&d);
    }
  }
  exact.insert(exact.end(), worded.begin(), worded.end());
  return exact;
}

bool names_exactly(const Device& d, std::string_view name) {
  const std::string key = squeezed(name);
  return key == squeezed(d.id) || key == squeezed(d.name);
}

Result<FoundDevice> find_built_in(std::string_view name) {
  const auto found = candidates(name);
  if (found.empty()) {
    const std::string nearest = nearest_id(name);
    return fail(Errc::kNotFound, "no device is called \"" + std::string(name.substr(0, 100)) + "\"",
                (nearest.empty() ? "" : "the nearest is " + nearest + "; ") + "accepted: " +
                    joined(device_ids()) + " in any usual spelling, or the path of a device file");
  }
  const std::string key = squeezed(name);
  if (found.size() > 1 && !spelled(*found.front(), key)) {
    std::vector<std::string> ids;
    ids.reserve(found.size());
    for (const Device* d : found) ids.push_back(d->id);
    return fail(Errc::kNotFound, std::string(name) + " may be any of " + joined(ids),
                "name one of them");
  }
  FoundDevice out{*found.front(), "", "built in"};
  if (found.size() > 1 && !names_exactly(*found.front(), name)) {
    std::vector<std::string> others;
    for (std::size_t i = 1; i < found.size(); ++i) others.push_back(found[i]->id);
    out.note = std::string(name) + " means " + out.device.name + " (" + out.device.id +
               "); also built in: " + joined(others);
  }
  if (!out.device.note.empty()) {
    if (!out.note.empty()) out.note += ". ";
    out.note += out.device.note;
  }
  return out;
}

}  // namespace

const std::vector<Device>& built_in_devices() {
  static const std::vector<Device> all = [] {
    std::vector<Device> devices;
    for (const embedded::File& file : embedded::devices()) {
      auto d = read_device(file.text);
      ERGON_CHECK(d.has_value(),
                  d ? "" : (std::string(file.name) + ": " + d.error().message).c_str());
      devices.push_back(*std::move(d));
    }
    std::sort(devices.begin(), devices.end(),
              [](const Device& a, const Device& b) { return a.id < b.id; });
    return devices;
  }();
  return all;
}

std::vector<std::string> device_ids() {
  // Each lies in a file of its name: every command line asks, and most need no device.
  std::vector<std::string> ids;
  for (const embedded::File& file : embedded::devices())
    ids.emplace_back(file.name.substr(0, file.name.rfind(".json")));
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<FoundDevice> find_device(std::string_view name) {
  return is_path(name) ? from_file(name) : find_built_in(name);
}

Result<FoundDevice> find_device_of_trace(std::string_view gpu_name) {
  return find_built_in(gpu_name);
}

bool is_device(const Device& device, std::string_view gpu_name) {
  return spelled(device, squeezed(gpu_name)) || holds(device, words_of(gpu_name));
}

}  // namespace ergon::model
