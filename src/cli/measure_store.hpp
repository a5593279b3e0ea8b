// The run file of a measurement: readings go in as they come, so that a killed tool leaves them.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpu_input.hpp"
#include "measure_parts.hpp"

namespace ergon::cli {

/// The device as it is known before anything was read.
meter::StoredDevice stored_device(const gpu::Identity& identity);

/// Writes batches of readings in a thread of its own, once a second, from start() to stop().
class SampleStore {
 public:
  /// `take_new` gives the readings since its last call.
  SampleStore(std::string path, meter::Provenance provenance,
              std::vector<meter::StoredDevice> devices,
              std::function<std::vector<meter::Series>()> take_new);
  ~SampleStore();
  SampleStore(const SampleStore&) = delete;
  SampleStore& operator=(const SampleStore&) = delete;

  void start();
  /// Ends the thread and writes what is left.
  void stop();
  /// After stop(): the rest of the measurement goes into the file, which is complete then. The
  /// first thing that could not be written is the error.
  Status complete(const Measurement& measurement);
  /// After stop(): nothing was measured, so that the file goes.
  void discard();
  /// CPU time of the writing thread, after stop().
  [[nodiscard]] Seconds cpu_time() const { return cpu_time_; }

 private:
  Status write_new();
  Status write_devices(const Measurement& measurement);
  Status write_runs(const Measurement& measurement);

  std::string path_;
  meter::Provenance provenance_;
  std::vector<meter::StoredDevice> devices_;
  std::function<std::vector<meter::Series>()> take_new_;
  std::optional<meter::RunFile> file_;
  std::map<std::string, std::size_t> written_;  ///< readings in the file, by GPU
  Status outcome_;
  Seconds cpu_time_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace ergon::cli
