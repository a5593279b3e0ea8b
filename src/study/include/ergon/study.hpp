// DVFS data sets of any shape -> baselines, optima, intervals, factor tables, and what is wrong
// with the data.
#pragma once
#include "ergon/study/analysis.hpp"
#include "ergon/study/data.hpp"
