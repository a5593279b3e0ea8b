#include "api_names.hpp"

#include <array>
#include <cctype>

namespace ergon::graph {
namespace {

bool eat(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Removes _v2, _v7000, _ptsz, _ptds, _spt, in any number.
std::string_view strip_suffixes(std::string_view name) {
  for (;;) {
    const std::size_t bar = name.rfind('_');
    if (bar == std::string_view::npos || bar + 1 >= name.size()) return name;
    const std::string_view tail = name.substr(bar + 1);
    bool version = tail.size() > 1 && tail[0] == 'v';
    for (const char c : tail.substr(1))
      version = version && std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!version && tail != "ptsz" && tail != "ptds" && tail != "spt") return name;
    name = name.substr(0, bar);
  }
}

}  // namespace

ApiClass classify_api(std::string_view name) {
  name = strip_suffixes(name);
  if (!eat(name, "cuda") && !eat(name, "hip") && !eat(name, "cu")) return ApiClass::kOther;
  if (name.starts_with("Graph"))
    return name == "GraphLaunch" ? ApiClass::kGraphLaunch : ApiClass::kOther;
  if (name.find("Launch") != std::string_view::npos) {
    // LaunchKernel, LaunchKernelExC, LaunchKernelEx, LaunchCooperativeKernel, ModuleLaunchKernel,
    // ExtModuleLaunchKernel, ExtLaunchKernel, Launch, LaunchGrid; not LaunchHostFunc
    return name.find("HostFunc") == std::string_view::npos ? ApiClass::kLaunch : ApiClass::kOther;
  }
  if (name == "MemcpyWithStream") return ApiClass::kCopy;
  if (name.starts_with("Memcpy")) {
    return name.find("Async") != std::string_view::npos ? ApiClass::kCopyAsync : ApiClass::kCopy;
  }
  if (name.starts_with("Memset"))
    return ApiClass::kMemsetAsync;  // without Async too it does not wait
  if (name.starts_with("EventRecord")) return ApiClass::kEventRecord;
  if (name == "EventQuery" || name == "StreamQuery") return ApiClass::kEventQuery;
  if (name == "EventSynchronize") return ApiClass::kEventSync;
  if (name == "StreamWaitEvent") return ApiClass::kStreamWait;
  if (name == "StreamSynchronize") return ApiClass::kStreamSync;
  if (name == "DeviceSynchronize" || name == "ThreadSynchronize" || name == "CtxSynchronize") {
    return ApiClass::kDeviceSync;
  }
  if (name == "Free" || name == "MemFree") return ApiClass::kFree;
  return ApiClass::kOther;
}

}  // namespace ergon::graph
