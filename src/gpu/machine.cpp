// Opening what was selected.
#include "ergon/gpu/machine.hpp"

#include <algorithm>
#include <filesystem>

#include "amdsmi_open.hpp"
#include "nvml_open.hpp"
#include "place.hpp"
#include "recorded.hpp"
#include "selection.hpp"

namespace ergon::gpu {
namespace {

using nvml::Found;

bool is_amd_model(const std::string& model) {
  return model.starts_with("mi") || model.starts_with("MI");
}

Result<Found> find_simulated(const SimSpec& spec, const Options& options) {
  if (options.sim_folder.empty())
    return fail(Errc::kUnsupported, "this build has no simulated GPU",
                "build the product with its libraries");
  const bool amd = is_amd_model(spec.model);
  const std::string library = options.sim_folder + (amd ? "/libamd_smi.so" : "/libnvidia-ml.so.1");
  if (std::error_code ignored; !std::filesystem::exists(library, ignored)) {
    return fail(Errc::kUnsupported, "the simulated GPU's library '" + library + "' is not there",
                "it is built and installed together with ergon, in lib/sim beside bin");
  }
  auto found = amd ? amdsmi::find_gpus({library}, options) : nvml::find_gpus({library}, options);
  if (!found && found.error().code == Errc::kUnsupported) {
    return fail(Errc::kInvalidArgument,
                "there is no simulated GPU '" + spec.model +
                    (spec.options.empty() ? "" : "," + spec.options) + "'",
                "v100, a100, h100, h200, l4, rtx4090 or mi300x; options gpus=N, seed=N, "
                "fault=NAME; a machine that exists keeps the options it was made with");
  }
  return found;
}

// NVIDIA's GPUs, then AMD's. Where neither answers, NVIDIA's reason is said unless only an AMD
// board is here.
Result<Found> find_real(const Options& options) {
  std::vector<std::string> names = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
  if (!options.nvml_library.empty()) names = {options.nvml_library};
  std::vector<std::string> amd_names = {"libamd_smi.so", "/opt/rocm/lib/libamd_smi.so"};
  if (!options.amdsmi_library.empty()) amd_names = {options.amdsmi_library};
  auto found = nvml::find_gpus(names, options);
  auto amd = amdsmi::find_gpus(amd_names, options);
  if (!found && !amd) {
    const Place place = look_around(options.root);
    return place.amd_boards > 0 && place.nvidia_boards == 0 ? std::move(amd) : std::move(found);
  }
  if (!found) return amd;
  if (!amd) return found;
  std::ranges::move(amd->gpus, std::back_inserter(found->gpus));
  std::ranges::move(amd->notes, std::back_inserter(found->notes));
  std::ranges::move(amd->lost, std::back_inserter(found->lost));
  found->speed.insert(found->speed.end(), amd->speed.begin(), amd->speed.end());
  return found;
}

std::vector<Identity> identities(const std::vector<std::unique_ptr<Gpu>>& gpus) {
  std::vector<Identity> all;
  all.reserve(gpus.size());
  for (const auto& gpu : gpus) all.push_back(gpu->identity());
  return all;
}

tl::unexpected<Error> not_here(const std::string& item, const std::vector<Identity>& all) {
  std::string known;
  for (const Identity& gpu : all) {
    known += (known.empty() ? "" : "; ") + gpu.id;
    if (gpu.uuid != gpu.id) known += " (" + gpu.name + ", " + gpu.uuid + ")";
  }
  return fail(Errc::kNotFound, "no GPU '" + item + "' here", "here are: " + known);
}

// Whole GPUs for "all"; the listed ones, in the driver's order, for a list.
Result<std::vector<bool>> chosen(const Selection& selection, const std::vector<Identity>& all,
                                 const CudaOrder& order) {
  std::vector<bool> keep(all.size(), false);
  const auto choose = [&](int position) { keep[static_cast<std::size_t>(position)] = true; };
  switch (selection.kind) {
    case Selection::Kind::kList:
      for (const auto& item : selection.items) {
        const auto found = matches(item, all);
        if (found.empty()) return not_here(item, all);
        if (found.size() > 1) {
          return fail(Errc::kNotFound, "'" + item + "' is the beginning of more than one UUID",
                      "type more of it");
        }
        choose(found.front());
      }
      break;
    case Selection::Kind::kCuda:
      if (selection.items.empty()) {
        for (const int position : order.positions) choose(position);
      }
      for (const auto& item : selection.items) {
        const auto at = parse_number<std::size_t>(item);
        if (!at || *at >= order.positions.size()) {
          return fail(Errc::kNotFound,
                      "CUDA sees " + std::to_string(order.positions.size()) +
                          " GPUs here, none with index " + item,
                      "CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER decide which and in which order");
        }
        choose(order.positions[*at]);
      }
      break;
    case Selection::Kind::kAll:
    case Selection::Kind::kSimulated:
    case Selection::Kind::kRecorded:
      for (std::size_t i = 0; i < all.size(); ++i) keep[i] = all[i].mig_parent_uuid.empty();
      break;
  }
  return keep;
}

}  // namespace

Result<Machine> open_machine(const Selection& selection, const Options& options) {
  if (selection.kind == Selection::Kind::kRecorded) return open_recorded(selection.file, options);
  auto opened = selection.kind == Selection::Kind::kSimulated
                    ? find_simulated(selection.sim, options)
                    : find_real(options);
  ERGON_TRY(Found found, std::move(opened));
  const auto all = identities(found.gpus);
  const CudaOrder order =
      cuda_order(all, found.speed, options.cuda_device_order, options.cuda_visible_devices);
  ERGON_TRY(const auto keep, chosen(selection, all, order));

  Machine machine;
  machine.notes = std::move(found.notes);
  machine.lost = std::move(found.lost);
  machine.cuda_order_certain = order.certain;
  std::vector<int> position_of(all.size(), -1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!keep[i]) continue;
    position_of[i] = static_cast<int>(machine.gpus.size());
    machine.gpus.push_back(std::move(found.gpus[i]));
  }
  for (const int position : order.positions)
    machine.cuda_order.push_back(position_of[static_cast<std::size_t>(position)]);
  if (machine.gpus.empty()) {
    return fail(Errc::kNotFound, "the selection leaves no GPU",
                "CUDA_VISIBLE_DEVICES may hide them all; --gpu all takes every one");
  }
  return machine;
}

}  // namespace ergon::gpu
