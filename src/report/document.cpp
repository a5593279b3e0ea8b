// The JSON document of an answer (the contract's envelope), JSON lines, and the error document.
#include "ergon/report.hpp"
#include "text.hpp"

namespace ergon::report {
namespace {

bool is_list_of_objects(const Value& value) {
  const auto* items = value.as_array();
  if (items == nullptr || items->empty()) return false;
  for (const auto& item : *items) {
    if (item.as_object() == nullptr) return false;
  }
  return true;
}

std::string schema_of(const Answer& answer) { return "ergon." + answer.command + "/1"; }

}  // namespace

Value document(const Answer& answer, const Envelope& envelope) {
  Value out = Value::object();
  out.set("schema", schema_of(answer)).set("ergon_version", envelope.version);
  Value inputs = Value::array();
  for (const auto& input : envelope.inputs) {
    inputs.push(Value::object()
                    .set("path", input.path)
                    .set("bytes", input.bytes)
                    .set("format", input.format)
                    .set("digest", input.digest));
  }
  Value warnings = Value::array();
  for (const auto& warning : envelope.warnings) {
    warnings.push(Value::object()
                      .set("code", warning.code)
                      .set("message", warning.message)
                      .set("count", warning.count));
  }
  Value skipped = Value::array();
  for (const auto& [reason, count] : envelope.skipped) {
    skipped.push(Value::object().set("reason", reason).set("count", count));
  }
  Value shares = Value::object();
  for (const auto& [origin, share] : envelope.origin_shares) shares.set(origin, share);
  out.set("inputs", std::move(inputs))
      .set("warnings", std::move(warnings))
      .set("skipped", std::move(skipped))
      .set("origin_shares", std::move(shares));
  if (const auto* members = answer.data.as_object()) {
    for (const auto& [key, value] : *members) out.set(key, value);
  }
  return out;
}

std::string to_json(const Answer& answer, const Envelope& envelope) {
  return io::to_json(document(answer, envelope));
}

std::string to_json_lines(const Answer& answer, const Envelope& envelope) {
  const Value whole = document(answer, envelope);
  Value first = Value::object();
  std::string rows;
  for (const auto& [key, value] : *whole.as_object()) {
    if (!is_list_of_objects(value)) {
      first.set(key, value);
      continue;
    }
    for (const auto& item : *value.as_array()) {
      Value row = Value::object();
      row.set("schema", schema_of(answer)).set("list", key);
      for (const auto& [name, member] : *item.as_object()) row.set(name, member);
      rows += io::to_json(row, 0) + "\n";
    }
  }
  return io::to_json(first, 0) + "\n" + rows;
}

std::string error_json(const Error& error) {
  Value out = Value::object();
  out.set("schema", "ergon.error/1")
      .set("code", to_string(error.code))
      .set("message", error.message)
      .set("hint", error.hint);
  if (error.offset) out.set("offset", *error.offset);
  if (error.line) out.set("line", *error.line);
  // "nearest.time_s" is the member time_s of the object nearest.
  for (const auto& [path, figure] : error.figures) {
    const auto dot = path.find('.');
    if (dot == std::string::npos) {
      out.set(path, figure);
      continue;
    }
    const std::string head = path.substr(0, dot);
    const Value* held = out.find(head);
    Value inner = held == nullptr ? Value::object() : *held;
    inner.set(path.substr(dot + 1), figure);
    out.set(head, std::move(inner));
  }
  // Where no deadline would help there is no nearest plan, and that is said.
  if (error.code == Errc::kInfeasible && out.find("nearest") == nullptr)
    out.set("nearest", nullptr);
  return io::to_json(out);
}

namespace {

std::string marked(std::string_view word, std::string_view color_code, bool color) {
  if (!color) return std::string(word);
  return "\x1b[" + std::string(color_code) + "m" + std::string(word) + "\x1b[0m";
}

// A message of several lines stays one: its further lines are indented.
std::string message_text(std::string_view text) {
  std::string out;
  while (true) {
    const auto end = text.find('\n');
    out += visible(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += "\n  ";
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string error_text(const Error& error, bool color) {
  std::string out = marked("error:", "1;31", color) + " " + message_text(error.message) + "\n";
  if (error.offset) out += "  at byte " + std::to_string(*error.offset) + "\n";
  if (error.line) out += "  at line " + std::to_string(*error.line) + "\n";
  if (!error.hint.empty())
    out += marked("hint:", "1;36", color) + " " + message_text(error.hint) + "\n";
  return out;
}

std::string warnings_text(const Envelope& envelope, bool color) {
  std::string out;
  for (const auto& warning : envelope.warnings) {
    out += marked("warning:", "1;33", color) + " " + message_text(warning.message);
    if (warning.count > 1) out += " (" + std::to_string(warning.count) + " times)";
    out += "\n";
  }
  return out;
}

}  // namespace ergon::report
