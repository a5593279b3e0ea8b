// A program under observation: the child process, its regions, the readings beside it, and what
// they say together.
#pragma once
#include "ergon/run/child.hpp"
#include "ergon/run/doctor.hpp"
#include "ergon/run/measure.hpp"
#include "ergon/run/rapl.hpp"
#include "ergon/run/regions.hpp"
#include "ergon/run/sampler.hpp"
#include "ergon/run/sweep.hpp"
