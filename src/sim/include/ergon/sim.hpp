// The simulated GPU: physics and sensors in virtual time, and the machine that processes share.
#pragma once
#include "ergon/sim/board.hpp"
#include "ergon/sim/config.hpp"
#include "ergon/sim/machine.hpp"
#include "ergon/sim/model.hpp"
#include "ergon/sim/physics.hpp"
#include "ergon/sim/process.hpp"
#include "ergon/sim/sensor.hpp"
