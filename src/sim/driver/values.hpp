// Power, energy and reasons as the library reports them, faults included; used by the plain calls
// and by the fields.
#pragma once

#include <cstdint>

#include "session.hpp"

namespace ergon::sim {

/// Milliwatts of the whole board or of its memory; the status as for a field.
gpu_abi::nvml::Return power_mw(BoardView& view, Nanoseconds now, PowerReading kind, bool memory,
                               std::uint32_t& mw);
/// What nvmlDeviceGetPowerUsage reads on this model.
[[nodiscard]] PowerReading usage_kind(const Model& model);
/// Millijoules, with the faults of the counter.
gpu_abi::nvml::Return energy_mj(BoardView& view, Nanoseconds now, std::uint64_t& mj);
[[nodiscard]] std::uint64_t reasons(const BoardView& view);
/// Whole degrees.
[[nodiscard]] std::int32_t celsius(const BoardView& view);
/// Of the memory; 0 when the board does not say.
[[nodiscard]] std::uint32_t memory_celsius(const BoardView& view);

}  // namespace ergon::sim
