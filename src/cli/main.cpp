// ergon: the process around the command line.
#include <csignal>
#include <string>
#include <vector>

#include "ergon/cli.hpp"
#include "heap.hpp"

int main(int argc, char** argv) {
  ergon::cli::prepare_heap();
  // A reader that goes away ("ergon graph ... | head") shows as a failed write, not as a signal.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return ergon::cli::run(words, ergon::cli::process_surroundings());
}
