// Power logs, sensors, and the energy of a window with its uncertainty.
#pragma once
#include "ergon/meter/energy.hpp"
#include "ergon/meter/log.hpp"
#include "ergon/meter/run_file.hpp"
#include "ergon/meter/sensor.hpp"
#include "ergon/meter/series.hpp"
