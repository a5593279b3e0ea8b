// Clocks and power cap on AMD's side: limits, not locks.
#include <algorithm>
#include <cmath>

#include "exports.hpp"

namespace amdsmi = ergon::gpu_abi::amdsmi;
using amdsmi::ClockType;
using amdsmi::PerfLevel;
using amdsmi::Processor;
using amdsmi::Status;
using ergon::sim::BoardView;
using ergon::sim::CallKind;
using ergon::sim::Nanoseconds;
using ergon::sim::Session;
using ergon::sim::Target;
using ergon::sim::with_processor;

namespace {

double call_time(bool clocks) {
  const auto machine = Session::get().machine();
  if (machine == nullptr) return 0;
  return clocks ? machine->config().model->calls.lock_s : machine->config().model->calls.limit_s;
}

std::uint64_t microwatts(double watts) {
  return static_cast<std::uint64_t>(std::llround(watts * 1e6));
}
std::uint32_t mhz(double value) { return static_cast<std::uint32_t>(std::lround(value)); }

bool in_range(const BoardView& view, std::uint64_t value) {
  const auto& clocks = view.model().clocks;
  return value >= mhz(clocks.sm_min) && value <= mhz(clocks.sm_max);
}

// A board under limits has a lower and an upper one; none is the end of the range.
void set_limits(BoardView& view, double low, double high, Nanoseconds now) {
  const auto& clocks = view.model().clocks;
  const bool whole = low <= clocks.sm_min && high >= clocks.sm_max;
  if (whole) {
    view.unlock_clocks(now);
  } else {
    view.lock_clocks(low, high, now);
  }
}

double low_limit(const BoardView& view) {
  return view.board().lock_min_mhz > 0 ? view.board().lock_min_mhz : view.model().clocks.sm_min;
}
double high_limit(const BoardView& view) {
  return view.board().lock_max_mhz > 0 ? view.board().lock_max_mhz : view.model().clocks.sm_max;
}

}  // namespace

Status amdsmi_get_power_cap_info(Processor processor, std::uint32_t sensor,
                                 amdsmi::PowerCapInfo* info) {
  if (info == nullptr || sensor != 0) return Status::kInvalid;
  return with_processor(processor, CallKind::kPower, [&](BoardView& view, Nanoseconds, Target) {
    const auto& power = view.model().power;
    *info = amdsmi::PowerCapInfo{};
    info->power_cap = microwatts(view.board().limit_w);
    info->default_power_cap = microwatts(power.limit_default);
    info->min_power_cap = microwatts(power.limit_min);
    info->max_power_cap = microwatts(power.limit_max);
    return Status::kSuccess;
  });
}

Status amdsmi_set_power_cap(Processor processor, std::uint32_t sensor, std::uint64_t cap_uw) {
  if (sensor != 0) return Status::kInvalid;
  return with_processor(
      processor, CallKind::kSetter, call_time(false),
      [&](BoardView& view, Nanoseconds now, Target) {
        const auto& power = view.model().power;
        if (cap_uw < microwatts(power.limit_min) || cap_uw > microwatts(power.limit_max))
          return Status::kInvalid;
        view.set_limit(static_cast<double>(cap_uw) * 1e-6, now);
        return Status::kSuccess;
      });
}

Status amdsmi_get_clock_info(Processor processor, ClockType type, amdsmi::ClockInfo* info) {
  if (info == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    *info = amdsmi::ClockInfo{};
    if (type == ClockType::kGfx) {
      info->clock = mhz(view.board().sm_mhz);
      info->min_clock = mhz(low_limit(view));
      info->max_clock = mhz(high_limit(view));
      info->locked = view.board().lock_max_mhz > 0 ? 1 : 0;
      return Status::kSuccess;
    }
    if (type != ClockType::kMem) return Status::kNotSupported;
    info->clock = mhz(view.board().memory_mhz);
    info->min_clock = mhz(view.model().clocks.memory.back());
    info->max_clock = mhz(view.model().clocks.memory.front());
    return Status::kSuccess;
  });
}

// As on MI300: the ends of the range and, between them, where the clock is.
Status amdsmi_get_clk_freq(Processor processor, ClockType type, amdsmi::Frequencies* list) {
  if (list == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    *list = amdsmi::Frequencies{};
    const auto add = [&](double value, double current) {
      if (value == current) list->current = list->supported;
      list->frequency[list->supported++] = static_cast<std::uint64_t>(value * 1e6);
    };
    if (type == ClockType::kGfx) {
      const auto& clocks = view.model().clocks;
      const double current = view.board().sm_mhz;
      add(clocks.sm_min, current);
      if (current > clocks.sm_min && current < clocks.sm_max) add(current, current);
      add(clocks.sm_max, current);
      return Status::kSuccess;
    }
    if (type != ClockType::kMem) return Status::kNotSupported;
    const auto& memory = view.model().clocks.memory;
    for (auto it = memory.rbegin(); it != memory.rend(); ++it) add(*it, view.board().memory_mhz);
    return Status::kSuccess;
  });
}

Status amdsmi_set_clk_freq(Processor processor, ClockType /*type*/, std::uint64_t /*bitmask*/) {
  // MI300 takes limits, not masks of levels.
  return with_processor(processor, CallKind::kSetter,
                        [](BoardView&, Nanoseconds, Target) { return Status::kNotSupported; });
}

Status amdsmi_set_gpu_clk_limit(Processor processor, ClockType type, amdsmi::ClockLimit limit,
                                std::uint64_t value) {
  return with_processor(processor, CallKind::kSetter, call_time(true),
                        [&](BoardView& view, Nanoseconds now, Target) {
                          if (type != ClockType::kGfx) return Status::kNotSupported;
                          if (!in_range(view, value)) return Status::kInvalid;
                          const auto asked = static_cast<double>(value);
                          if (limit == amdsmi::ClockLimit::kMin) {
                            set_limits(view, asked, std::max(asked, high_limit(view)), now);
                          } else {
                            set_limits(view, std::min(asked, low_limit(view)), asked, now);
                          }
                          return Status::kSuccess;
                        });
}

Status amdsmi_set_gpu_clk_range(Processor processor, std::uint64_t low, std::uint64_t high,
                                ClockType type) {
  return with_processor(
      processor, CallKind::kSetter, call_time(true), [&](BoardView& view, Nanoseconds now, Target) {
        if (type != ClockType::kGfx) return Status::kNotSupported;
        if (!in_range(view, low) || !in_range(view, high) || low > high) return Status::kInvalid;
        set_limits(view, static_cast<double>(low), static_cast<double>(high), now);
        return Status::kSuccess;
      });
}

Status amdsmi_set_gpu_perf_determinism_mode(Processor processor, std::uint64_t value) {
  return with_processor(
      processor, CallKind::kSetter, call_time(true), [&](BoardView& view, Nanoseconds now, Target) {
        if (!in_range(view, value)) return Status::kInvalid;
        set_limits(view, view.model().clocks.sm_min, static_cast<double>(value), now);
        return Status::kSuccess;
      });
}

Status amdsmi_get_gpu_perf_level(Processor processor, PerfLevel* level) {
  if (level == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    const bool limited = view.board().lock_max_mhz > 0;
    *level = !limited ? PerfLevel::kAuto
                      : (view.board().lock_min_mhz > view.model().clocks.sm_min
                             ? PerfLevel::kManual
                             : PerfLevel::kDeterminism);
    return Status::kSuccess;
  });
}

Status amdsmi_set_gpu_perf_level(Processor processor, PerfLevel level) {
  return with_processor(
      processor, CallKind::kSetter, call_time(true), [&](BoardView& view, Nanoseconds now, Target) {
        if (level == PerfLevel::kAuto) {
          view.unlock_clocks(now);
          return Status::kSuccess;
        }
        return level == PerfLevel::kManual ? Status::kSuccess : Status::kNotSupported;
      });
}
