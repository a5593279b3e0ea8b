// The machine that processes share: boards in a mapped file, behind a robust lock, changed so that
// a process killed at any instruction leaves them whole.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ergon/sim/board.hpp"
#include "ergon/sim/config.hpp"

namespace ergon::sim {

/// How a machine is found: the values of ERGON_SIM and ERGON_SIM_STATE, either may be empty.
struct MachineAddress {
  std::string sim;
  std::string state_folder;
};

/// Reads both variables of this process.
[[nodiscard]] MachineAddress address_from_environment();

class Machine {
 public:
  /// Opens the machine in the state folder, or makes it there. Without a folder it is one that
  /// belongs to the tree of processes whose first member was started with the same ERGON_SIM.
  /// Errors: no configuration and no machine yet; another model, number of GPUs, seed or gain than
  /// the machine has; a folder that cannot be written.
  static Result<std::unique_ptr<Machine>> open(const MachineAddress& address);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// The machine's own properties with this process' call faults.
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] Nanoseconds created() const;

  /// Brings GPU `gpu` up to the present (freeing what dead processes held), calls `use(view, now)`,
  /// keeps what it changed.
  void with_board(std::uint32_t gpu, const std::function<void(BoardView&, Nanoseconds)>& use);

 private:
  struct Shared;
  Machine(Config config, Shared* shared) : config_(std::move(config)), shared_(shared) {}
  void lock();

  Config config_;
  Shared* shared_;
};

}  // namespace ergon::sim
