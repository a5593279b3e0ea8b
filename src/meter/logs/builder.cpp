// Taking rows in.
#include "logs/builder.hpp"

#include <algorithm>
#include <cmath>

namespace ergon::meter::logs {

std::size_t Builder::column(const std::string& name, bool text) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  LogColumn column;
  column.name = name;
  column.text = text;
  if (text) column.dictionary.emplace_back();
  by_name_[name] = columns_.size();
  columns_.push_back(std::move(column));
  word_ids_.emplace_back();
  return columns_.size() - 1;
}

void Builder::begin_row(std::uint64_t line) {
  lines_.push_back(line);
  gpu_.push_back(0);
  times_.ns.push_back(kNoTime);
  lone_times_.ns.push_back(lone_ ? lone_->ns : kNoTime);
  if (lone_ && !lone_times_.kind) lone_times_.kind = lone_->kind;
  if (lone_ && *lone_times_.kind != lone_->kind) lone_times_.ns.back() = kNoTime;
}

void Builder::set(std::size_t column, double value) {
  auto& numbers = columns_[column].numbers;
  if (numbers.size() < lines_.size() - 1) numbers.resize(lines_.size() - 1, kMissing);
  if (numbers.size() == lines_.size()) {
    numbers.back() = value;
  } else {
    numbers.push_back(value);
  }
}

std::uint32_t Builder::set_text(std::size_t column, std::string_view value) {
  std::uint32_t id = 0;
  if (!value.empty()) {
    auto& ids = word_ids_[column];
    const auto found = ids.find(value);
    if (found != ids.end()) {
      id = found->second;
    } else {
      id = static_cast<std::uint32_t>(columns_[column].dictionary.size());
      columns_[column].dictionary.push_back(io::valid_utf8(value));
      ids.emplace(std::string(value), id);
    }
  }
  set_word(column, id);
  return id;
}

void Builder::set_word(std::size_t column, std::uint32_t word) {
  auto& words = columns_[column].words;
  if (words.size() < lines_.size() - 1) words.resize(lines_.size() - 1, 0);
  if (words.size() == lines_.size()) {
    words.back() = word;
  } else {
    words.push_back(word);
  }
}

void Builder::set_cell(const Field& field, std::string_view text) {
  const std::uint64_t line = lines_.back();
  if (missing_marker(text)) {
    const bool words = field.text || (!field.fixed && by_name_.contains(field.name) &&
                                      columns_[by_name_.at(field.name)].text);
    if (words) {
      set_text(column(field.name, true), {});
    } else {
      const std::string name =
          field.unit && !field.fixed ? with_suffix(field.name, field.unit->suffix) : field.name;
      set(column(name, false), kMissing);
    }
    return;
  }
  if (!field.text) {
    const auto number = number_of(text);
    if (field.needs_unit && number && number->rest.empty()) {
      const std::size_t level = column(field.fallback, false);
      if (!columns_[level].text) set(level, number->value);
      return;
    }
    std::optional<Unit> unit = field.unit;
    bool good = number.has_value();
    if (number && !number->rest.empty()) {
      const auto own = unit_of(number->rest);
      good = own.has_value();
      if (own) unit = own;
    }
    if (good) {
      const std::string name =
          unit && !field.fixed ? with_suffix(field.name, unit->suffix) : field.name;
      const std::size_t at = column(name, false);
      if (!columns_[at].text) {
        set(at, unit ? apply(*unit, *number) : number->value);
        return;
      }
    }
    if (field.fixed) {
      defect(line, "not_a_number", field.name + " is '" + std::string(text.substr(0, 40)) + "'");
      return;
    }
  }
  const std::size_t at = column(field.name, true);
  if (columns_[at].text) {
    set_text(at, text);
  } else {
    defect(line, "not_a_number", field.name + " is '" + std::string(text.substr(0, 40)) + "'");
  }
}

void Builder::set_gpu(std::string_view id) {
  auto found = gpu_ids_.find(id);
  if (found == gpu_ids_.end()) {
    gpus_.push_back(io::valid_utf8(id));
    found = gpu_ids_.emplace(std::string(id), static_cast<std::uint32_t>(gpus_.size())).first;
  }
  gpu_.back() = found->second;
}

void Builder::set_time(const Stamp& stamp) {
  if (!times_.kind) times_.kind = stamp.kind;
  if (*times_.kind != stamp.kind) {
    note("times of another kind than the first one's are left out");
    return;
  }
  times_.ns.back() = stamp.ns;
}

void Builder::defect(std::uint64_t line, std::string kind, const std::string& detail) {
  auto& count = defect_counts_[kind];
  if (++count > PowerLog::kMostDefects) return;
  defects_.push_back({line, std::move(kind), io::valid_utf8(detail), {}});
}

void Builder::note(std::string text) {
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
}

void Builder::format(const std::string& name) {
  if (format_.empty()) {
    format_ = name;
  } else if (format_.find(name) == std::string::npos) {
    format_ += " + " + name;
  }
}

}  // namespace ergon::meter::logs
