// `--gpu SEL` taken apart, matched against the GPUs of a machine, and CUDA's order of them.
#include "selection.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

namespace ergon::gpu {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    std::string_view part = text.substr(0, at);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.emplace_back(part);
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<int> whole(std::string_view text) {
  const auto value = parse_number<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

// "3b:00.0", "0000:3B:00.0" and "00000000:3b:00" name the same slot.
std::string slot(std::string_view address) {
  std::string text = lower_case(address);
  const auto colons = std::ranges::count(text, ':');
  if (colons == 1) text = "0:" + text;
  const auto domain_end = text.find(':');
  const auto first = text.find_first_not_of('0');
  text = first >= domain_end ? "0" + text.substr(domain_end) : text.substr(first);
  if (const auto dot = text.find('.'); dot == std::string::npos) text += ".0";
  return text;
}

bool looks_like_address(std::string_view item) {
  return item.find(':') != std::string_view::npos &&
         item.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

}  // namespace

Result<Selection> parse_selection(std::string_view text) {
  Selection selection;
  const auto bad = [&](const std::string& why) {
    return fail(Errc::kInvalidArgument, "'" + std::string(text) + "' selects no GPU: " + why,
                "an index (0 or 0,2), a UUID or its beginning, a PCI address, all, cuda:N, "
                "sim:MODEL[,gpus=N][,seed=N][,fault=NAME] or recorded:FILE");
  };
  if (text.empty()) return bad("it is empty");
  if (text == "all") return selection;
  if (text.starts_with("sim:")) {
    selection.kind = Selection::Kind::kSimulated;
    const auto rest = text.substr(4);
    const auto comma = rest.find(',');
    selection.sim.model = std::string(rest.substr(0, comma));
    if (comma != std::string_view::npos)
      selection.sim.options = std::string(rest.substr(comma + 1));
    if (selection.sim.model.empty()) return bad("the model is missing");
    return selection;
  }
  if (text.starts_with("recorded:")) {
    selection.kind = Selection::Kind::kRecorded;
    selection.file = std::string(text.substr(9));
    if (selection.file.empty()) return bad("the file is missing");
    return selection;
  }
  if (text == "cuda" || text.starts_with("cuda:")) {
    selection.kind = Selection::Kind::kCuda;
    if (text == "cuda") return selection;
    selection.items = split(text.substr(5), ',');
    for (const auto& item : selection.items) {
      if (!whole(item)) return bad("'" + item + "' is no CUDA index");
    }
    return selection;
  }
  selection.kind = Selection::Kind::kList;
  selection.items = split(text, ',');
  std::set<std::string> seen;
  for (const auto& item : selection.items) {
    if (item.empty()) return bad("an entry is empty");
    const bool plain = std::ranges::all_of(item, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == ':' || c == '.' || c == '/';
    });
    if (!plain) return bad("'" + item + "' is neither an index, a UUID nor a PCI address");
    if (!seen.insert(item).second) return bad("'" + item + "' stands twice");
  }
  return selection;
}

std::vector<int> matches(std::string_view item, std::span<const Identity> gpus) {
  std::vector<int> found;
  const auto index = whole(item);
  const bool address = !index && looks_like_address(item);
  const std::string wanted = lower_case(item);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const Identity& gpu = gpus[i];
    const std::string uuid = lower_case(gpu.uuid);
    bool same = false;
    if (index) {
      same = gpu.index == *index && gpu.mig_parent_uuid.empty();
    } else if (address) {
      same = slot(item) == slot(gpu.pci) && gpu.mig_parent_uuid.empty();
    } else {
      // A UUID may be typed without its "GPU-".
      same = uuid.starts_with(wanted) || uuid.starts_with("gpu-" + wanted) || uuid == wanted;
    }
    if (same) found.push_back(static_cast<int>(i));
  }
  return found;
}

CudaOrder cuda_order(std::span<const Identity> gpus, std::span<const double> speed,
                     std::string_view device_order, const std::optional<std::string>& visible) {
  CudaOrder order;
  std::vector<int> ranked;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].mig_parent_uuid.empty()) ranked.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(ranked, {},
                           [&](int i) { return slot(gpus[static_cast<std::size_t>(i)].pci); });
  const bool alike =
      std::ranges::all_of(gpus, [&](const Identity& gpu) { return gpu.name == gpus.front().name; });
  if (device_order != "PCI_BUS_ID" && !alike && !ranked.empty()) {
    order.certain = false;
    const auto fastest = std::ranges::max_element(
        ranked, {}, [&](int i) { return speed[static_cast<std::size_t>(i)]; });
    std::rotate(ranked.begin(), fastest, fastest + 1);
  }
  if (!visible) {
    order.positions = ranked;
    return order;
  }
  for (const auto& item : split(*visible, ',')) {
    int position = -1;
    if (const auto index = whole(item)) {
      if (static_cast<std::size_t>(*index) < ranked.size())
        position = ranked[static_cast<std::size_t>(*index)];
    } else if (item.starts_with("GPU-") || item.starts_with("MIG-")) {
      const auto found = matches(item, gpus);
      if (found.size() == 1) position = found.front();
    }
    if (position < 0) break;
    if (std::ranges::find(order.positions, position) != order.positions.end()) {
      order.positions.clear();  // CUDA shows none where one stands twice
      break;
    }
    order.positions.push_back(position);
  }
  return order;
}

std::vector<std::pair<std::string, std::string>> sim_environment(const SimSpec& spec,
                                                                 const std::string& sim_folder,
                                                                 const std::string& state_folder,
                                                                 const std::string& library_path) {
  return {{"ERGON_SIM", spec.options.empty() ? spec.model : spec.model + "," + spec.options},
          {"ERGON_SIM_STATE", state_folder},
          {"LD_LIBRARY_PATH", library_path.empty() ? sim_folder : sim_folder + ":" + library_path}};
}

}  // namespace ergon::gpu
