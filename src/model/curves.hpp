// The device-wide functions of the SM clock that price() and the responses share.
#pragma once
#include "ergon/model/device.hpp"

namespace ergon::model {

/// V^2 at `f` over V^2 at the coefficient clock, with the ends that floor and knee allow (1, 1, 1
/// at the reference).
Estimate voltage_squared(const Device& device, double f);
/// Speed of what follows the SM clock, f / peak_clock above the break and less below it.
double core_speed(const Device& device, double f);
/// Share of the memory bandwidth that is there at SM clock `f`: 1 above the knee.
double memory_speed(const Device& device, double f, double knee_hz);
/// Power of the GPU with nothing running, and what an active chip adds.
double idle_power(const Device& device, double f);
double active_power(const Device& device, double f);
bool below_break(const Device& device, double f);

}  // namespace ergon::model
