// Work x Device x Clock -> Price: what a unit of work costs in seconds and joules, by component,
// with an interval.
#pragma once
#include "ergon/model/device.hpp"
#include "ergon/model/price.hpp"
#include "ergon/model/registry.hpp"
#include "ergon/model/response.hpp"
#include "ergon/model/work.hpp"
