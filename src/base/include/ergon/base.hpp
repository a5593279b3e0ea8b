// The ground every module stands on: units, results, checks, values.
#pragma once
#include "ergon/base/check.hpp"
#include "ergon/base/number.hpp"
#include "ergon/base/origin.hpp"
#include "ergon/base/result.hpp"
#include "ergon/base/statistics.hpp"
#include "ergon/base/units.hpp"
#include "ergon/base/value.hpp"
