// The reader of tables with a header: columns take roles (long_table.cpp), rows become samples
// (table_samples.cpp).
#pragma once
#include <map>
#include <set>

#include "names.hpp"
#include "reading.hpp"

namespace ergon::study {

struct ColumnInfo {
  Sense sense;
  std::size_t index = 0;
  std::size_t filled = 0;
  std::size_t numbers = 0;
  std::set<std::string> values;
  std::string cell_unit;     ///< of all cells that have one; empty where they differ
  bool mixed_units = false;  ///< cells have units, and not one
  [[nodiscard]] bool numeric() const { return numbers > 0 && numbers * 10 >= filled * 9; }
};

/// "True", "1", "yes"; nullopt for what is neither true nor false.
std::optional<bool> truth_of(std::string_view cell);

class TableReader {
 public:
  TableReader(const Reading& reading, const RawTable& table) : r_(reading), t_(table) {}

  Status run();

 private:
  const std::string& cell(std::size_t row, std::size_t column) const {
    return t_.rows[row][column];
  }
  [[nodiscard]] Maybe value(std::size_t row, const ColumnInfo* c) const {
    return c == nullptr ? Maybe{} : number_of(cell(row, c->index));
  }

  /// The cell in SI where it has a unit of `dim` behind it, else times `unit`.
  [[nodiscard]] Maybe scaled(std::size_t row, const ColumnInfo* c, double unit, Dim dim) const;
  /// SI scale of cells without a unit of their own; `said`: the column gives it.
  double scale_of(const ColumnInfo* c, Dim dim, bool& said) const;
  /// MW and MJ in a name: milli or mega, by what a GPU can draw.
  void settle_mega();
  /// Half of the 95 % interval that a row gives, over its energy as the column has it.
  [[nodiscard]] Maybe energy_error(std::size_t row) const;

  void look_at_columns();

  [[nodiscard]] ColumnInfo* named(std::string_view name);

  Status apply_mapping();

  [[nodiscard]] std::string header_text() const;

  const ColumnInfo* best(Role role, bool needs_numbers = true) const;

  const ColumnInfo* asked_and_empty(Role role) const;

  const ColumnInfo* plain_beside(Role role, const ColumnInfo* asked) const;

  void choose_time();

  Status choose();

  [[nodiscard]] Status refuse(const std::string& what) const;

  const ColumnInfo* best_factor(std::string_view name) const;

  [[nodiscard]] bool whole_numbers(const ColumnInfo& c) const;

  void choose_keys();

  [[nodiscard]] std::string key_of(std::size_t row, const std::vector<const ColumnInfo*>& keys,
                                   bool with_setting) const;
  [[nodiscard]] std::size_t distinct(const std::vector<const ColumnInfo*>& keys,
                                     bool with_setting) const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < t_.rows.size(); ++i) seen.insert(key_of(i, keys, with_setting));
    return seen.size();
  }

  void drop_needless();

  void split_duplicates();

  void make_samples();
  void clock_scale(const ColumnInfo* c, Maybe base, double& scale, bool& offset) const;
  void fill_validity(std::size_t row, Sample& s) const;
  [[nodiscard]] bool kept(std::size_t row) const;
  [[nodiscard]] std::string workload_name(std::size_t row) const;

  const Reading& r_;
  const RawTable& t_;
  std::vector<ColumnInfo> columns_;
  std::map<std::string, std::string> constants_;
  std::string constant_workload_;
  Maybe clock_base_;
  Maybe memory_base_;
  const ColumnInfo* clock_ = nullptr;
  const ColumnInfo* memory_ = nullptr;
  const ColumnInfo* limit_ = nullptr;
  const ColumnInfo* achieved_ = nullptr;
  const ColumnInfo* memory_achieved_ = nullptr;
  const ColumnInfo* time_ = nullptr;
  const ColumnInfo* power_ = nullptr;
  const ColumnInfo* energy_ = nullptr;
  const ColumnInfo* rate_ = nullptr;
  const ColumnInfo* check_ = nullptr;
  const ColumnInfo* parameter_ = nullptr;
  const ColumnInfo* setting_text_ = nullptr;
  bool named_settings_ = false;
  NamedSetting file_setting_;
  std::string unit_of_work_;
  std::vector<const ColumnInfo*> keys_;
};

}  // namespace ergon::study
