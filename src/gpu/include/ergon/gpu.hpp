// One GPU interface for every vendor, for recorded runs and for the simulated GPU; and the lease
// over what is changed.
#pragma once
#include "ergon/gpu/lease.hpp"
#include "ergon/gpu/machine.hpp"
#include "ergon/gpu/process.hpp"
#include "ergon/gpu/readings.hpp"
