// The descriptor of --map, filters of --where, and --baseline.
#include <algorithm>
#include <cmath>

#include "cells.hpp"
#include "columns.hpp"
#include "ergon/io.hpp"
#include "ergon/study.hpp"

namespace ergon::study {
namespace {

constexpr std::string_view kMapHint =
    "write clock=COLUMN:MHz,time=COLUMN:s,power=COLUMN:W,gpu=\"V100\", or name a JSON file: "
    "docs/formats/study_map.md";

/// Cuts at commas that stand outside quotes.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

Result<MappedColumn> column_of(std::string_view text) {
  MappedColumn out;
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    out.constant = std::string(text.substr(1, text.size() - 2));
    return out;
  }
  const auto colon = text.rfind(':');
  std::string_view unit;
  if (colon != std::string_view::npos) {
    unit = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  const auto plus = unit.find('+');
  if (plus != std::string_view::npos) {
    out.offset_from = io::parse_double(unit.substr(plus + 1));
    if (!out.offset_from)
      return fail(Errc::kInvalidArgument, "--map: '+' needs a number behind it");
    unit = unit.substr(0, plus);
  }
  out.column = std::string(trimmed(text));
  out.unit = std::string(trimmed(unit));
  if (out.column.empty()) return fail(Errc::kInvalidArgument, "--map: a column is missing");
  return out;
}

std::vector<std::string> header_of(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '/') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

Result<Mapping> from_json(std::string_view text) {
  ERGON_TRY(const Value document, io::parse_json(text, io::Twice::kRefuse));
  Mapping out;
  const auto bad = [](const std::string& what) {
    return fail(Errc::kMalformedInput, "the map is not usable: " + what, std::string(kMapHint));
  };
  if (document.as_object() == nullptr) return bad("it is no JSON object");
  for (const auto& [key, member] : *document.as_object()) {
    if (key == "header") {
      if (member.as_array() == nullptr) return bad("'header' is no list of names");
      for (const auto& name : *member.as_array()) {
        if (name.as_string() == nullptr) return bad("'header' holds something that is no name");
        out.header.push_back(*name.as_string());
      }
    } else if (key == "matrix") {
      if (member.as_string() == nullptr) return bad("'matrix' is no word");
      out.roles["matrix"] = {
          .column = *member.as_string(), .unit = {}, .constant = {}, .offset_from = {}};
    } else if (key == "constants") {
      if (member.as_object() == nullptr) return bad("'constants' is no object");
      for (const auto& [role, constant] : *member.as_object()) {
        if (constant.as_string() == nullptr) return bad("the constant '" + role + "' is no text");
        out.roles[role] = {
            .column = {}, .unit = {}, .constant = *constant.as_string(), .offset_from = {}};
      }
    } else if (key == "columns") {
      if (member.as_object() == nullptr) return bad("'columns' is no object");
      for (const auto& [role, column] : *member.as_object()) {
        MappedColumn mapped;
        if (const auto* name = column.as_string()) {
          mapped.column = *name;
        } else if (column.as_object() != nullptr) {
          const Value* name_of = column.find("column");
          if (name_of == nullptr || name_of->as_string() == nullptr)
            return bad("'" + role + "' names no column");
          mapped.column = *name_of->as_string();
          if (const Value* unit = column.find("unit");
              unit != nullptr && unit->as_string() != nullptr)
            mapped.unit = *unit->as_string();
          if (const Value* from = column.find("offset_from")) {
            if (from->as_double() != nullptr) mapped.offset_from = *from->as_double();
            if (from->as_int() != nullptr)
              mapped.offset_from = static_cast<double>(*from->as_int());
          }
        } else {
          return bad("'" + role + "' names no column");
        }
        out.roles[role] = std::move(mapped);
      }
    } else if (key != "schema") {
      return bad("'" + key + "' is not known; columns, constants, header and matrix are");
    }
  }
  return out;
}

}  // namespace

Result<Mapping> parse_mapping(std::string_view text) {
  const std::string_view head = trimmed(text);
  if (head.empty()) return fail(Errc::kInvalidArgument, "--map is empty", std::string(kMapHint));
  if (head.front() == '{') return from_json(text);
  Mapping out;
  for (const auto& part : parts_of(text)) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Errc::kInvalidArgument, "--map: '" + part + "' has no '='",
                  std::string(kMapHint));
    }
    const std::string role(trimmed(std::string_view(part).substr(0, equals)));
    const std::string_view value = std::string_view(part).substr(equals + 1);
    if (role == "header") {
      out.header = header_of(value);
      continue;
    }
    ERGON_TRY(out.roles[role], column_of(value));
  }
  return out;
}

Result<Filter> parse_filter(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(Errc::kInvalidArgument, "--where: '" + std::string(text) + "' has no '='",
                "write COLUMN=VALUE, or COLUMN=~PART for a part of the text");
  }
  Filter out{.column = std::string(trimmed(text.substr(0, equals))), .value = {}};
  std::string_view value = text.substr(equals + 1);
  if (value.starts_with('~')) {
    out.part = true;
    value.remove_prefix(1);
  }
  out.value = std::string(value);
  return out;
}

Result<BaselineSpec> parse_baseline(std::string_view text) {
  const std::string hint =
      "write the core clock, then the memory clock, then the power limit, as many as matter: "
      "1380MHz / 1800MHz,5000MHz / 1410MHz,300W / 300W / +0MHz,+0MHz for offsets";
  BaselineSpec out;
  int clocks = 0;
  for (const auto& part : parts_of(text)) {
    const std::string_view word = trimmed(part);
    std::string unit;
    const Maybe n = number_of(word, &unit);
    const Unit u = unit_of(unit);
    if (!n || u.dim == Dim::kNone) {
      return fail(Errc::kInvalidArgument, "--baseline: '" + std::string(word) + "' has no unit",
                  hint);
    }
    const bool sign = word.starts_with('+') || word.starts_with('-');
    if (u.dim == Dim::kPower && !sign && !out.power_limit_w) {
      out.power_limit_w = *n * u.scale;
    } else if (u.dim == Dim::kClock && clocks < 2) {
      (clocks == 0 ? out.clock_hz : out.memory_clock_hz) = *n * u.scale;
      out.is_offset = out.is_offset || sign;
      ++clocks;
    } else {
      return fail(
          Errc::kInvalidArgument,
          "--baseline: '" + std::string(word) + "' is one too many or no clock and no power", hint);
    }
  }
  return out;
}

}  // namespace ergon::study
