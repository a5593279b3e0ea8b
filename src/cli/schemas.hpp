// The JSON Schemas that lie in the binary.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::cli {

/// "graph", "packs", ...; sorted.
std::vector<std::string> schema_names();
/// The schema of that name, complete in itself: what every answer has ("answer") is put among its
/// $defs where it refers to that. nullopt where there is none.
std::optional<Value> schema_document(std::string_view name);

}  // namespace ergon::cli
