// What `ergon doctor` tells.
#pragma once
#include "context.hpp"
#include "ergon/run/doctor.hpp"

namespace ergon::cli {

/// `tried`: whether it was tried if clocks can be set; `loaded`: whether a load of ours ran.
Answer doctor_answer(const run::Checkup& checkup, bool tried, bool loaded);

}  // namespace ergon::cli
