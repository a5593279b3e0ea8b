// What a RunFile holds.
#pragma once
#include "ergon/meter/run_file.hpp"
#include "sqlite.hpp"

namespace ergon::meter {

struct RunFile::Impl {
  Database database;
};

}  // namespace ergon::meter
