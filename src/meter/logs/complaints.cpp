// What tools that failed print instead of a log.
#include <array>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

struct Message {
  std::string_view part;  ///< lower case
  std::string_view reason;
  std::string_view hint;
  bool lost = false;  ///< the GPU was lost
};

constexpr std::array kMessages = {
    Message{"driver/library version mismatch",
            "NVML could not be initialized: driver/library version mismatch",
            "the kernel module and the user library are of different driver versions: reload the "
            "module "
            "or reboot, then log again"},
    Message{"couldn't communicate with the nvidia driver",
            "nvidia-smi could not communicate with the NVIDIA driver",
            "load the nvidia kernel module (or install the driver), then log again"},
    Message{"insufficient permissions", "NVML refused: insufficient permissions",
            "log again with the rights it asks for"},
    Message{"no devices were found", "nvidia-smi found no devices",
            "check that the GPU is visible here (container, MIG, PCI)"},
    Message{"is not a valid field to query",
            "the query named a field that this nvidia-smi does not know, so nothing was logged",
            "nvidia-smi --help-query-gpu lists the fields of this driver"},
    Message{"gpu is lost", "the GPU was lost: it fell off the bus",
            "reboot the machine; look for Xid messages in dmesg", true},
    Message{"unable to determine the device handle",
            "the GPU was lost: nvidia-smi could not reach it any more",
            "reboot the machine; look for Xid messages in dmesg", true},
    Message{"gpu requires reset", "the GPU requires a reset", "nvidia-smi --gpu-reset, or reboot",
            true},
    Message{"has fallen off the bus", "the GPU was lost: it fell off the bus",
            "reboot the machine; look for Xid messages in dmesg", true},
    Message{"failed to initialize nvml", "NVML could not be initialized",
            "nvidia-smi alone says why; load or install the driver"},
    Message{"nvml initialization", "NVML could not be initialized",
            "nvidia-smi alone says why; load or install the driver"},
    Message{"command not found", "the logging command was not found",
            "install nvidia-smi, or name its full path"},
    Message{"is not recognized as an internal or external command",
            "the logging command was not found", "add nvidia-smi's folder to PATH"},
    Message{"no such file or directory", "the logging command was not found",
            "install nvidia-smi, or name its full path"},
    Message{"unknown error", "the driver answered with an unknown error",
            "look for Xid messages in dmesg"},
    Message{"invalid combination of input arguments", "nvidia-smi refused its arguments",
            "nvidia-smi -h explains them"},
    Message{"option \"", "nvidia-smi refused its arguments", "nvidia-smi -h explains them"},
    Message{"unable to open", "the counter could not be opened",
            "see whether this user may read it"},
    Message{"permission denied", "the logging command had no permission",
            "log again with the rights it asks for"},
    Message{"average power [w],", "this lists averages of finished runs, not samples",
            "ergon study reads tables of finished runs"},
    Message{"list of valid properties to query",
            "this is the list of fields that nvidia-smi can query, not a log",
            "nvidia-smi --query-gpu=timestamp,power.draw --format=csv -lms 100 writes one"},
};

}  // namespace

std::optional<Complaint> complaint_of(std::string_view line, bool cut) {
  constexpr std::size_t kFewest = 8;  // letters that can be the begin of one message only
  if (line.size() > 400) return std::nullopt;
  const std::string text = lower(line);
  for (const Message& k : kMessages) {
    const bool begun = cut && text.size() >= kFewest && k.part.starts_with(text);
    if (begun || text.find(k.part) != std::string::npos)
      return Complaint{std::string(k.reason), std::string(k.hint),
                       k.lost ? "gpu_lost" : "error_message"};
  }
  return std::nullopt;
}

std::optional<std::string> foreign_format(std::string_view first) {
  const std::string_view t = trim(first);
  if (t.starts_with("SQLite format 3")) return "a SQLite file";
  if (t.starts_with("PK\x03\x04")) return "a ZIP archive or a spreadsheet";
  if (t.starts_with("%PDF")) return "a PDF";
  if (t.starts_with("\x7f"
                    "ELF"))
    return "a program";
  if (t.starts_with("{\"schemaVersion\"") || t.find("\"traceEvents\"") != std::string_view::npos)
    return "a trace";
  const std::string head = lower(t.substr(0, 20));
  if (head.starts_with("<!doctype html") || head.starts_with("<html")) return "HTML";
  return std::nullopt;
}

}  // namespace ergon::meter::logs
