// deviceProperties, distributedInfo, versions; and the guesses about other formats.
#include "metadata.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "number.hpp"

namespace ergon::trace::kineto {

namespace {

constexpr std::array<std::string_view, 11> kVersions = {
    "schemaVersion",       "cupti_version",       "cuda_runtime_version", "cuda_driver_version",
    "roctracer_version",   "hip_runtime_version", "hip_driver_version",   "rocprofiler_version",
    "xpu_runtime_version", "pytorch_version",     "torch_version"};

constexpr std::string_view kReads =
    "Ergon reads traces of the PyTorch profiler (Kineto): .json, .json.gz, .json.zst";

std::int64_t integer(const Value& object, std::string_view key, std::int64_t otherwise) {
  const Value* member = object.find(key);
  if (member == nullptr) return otherwise;
  if (const auto* i = member->as_int()) return *i;
  const auto* d = member->as_double();
  return d != nullptr && *d >= -9e15 && *d <= 9e15 ? static_cast<std::int64_t>(*d) : otherwise;
}

// Also one with an exponent or a zero fraction, never through a double, and one that is text.
std::optional<std::int64_t> whole_number(const Value& value, std::string_view json) {
  if (const auto* s = value.as_string()) return parse_integer(*s);
  while (!json.empty() && is_space(json.back())) json.remove_suffix(1);
  return parse_integer(json);
}

std::string text(const Value& object, std::string_view key) {
  const Value* member = object.find(key);
  const auto* s = member == nullptr ? nullptr : member->as_string();
  return s == nullptr ? std::string{} : *s;
}

int small(std::int64_t v) { return v >= 0 && v <= 1000000 ? static_cast<int>(v) : 0; }

}  // namespace

bool is_metadata(std::string_view key) {
  return key == "deviceProperties" || key == "distributedInfo" || key == "baseTimeNanoseconds" ||
         key == "ergon_generated" || std::ranges::find(kVersions, key) != kVersions.end();
}

void Metadata::add_devices(const Value& value) {
  const auto* devices = value.as_array();
  if (devices == nullptr) return;
  for (const Value& device : *devices) {
    if (device.as_object() == nullptr) continue;
    GpuProperties gpu;
    gpu.device = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(integer(device, "id", -1), -1, 0x7fffffff));
    gpu.name = text(device, "name");
    gpu.memory_bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(integer(device, "totalGlobalMem", 0), 0));
    gpu.sm_count = small(integer(device, "numSms", 0));
    gpu.compute_major = small(integer(device, "computeMajor", 0));
    gpu.compute_minor = small(integer(device, "computeMinor", 0));
    table_.gpus.push_back(std::move(gpu));
  }
}

void Metadata::add_distributed(const Value& value) {
  if (value.as_object() == nullptr) return;
  table_.distributed.rank = integer(value, "rank", -1);
  table_.distributed.world_size = integer(value, "world_size", -1);
  table_.distributed.backend = text(value, "backend");
}

bool Metadata::add(std::string_view key, std::string_view json) {
  const auto value = io::parse_json(json);
  if (!value) return false;
  if (key == "deviceProperties") {
    add_devices(*value);
  } else if (key == "distributedInfo") {
    add_distributed(*value);
  } else if (key == "baseTimeNanoseconds") {
    // A base that leaves no room for the events' own times is no time.
    const auto ns = whole_number(*value, json);
    if (!ns || *ns < 0 || *ns > Nanos{1} << 61) return false;
    clock_ns_ = *ns;
  } else if (key == "ergon_generated") {
    const auto* flag = value->as_bool();
    table_.generated = flag == nullptr ? !value->is_null() : *flag;
  } else if (!value->is_null() && value->as_array() == nullptr && value->as_object() == nullptr) {
    const auto* word = value->as_string();
    versions_.emplace_back(key, word != nullptr ? *word : std::string(json));
  }
  return true;
}

void Metadata::finish() {
  std::ranges::sort(versions_);
  for (const auto& [key, value] : versions_) {
    if (!table_.profiler.empty()) table_.profiler += ", ";
    table_.profiler += key + " " + value;
  }
  std::ranges::sort(table_.gpus, [](const GpuProperties& a, const GpuProperties& b) {
    return std::tie(a.device, a.name) < std::tie(b.device, b.name);
  });
}

Looks looks_of_bytes(std::string_view head) {
  const auto starts = [head](std::string_view magic) { return head.starts_with(magic); };
  if (starts(std::string_view("SQLite format 3\0", 16))) {
    return {"an SQLite database (an export of Nsight Systems, or rocpd)",
            "record with the PyTorch profiler, or export its JSON; " + std::string(kReads)};
  }
  if (starts("PK\x03\x04")) return {"a zip archive", "unpack it and name the trace in it"};
  if (starts("BZh") || starts("\xfd"
                              "7zXZ")) {
    return {"a bzip2 or xz archive", "decompress it first; gzip and zstd are read as they are"};
  }
  if (starts("\xff\xfe") || starts("\xfe\xff")) {
    return {"UTF-16 text", "convert it to UTF-8"};
  }
  if (starts("\x7f"
             "ELF"))
    return {"an executable", std::string(kReads)};
  if (starts("<")) return {"HTML or XML", std::string(kReads)};
  const bool text = std::ranges::all_of(head, [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
  return {text ? "text that is no JSON" : "binary data", std::string(kReads)};
}

Looks looks_of_members(const std::vector<std::string>& members, std::string_view schema) {
  const auto has = [&members](std::string_view key) {
    return std::ranges::find(members, key) != members.end();
  };
  if (has("rocprofiler-sdk-tool")) {
    return {"the JSON of rocprofv3", "record with the PyTorch profiler; " + std::string(kReads)};
  }
  if (has("nodes") && (has("schema") || has("pid"))) {
    return {"an execution trace (PyTorch's observer, Chakra), which has no GPU times",
            "give the profiler's trace of the same run; " + std::string(kReads)};
  }
  constexpr std::string_view kSchemaLetters = "\"abcdefghijklmnopqrstuvwxyz-./0123456789";
  if (schema.starts_with("\"ergon.") && !schema.starts_with("\"ergon.packs/") &&
      schema.find_first_not_of(kSchemaLetters) == std::string_view::npos) {
    return {"a document of Ergon's own, schema " + std::string(schema), std::string(kReads)};
  }
  if (has("packs")) {
    return {"a pack file, which is planned as it is",
            "plan it with ergon plan FILE; its first member is \"schema\": \"ergon.packs/1\""};
  }
  if (has("schema")) {
    return {"a JSON document of another kind", std::string(kReads)};
  }
  return {members.empty() ? "an empty JSON object" : "a JSON object without traceEvents",
          std::string(kReads)};
}

}  // namespace ergon::trace::kineto
