// The JSON Schemas that lie in the binary.
#include "schemas.hpp"

#include <algorithm>

#include "embedded_schemas.hpp"
#include "ergon/io.hpp"

namespace ergon::cli {
namespace {

std::string name_of(const embedded::File& file) {
  return std::string(file.name.substr(0, file.name.find(".schema")));
}

std::string_view text_of(std::string_view name) {
  for (const auto& file : embedded::schemas()) {
    if (name_of(file) == name) return file.text;
  }
  return {};
}

Value parsed(std::string_view text) {
  auto document = io::parse_json(text);
  ERGON_CHECK(document.has_value(), "a schema in the binary is no JSON");
  return *std::move(document);
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const auto& file : embedded::schemas()) names.push_back(name_of(file));
  std::ranges::sort(names);
  return names;
}

std::optional<Value> schema_document(std::string_view name) {
  const auto text = text_of(name);
  if (text.empty()) return std::nullopt;
  Value document = parsed(text);
  if (text.find("\"#/$defs/answer\"") != std::string_view::npos) {
    const Value* held = document.find("$defs");
    Value definitions = held == nullptr ? Value::object() : *held;
    definitions.set("answer", parsed(text_of("answer")));
    document.set("$defs", std::move(definitions));
  }
  return document;
}

}  // namespace ergon::cli
