// The columns of a table of cells: which is the time, which names the GPU, where each goes.
#pragma once
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "logs/builder.hpp"

namespace ergon::meter::logs {

inline constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

struct TableColumn {
  std::string header;
  Field field;
  std::size_t out = kNone;  ///< column of the builder, once a value told its kind
  bool out_text = false;
  std::string last = {};  ///< the cell before: most cells repeat
  double last_value = 0;
  std::uint32_t last_word = 0;
  bool last_missing = false;
  std::uint64_t missing_before = 0;  ///< cells without a value while `out` was unknown
  std::string rest = {};             ///< unit text of the last value with one
  std::optional<Unit> rest_unit = std::nullopt;
  bool with_unit = false;  ///< some value had a unit
  bool bare = false;       ///< some value had none
  int decimals_low = 99;   ///< digits after the point, over all values
  int decimals_high = -1;
};

struct TablePlan {
  std::size_t time = kNone;
  std::size_t day_time = kNone;  ///< time of day beside a date
  std::size_t gpu = kNone;
  std::vector<std::size_t> values;
  std::vector<int> lanes;  ///< one column a GPU: the GPUs' numbers
  bool no_gpu = false;     ///< watts of nodes or CPU domains
};

bool is_uuid(std::string_view cell);
/// Decides by the header and the first row.
TablePlan plan_columns(std::vector<TableColumn>& columns,
                       const std::vector<std::string_view>& first, bool headerless,
                       bool decimal_comma, Builder& out);
/// Settles what kind of column this is, by its first value.
void settle(TableColumn& column, std::string_view value, bool decimal_comma, Builder& out);
/// "2,000,000" (thousands) or "22,89 W" (a comma locale in a quoted cell).
std::optional<Number> grouped_or_comma(std::string_view text);
enum class Commas { kAsIs, kJoined, kUnclear };
/// Joins "110" and "50 W" of a line that was split at its decimal commas, where that gives as many
/// cells as there are `names` (0: no header, then only where all other commas are followed by a
/// blank). `known`: other rows had as many cells as names without this; then only a cell without a
/// unit in a column that has them (`united`) begins a number. kUnclear: more cells than
/// names, and no telling which commas are decimal.
Commas join_decimal_commas(std::vector<std::string_view>& cells, std::size_t names, bool known,
                           const std::vector<bool>& united);
/// Columns without any value come in by their header.
void finish_columns(std::vector<TableColumn>& columns, const TablePlan& plan, Builder& out);
/// Power said to be in mW that is in W, and the reverse.
void check_stated_units(const std::vector<TableColumn>& columns, std::uint64_t line, Builder& out);
/// Whether the last cell is shorter than all before it: the writer was killed in the middle.
bool cut_in_last_cell(const std::vector<TableColumn>& columns,
                      const std::vector<std::string_view>& cells, std::uint64_t rows);
/// "a table of runs: it has a column appName"; empty for logs.
std::string runs_table_of(const std::vector<std::string>& header);
/// What no header says: CodeCarbon gives energy in kWh, amd-smi clocks in MHz.
void unsaid_units(std::vector<TableColumn>& columns);
std::string format_of(const std::vector<std::string>& header, bool headerless);

}  // namespace ergon::meter::logs
