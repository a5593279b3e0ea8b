#include "values.hpp"

#include <algorithm>
#include <cmath>

namespace ergon::sim {

using gpu_abi::nvml::Return;

namespace {

constexpr std::uint64_t kUnknownReasonBit = 0x4000;
constexpr std::uint64_t kWrap = std::uint64_t{1} << 32U;
constexpr std::uint64_t kBeforeWrap = 200'000;  // mJ counted before the wrap comes

bool garbage_now(const BoardView& view, Nanoseconds now) {
  if (!Session::get().fault(CallFault::kGarbage)) return false;
  return draw(view.board().config.seed, 7000, static_cast<std::uint64_t>(now / 50'000'000)) < 0.15;
}

}  // namespace

PowerReading usage_kind(const Model& model) {
  return model.usage_is_average ? PowerReading::kAverage : PowerReading::kInstant;
}

Return power_mw(BoardView& view, Nanoseconds now, PowerReading kind, bool memory,
                std::uint32_t& mw) {
  const auto reading =
      memory ? memory_power_reading(view, kind, now) : power_reading(view, kind, now);
  if (!reading) return Return::kNotSupported;
  mw = static_cast<std::uint32_t>(std::lround(reading->value * 1000));
  if (garbage_now(view, now))
    mw = 2'747'313'400U + mw;  // millions of watts, as MangoHud pull request 2144 saw
  return Return::kSuccess;
}

Return energy_mj(BoardView& view, Nanoseconds now, std::uint64_t& mj) {
  Session& session = Session::get();
  Nanoseconds at = now;
  if (const auto since = session.fault_since(CallFault::kCounterFrozen)) at = std::min(at, *since);
  const double base = view.board().counter_base_j;
  double joules = counter_reading(view, at).value;
  if (const auto since = session.fault_since(CallFault::kCounterReset)) {
    joules -= counter_reading(view, *since).value;
  }
  mj = static_cast<std::uint64_t>(std::max(0.0, joules) * 1000);
  if (session.fault(CallFault::kCounterWrap)) {
    const auto counted = static_cast<std::uint64_t>(std::max(0.0, joules - base) * 1000);
    mj = (kWrap - kBeforeWrap + counted) % kWrap;
  }
  if (garbage_now(view, now)) mj = 0xdeadbeef00000000ULL + mj;
  return Return::kSuccess;
}

std::uint64_t reasons(const BoardView& view) {
  std::uint64_t bits = view.board().reasons;
  if (Session::get().fault(CallFault::kUnknownReason)) bits |= kUnknownReasonBit;
  return bits;
}

std::int32_t celsius(const BoardView& view) {
  return static_cast<std::int32_t>(std::lround(view.board().temperature_c));
}

std::uint32_t memory_celsius(const BoardView& view) {
  const Model& model = view.model();
  const bool tells = model.clocks.memory_idle == model.clocks.memory.front();  // HBM boards do
  return tells ? static_cast<std::uint32_t>(std::lround(view.board().temperature_c + 4)) : 0;
}

}  // namespace ergon::sim
