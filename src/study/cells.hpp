// Tables of text as people write them: any separator, any end, any word for "missing".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/study/data.hpp"

namespace ergon::study {

/// A table before anything is known of its columns.
struct RawTable {
  std::vector<std::string> header;  ///< empty: the table has none
  std::vector<std::vector<std::string>> rows;
  std::vector<std::uint64_t> lines;  ///< 1-based
  char separator = ',';
  std::uint64_t ragged = 0;     ///< rows left out: another number of fields
  std::uint64_t thousands = 0;  ///< cells with commas between thousands, which are taken out
  bool open_end = false;        ///< the last row is kept, and its line has no end
  bool truncated = false;       ///< the last line was cut and left out
};

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Letters and digits only, lower case.
std::string squeezed(std::string_view text);
std::string_view trimmed(std::string_view text);
std::string lower(std::string_view text);
/// `[N/A]`, `ERR!`, `-`, empty and the like.
bool is_missing(std::string_view cell);
/// A finite number, with a unit behind it at most ("22.89 W"); nullopt for text and for missing.
Maybe number_of(std::string_view cell, std::string* unit = nullptr);
/// The whole cell is a number.
bool is_number(std::string_view cell);

/// Separator, header and rows of a text. Lines of `#` and empty ones are left out, so is a
/// `sep=;` line and text before the first line that begins a table.
RawTable parse_table(std::string_view text);
/// The cells of a line.
std::vector<std::string> split_line(std::string_view line, char separator);
/// The separator that cuts most lines into the same number of cells.
char separator_of(const std::vector<std::string_view>& lines);
std::vector<std::string_view> lines_of(std::string_view text);

/// The file name without folders and ending.
std::string stem_of(std::string_view path);
/// Lower-case words and numbers of a name; "coreF" gives "core", "f".
std::vector<std::string> words_of(std::string_view name);

}  // namespace ergon::study
