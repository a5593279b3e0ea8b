// JSON logs: records with a time and a reading, however they are nested; what rocm-smi, amd-smi,
// gpustat and Prometheus answer; JSON lines.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "logs/intel_gpu_top.hpp"
#include "logs/json_text.hpp"
#include "logs/reader.hpp"
#include "logs/table_columns.hpp"

namespace ergon::meter::logs {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 28U;
constexpr int kDeepest = 16;

// A number, word, or value with its unit as the text of a cell; nullopt: a list, an object, a bool.
std::optional<std::string> cell_of(const Value& v) {
  if (v.is_null()) return std::string();
  if (const auto* s = v.as_string()) return *s;
  if (const auto* i = v.as_int()) return std::to_string(*i);
  if (const auto* d = v.as_double()) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, *d);
    static_cast<void>(error);
    return std::string(text, end);
  }
  // amd-smi: {"value": 203, "unit": "W"}
  const Value* value = v.find("value");
  const Value* unit = v.find("unit");
  if (value == nullptr || unit == nullptr || v.as_object()->size() > 2) return std::nullopt;
  auto number = cell_of(*value);
  const auto* word = unit->as_string();
  if (!number || number->empty() || word == nullptr || missing_marker(*number)) return number;
  return *number + ' ' + *word;
}

bool is_draw(const Field& f) {
  return f.fixed && (f.name == "power_w" || f.name == "energy_j" || f.name == "average_power_w" ||
                     f.name == "instant_power_w" || f.name == "board_power_w");
}

bool is_reading(const Field& f) {
  return is_draw(f) || (f.fixed && (f.name.ends_with("_power_w") || f.name.ends_with("_energy_j") ||
                                    f.name == "clock_hz" || f.name == "temperature_c" ||
                                    f.name == "utilization"));
}

// "card0", "gpu1", "0", "GPU-5d1c...": members that are GPUs.
bool names_gpu(std::string_view key) {
  if (is_uuid(key)) return true;
  std::string_view rest = key;
  for (const std::string_view head : {"card", "gpu_", "gpu", "GPU ", "GPU"}) {
    if (rest.starts_with(head)) {
      rest.remove_prefix(head.size());
      break;
    }
  }
  return !rest.empty() && rest.size() <= 3 &&
         std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
}

class Json final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override {
    if (given_up_) return true;
    if (text_.idle()) {
      const std::string_view t = trim(line.text);
      if (!t.starts_with('{') && t != "[" && !t.starts_with("[{") && !t.starts_with("[[")) {
        before_ = lower(t.substr(0, 80));
        return false;
      }
    }
    out.came_as("JSON");
    text_.add(line.text, line.number);
    while (const auto document = text_.next()) document_of(*document, out);
    if (text_.held() > kLargest) {
      out.skip("JSON documents of more than 256 MiB");
      given_up_ = true;
    }
    return true;
  }

  void end(Builder& out) override {
    if (given_up_) return;
    const bool open = !text_.idle();
    const auto rest = text_.rest();
    if (open) {
      out.defect(rest ? rest->line : 0, "truncated_line", "the last JSON document is cut");
      out.skip("truncated last document");
    }
    if (rest) document_of(*rest, out);
    for (const auto& [key, values] : points_) {
      out.format("prometheus json");
      out.begin_row(values.line);
      out.set_time({Stamp::Kind::kUtc, key.first});
      if (!key.second.empty()) out.set_gpu(key.second);
      for (const auto& [column, value] : values.cells) out.set(out.column(column, false), value);
    }
    // One record with a duration, or with no time at all, is the result of a run.
    if (rows_ == 1 && !dated_ && !vendor_) out.finished_runs("its one record has no date");
  }

 private:
  struct Cell {
    std::string name;
    std::string text;
  };
  using Cells = std::vector<Cell>;
  struct Point {
    std::uint64_t line = 0;
    std::map<std::string, double> cells;
  };

  const Field& field(const std::string& name) {
    const auto found = fields_.find(name);
    if (found != fields_.end()) return found->second;
    return fields_.emplace(name, field_of(name)).first->second;
  }

  void document_of(const JsonText::Document& document, Builder& out) {
    line_ = document.line;
    const auto value = json_value(document);
    if (!value) {
      out.defect(line_, "not_a_row", "no JSON: " + document.text.substr(0, 40));
      out.skip("lines that are no samples");
      return;
    }
    const Value* schema = value->find("schema");
    const auto* name = schema == nullptr ? nullptr : schema->as_string();
    if (name != nullptr && name->starts_with("ergon.")) return;  // an answer of ours
    rows_of(*value, {}, 0, out);
  }

  // Whether some row came of it.
  bool rows_of(const Value& v, const Cells& above, int depth, Builder& out) {
    if (depth > kDeepest) return false;
    if (const auto* list = v.as_array()) {
      if (pair_row(*list, out)) return true;
      bool any = false;
      for (const Value& item : *list) any = rows_of(item, above, depth + 1, out) || any;
      return any;
    }
    const auto* members = v.as_object();
    if (members == nullptr) return false;
    if (intel_gpu_top_sample(v, line_, elapsed_s_, out)) {
      vendor_ = true;
      return true;
    }
    if (prometheus(v, out) || split_frame(v, above, out) || by_gpu(*members, above, out))
      return true;
    Cells own;
    std::vector<std::pair<std::string, const Value*>> inner;
    std::vector<std::pair<std::string, const Value::Array*>> lists;
    collect(*members, {}, 0, own, inner, lists);
    Cells handed = above;  // what holds for the records inside as well
    for (const Cell& c : own) {
      const Field& f = field(c.name);
      if (f.role != Field::Role::kValue || c.name == "name" || c.name == "hostname")
        handed.push_back(c);
    }
    bool any = false;
    for (const auto& [key, child] : inner) {
      Cells with = handed;
      if (names_gpu(key)) {
        std::erase_if(with, [&](const Cell& c) { return field(c.name).role == Field::Role::kGpu; });
        with.push_back({"gpu", key});
        vendor_ = true;
      }
      any = rows_of(*child, with, depth + 1, out) || any;
    }
    if (list_rows(own, above, lists, out)) return true;
    // The figures beside a list of samples are of all of it.
    if (any) return true;
    own.insert(own.end(), above.begin(), above.end());
    return row(own, out);
  }

  // Scalars of an object and of the plain objects in it; records and lists inside.
  void collect(const Value::Object& members, const std::string& prefix, int depth, Cells& own,
               std::vector<std::pair<std::string, const Value*>>& inner,
               std::vector<std::pair<std::string, const Value::Array*>>& lists) {
    for (const auto& [key, value] : members) {
      if (const auto text = cell_of(value)) {
        // "power": {"socket_power": ...} says it twice, "temperature": {"edge": ...} does not.
        const Field& f = field(key);
        const bool enough =
            prefix.empty() || is_draw(f) || (f.fixed && f.name.ends_with("utilization"));
        own.push_back({enough ? key : prefix + '_' + key, *text});
      } else if (const auto* list = value.as_array()) {
        const bool plain = !list->empty() && std::ranges::all_of(*list, [](const Value& item) {
          return item.as_array() == nullptr && cell_of(item).has_value();
        });
        if (plain) {
          lists.emplace_back(key, list);
        } else {
          inner.emplace_back(key, &value);
        }
      } else if (const auto* object = value.as_object()) {
        const bool records = std::ranges::any_of(*object, [](const auto& m) {
          return m.second.as_array() != nullptr && !m.second.as_array()->empty() &&
                 m.second.as_array()->front().as_object() != nullptr;
        });
        if (names_gpu(key) || records || depth >= 3 || key == "data") {
          inner.emplace_back(key, &value);
        } else {
          collect(*object, prefix.empty() ? key : prefix + '_' + key, depth + 1, own, inner, lists);
        }
      }
    }
  }

  // [1704110400.5, 100.5]: a time and watts.
  bool pair_row(const Value::Array& list, Builder& out) {
    if (list.size() != 2) return false;
    const auto time = cell_of(list[0]);
    const auto power = cell_of(list[1]);
    if (!time || !power) return false;
    const auto stamp = stamp_of(*time, std::nullopt);
    if (!stamp || stamp->kind != Stamp::Kind::kUtc || !number_of(*power)) return false;
    out.note("numbers without a name are taken as watts");
    return row({{"timestamp", *time}, {"power_w", *power}}, out);
  }

  // {"timestamp": [...], "power": [...]}: columns; beside one time: a list a GPU.
  bool list_rows(const Cells& own, const Cells& above,
                 const std::vector<std::pair<std::string, const Value::Array*>>& lists,
                 Builder& out) {
    std::size_t length = 0;
    for (const auto& [key, list] : lists) {
      if (is_reading(field(key))) length = std::max(length, list->size());
    }
    if (length == 0) return false;
    const auto timed = [&](const std::string& name) {
      return field(name).role == Field::Role::kTime || field(name).role == Field::Role::kDate;
    };
    const bool one_time = std::ranges::any_of(own, [&](const Cell& c) { return timed(c.name); });
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) {
      Cells cells = above;
      for (const Cell& c : own) {
        if (!field(c.name).fixed) cells.push_back(c);
      }
      if (one_time && length > 1) cells.push_back({"gpu", std::to_string(i)});
      for (const auto& [key, list] : lists) {
        if (list->size() == length) cells.push_back({key, *cell_of((*list)[i])});
      }
      any = row(cells, out) || any;
    }
    return any;
  }

  // pandas, orient="split": {"columns": [...], "data": [[...], ...]}
  bool split_frame(const Value& v, const Cells& above, Builder& out) {
    const Value* columns = v.find("columns");
    const Value* data = v.find("data");
    if (columns == nullptr || data == nullptr || columns->as_array() == nullptr ||
        data->as_array() == nullptr) {
      return false;
    }
    bool any = false;
    for (const Value& line : *data->as_array()) {
      const auto* cells = line.as_array();
      if (cells == nullptr || cells->size() != columns->as_array()->size()) return any;
      Cells record = above;
      for (std::size_t i = 0; i < cells->size(); ++i) {
        const auto* name = (*columns->as_array())[i].as_string();
        const auto text = cell_of((*cells)[i]);
        if (name != nullptr && text) record.push_back({*name, *text});
      }
      any = row(record, out) || any;
    }
    return any;
  }

  // Zeus prints {'GPU0': 66.2, 'GPU1': 68.8} below a time: watts; joules in the end, and says so.
  bool by_gpu(const Value::Object& members, const Cells& above, Builder& out) {
    const bool all = !members.empty() && std::ranges::all_of(members, [](const auto& m) {
      const auto text = cell_of(m.second);
      return names_gpu(m.first) && text && (missing_marker(*text) || number_of(*text));
    });
    if (!all) return false;
    if (before_.find("energy") != std::string::npos) {
      out.skip("totals of the whole run");
      return true;
    }
    out.note("numbers without a name are taken as watts");
    for (const auto& [key, value] : members) {
      Cells cells = above;
      cells.push_back({"gpu", key});
      cells.push_back({"power_w", *cell_of(value)});
      row(cells, out);
    }
    return true;
  }

  // {"metric": {"__name__": ..., "gpu": "0"}, "values": [[1704110400.5, "100.5"], ...]}
  bool prometheus(const Value& v, Builder& out) {
    const Value* metric = v.find("metric");
    const Value* values = v.find("values");
    const Value* value = v.find("value");
    if (metric == nullptr || metric->as_object() == nullptr) return false;
    if ((values == nullptr || values->as_array() == nullptr) &&
        (value == nullptr || value->as_array() == nullptr)) {
      return false;
    }
    const auto label = [&](const char* name) {
      const Value* l = metric->find(name);
      return l == nullptr || l->as_string() == nullptr ? std::string() : *l->as_string();
    };
    const Field& f = field(label("__name__"));
    std::string gpu = label("gpu");
    for (const char* name : {"uuid", "UUID", "device"}) {
      if (gpu.empty()) gpu = label(name);
    }
    if (!f.fixed || !is_reading(f)) {
      out.skip("metrics that are no reading of a sensor");
      return true;
    }
    const auto take_point = [&](const Value& pair) {
      const auto* both = pair.as_array();
      if (both == nullptr || both->size() != 2) return;
      const auto time = cell_of((*both)[0]);
      const auto text = cell_of((*both)[1]);
      const auto stamp = time ? number_time(*time, 1.0) : std::nullopt;
      const auto number = text ? number_of(*text) : std::nullopt;
      if (!stamp || stamp->kind != Stamp::Kind::kUtc) return;
      Point& point = points_[{stamp->ns, gpu}];
      point.line = line_;
      double watts = kMissing;
      if (number && std::isfinite(number->value))
        watts = f.unit ? apply(*f.unit, *number) : number->value;
      const auto [at, fresh] = point.cells.emplace(f.name, watts);
      if (!fresh && !label("GPU_I_ID").empty()) {
        out.defect(line_, "mig_repeats_parent", "GPU " + gpu);
      } else if (!fresh) {
        at->second = watts;
      }
      dated_ = true;
      ++rows_;
    };
    if (values != nullptr && values->as_array() != nullptr) {
      for (const Value& pair : *values->as_array()) take_point(pair);
    } else {
      take_point(*value);
    }
    return true;
  }

  static std::optional<Stamp> stamp_of(const std::string& text, const std::optional<Unit>& unit) {
    std::optional<double> each;
    if (unit && unit->suffix == "s") each = unit->multiply / unit->divide;
    auto stamp = wall_time(text);
    return stamp ? stamp : number_time(text, each);
  }

  // A record with columns of several GPUs ("gpu0_power") is a row of each.
  bool row(const Cells& cells, Builder& out) {
    std::vector<int> lanes;
    for (const Cell& c : cells) {
      const int lane = field(c.name).lane;
      if (lane >= 0 && std::ranges::find(lanes, lane) == lanes.end()) lanes.push_back(lane);
    }
    if (lanes.empty()) return one_row(cells, out);
    std::ranges::sort(lanes);
    bool any = false;
    for (const int lane : lanes) {
      Cells own;
      for (const Cell& c : cells) {
        const Field& f = field(c.name);
        if ((f.lane < 0 || f.lane == lane) && f.role != Field::Role::kGpu) own.push_back(c);
      }
      own.push_back({"gpu", std::to_string(lane)});
      any = one_row(own, out) || any;
    }
    return any;
  }

  bool one_row(const Cells& cells, Builder& out) {
    std::optional<Stamp> stamp;
    std::string gpu;
    bool draw = false;
    bool reading = false;
    bool others = false;
    int best = 0;
    int rank = 0;
    for (const Cell& c : cells) {
      const Field& f = field(c.name);
      if (f.role == Field::Role::kTime || f.role == Field::Role::kDate) {
        const auto s = stamp_of(c.text, f.unit);
        const int score = !s                               ? 0
                          : s->kind == Stamp::Kind::kUtc   ? 3
                          : s->kind == Stamp::Kind::kLocal ? 2
                                                           : 1;
        if (score > best) {
          best = score;
          stamp = s;
        }
      } else if (f.role == Field::Role::kGpu) {
        if (f.rank > rank && !missing_marker(c.text)) {
          rank = f.rank;
          gpu = c.text;
        }
      } else {
        draw = draw || is_draw(f);
        reading = reading || is_reading(f);
        others = others || !f.fixed;
      }
    }
    std::vector<std::string> names;
    for (const Cell& c : cells) names.push_back(c.name);
    const std::string runs = runs_table_of(names);
    if (!reading || !runs.empty()) {
      if (reading) out.finished_runs(runs);
      return false;
    }
    // Without a time only what can be nothing else is a sample.
    if (!stamp && !(draw && (!gpu.empty() || !others))) {
      if (draw) out.finished_runs("its records have no time");
      return false;
    }
    ++rows_;
    dated_ = dated_ || best > 1;
    out.format(vendor_ ? "rocm-smi json" : "json");
    out.begin_row(line_);
    if (stamp) out.set_time(*stamp);
    if (!gpu.empty()) out.set_gpu(gpu);
    std::vector<std::string> used;
    for (const Cell& c : cells) {
      Field f = field(c.name);
      if (f.role != Field::Role::kValue || c.text.size() > 200) continue;
      if (f.fixed && std::ranges::find(used, f.name) != used.end()) {
        f.fixed = false;
        f.name = key_of(c.name);
      }
      if (f.name.empty() || std::ranges::find(used, f.name) != used.end()) continue;
      used.push_back(f.name);
      out.set_cell(f, trim(c.text));
    }
    return true;
  }

  JsonText text_;
  std::string before_;  ///< the line above, lower case
  std::uint64_t line_ = 0;
  std::size_t rows_ = 0;
  double elapsed_s_ = 0;  ///< of intel_gpu_top's samples
  bool dated_ = false;
  bool vendor_ = false;  ///< members named like GPUs
  bool given_up_ = false;
  std::unordered_map<std::string, Field> fields_;
  std::map<std::pair<Nanos, std::string>, Point> points_;
};

}  // namespace

std::unique_ptr<Reader> json_reader() { return std::make_unique<Json>(); }

}  // namespace ergon::meter::logs
