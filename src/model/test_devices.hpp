// Built-in devices by id, for tests.
#pragma once
#include <stdexcept>
#include <string_view>

#include "ergon/model.hpp"

namespace ergon::model {

inline const Device& device(std::string_view id) {
  for (const Device& d : built_in_devices()) {
    if (d.id == id) return d;
  }
  throw std::runtime_error("no such device");
}

}  // namespace ergon::model
