// ergon device: list, show and check device files.
#include "registry.hpp"

namespace ergon::cli {

const Command& device_command() {
  static const Command command = {
      .name = "device",
      .group = "Understand",
      .summary = "list, show and check device files",
      .description =
          "A device file says what a unit of work costs on a GPU, in time and in energy. A device "
          "is found "
          "by any usual spelling of its name and by the name that a trace gives it.",
      .operands = {{.name = "ACTION", .help = "what to do", .choices = {"list", "show", "check"}},
                   {.name = "NAME",
                    .help = "a device (show) or device files (check)",
                    .required = false,
                    .many = true,
                    .path = true}},
      .examples = {{"ergon device list", "every device that is known"},
                   {"ergon device show a100", "one device, each figure with its origin"},
                   {"ergon device check my-gpu.json", "is this a valid device file?"}},
  };
  return command;
}

}  // namespace ergon::cli
