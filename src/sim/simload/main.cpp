// ergon-simload PHASES.json: a workload for the simulated GPU. The work is done when the simulated
// clock says so; killed, its load is gone.
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>

#include "ergon/sim/process.hpp"
#include "player.hpp"

namespace {

using ergon::Errc;
using ergon::Error;
using ergon::fail;
using ergon::Result;

volatile std::sig_atomic_t stop_signal = 0;

void note_signal(int signal) { stop_signal = signal; }

constexpr const char* kUsage =
    "usage: ergon-simload [--gpu N[,N...]|all] [--curve] PHASES.json\n"
    "Plays a list of phases on the simulated GPU that ERGON_SIM and ERGON_SIM_STATE name.\n"
    "  --gpu    ordinals among the GPUs that CUDA_VISIBLE_DEVICES leaves visible; default 0\n"
    "  --curve  print what a run costs at every clock (in no time, on no GPU) instead of playing\n"
    "ERGON_SIM_TRUTH=FILE gets the true energy, times and clocks at the end (%p in it becomes the "
    "process id).\n";

struct Options {
  std::string gpus = "0";
  std::string file;
  bool curve = false;
};

std::string variable(const char* name) {
  const char* text =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): this program has one thread
  return text == nullptr ? "" : text;
}

int complain(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return ergon::exit_code(error.code);
}

Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--gpu" && k + 1 < argc) {
      options.gpus = argv[++k];
    } else if (word.starts_with("--gpu=")) {
      options.gpus = word.substr(6);
    } else if (word == "--curve") {
      options.curve = true;
    } else if (word.size() > 1 && word.front() == '-') {
      return fail(Errc::kInvalidArgument, "unknown option '" + std::string(word) + "'",
                  "ergon-simload --help");
    } else if (options.file.empty()) {
      options.file = word;
    } else {
      return fail(Errc::kInvalidArgument, "more than one phases file", "ergon-simload --help");
    }
  }
  if (options.file.empty())
    return fail(Errc::kInvalidArgument, "no phases file", "ergon-simload --help");
  return options;
}

Result<std::vector<std::uint32_t>> numbers(std::string_view text, std::size_t below,
                                           const char* what) {
  std::vector<std::uint32_t> list;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto value = ergon::parse_number<std::uint32_t>(part);
    if (!value || *value >= below) {
      return fail(Errc::kInvalidArgument,
                  std::string(what) + ": '" + std::string(part) + "' is no GPU here",
                  "numbers from 0 to " + std::to_string(below == 0 ? 0 : below - 1));
    }
    list.push_back(*value);
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

// As a CUDA program sees GPUs: CUDA_VISIBLE_DEVICES picks and orders, --gpu picks among those.
Result<std::vector<std::uint32_t>> chosen_gpus(const std::string& asked, std::uint32_t gpus) {
  std::vector<std::uint32_t> visible;
  visible.reserve(gpus);
  for (std::uint32_t k = 0; k < gpus; ++k) visible.push_back(k);
  if (const std::string text = variable("CUDA_VISIBLE_DEVICES"); !text.empty()) {
    ERGON_TRY(visible, numbers(text, gpus, "CUDA_VISIBLE_DEVICES"));
  }
  if (asked == "all") return visible;
  ERGON_TRY(const std::vector<std::uint32_t> ordinals, numbers(asked, visible.size(), "--gpu"));
  std::vector<std::uint32_t> chosen;
  chosen.reserve(ordinals.size());
  for (const std::uint32_t k : ordinals) chosen.push_back(visible[k]);
  return chosen;
}

std::string truth_path() {
  std::string path = variable("ERGON_SIM_TRUTH");
  if (const std::size_t at = path.find("%p"); at != std::string::npos)
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

Result<int> run(const Options& options, ergon::sim::Nanoseconds begin) {
  ERGON_TRY(const ergon::sim::Workload workload, ergon::sim::read_workload(options.file));
  const ergon::sim::MachineAddress address = ergon::sim::address_from_environment();
  if (options.curve) {
    ERGON_TRY(const ergon::sim::Config config, ergon::sim::parse_config(address.sim));
    std::fputs(ergon::sim::curve_csv(config, workload).c_str(), stdout);
    return 0;
  }
  ERGON_TRY(const auto machine, ergon::sim::Machine::open(address));
  ERGON_TRY(const auto gpus, chosen_gpus(options.gpus, machine->config().gpus));
  struct sigaction action{};
  action.sa_handler = note_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  ERGON_TRY(const auto played, ergon::sim::play(*machine, gpus, workload, begin, &stop_signal,
                                                variable("ERGON_REGION_LIBRARY")));
  if (const std::string path = truth_path(); !path.empty()) {
    std::ofstream file(path, std::ios::binary);
    file << ergon::sim::truth_json(*machine, workload, played) << std::flush;
    if (!file)
      return fail(Errc::kIo, "cannot write the truth to '" + path + "'", "check ERGON_SIM_TRUTH");
  }
  return static_cast<int>(stop_signal);
}

}  // namespace

int main(int argc, char** argv) {
  const ergon::sim::Nanoseconds begin = ergon::sim::monotonic_ns();
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const auto options = parse(argc, argv);
  if (!options) return complain(options.error());
  const auto signal = run(*options, begin);
  if (!signal) return complain(signal.error());
  if (*signal == 0) return 0;
  // Ends as the signal would have ended it, so that whoever started it sees why.
  std::signal(*signal, SIG_DFL);
  std::raise(*signal);
  return 128 + *signal;
}
