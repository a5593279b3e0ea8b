// RFC 4180 tables with a header.
#include <string>

#include "ergon/io.hpp"

namespace ergon::io {
namespace {

struct Record {
  std::vector<std::string> fields;
  std::uint64_t line = 0;
};

Result<std::vector<Record>> parse_records(std::string_view text) {
  std::vector<Record> records;
  std::uint64_t line = 1;
  std::size_t at = 0;
  while (at < text.size()) {
    Record record{.fields = {}, .line = line};
    bool more = true;
    while (more) {
      std::string field;
      if (at < text.size() && text[at] == '"') {
        ++at;
        for (;;) {
          if (at >= text.size()) {
            return fail(Error{.code = Errc::kMalformedInput,
                              .message = "CSV line " + std::to_string(record.line) +
                                         ": a quoted field is not closed",
                              .hint = "quotes inside a quoted field are doubled",
                              .line = record.line});
          }
          if (text[at] == '"') {
            ++at;
            if (at >= text.size() || text[at] != '"') break;
          }
          if (text[at] == '\n') ++line;
          field += text[at++];
        }
      }
      while (at < text.size() && text[at] != ',' && text[at] != '\n' && text[at] != '\r')
        field += text[at++];
      record.fields.push_back(std::move(field));
      more = at < text.size() && text[at] == ',';
      if (more) ++at;
    }
    if (at < text.size() && text[at] == '\r') ++at;
    if (at < text.size() && text[at] == '\n') ++at;
    ++line;
    const bool blank = record.fields.size() == 1 && record.fields.front().empty();
    if (!blank) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  ERGON_TRY(auto records, parse_records(text));
  if (records.empty()) {
    return fail(Errc::kMalformedInput, "the CSV file is empty", "the first line names the columns");
  }
  CsvTable table{.header = std::move(records.front().fields), .rows = {}, .lines = {}};
  for (std::size_t i = 1; i < records.size(); ++i) {
    auto& record = records[i];
    if (record.fields.size() != table.header.size()) {
      return fail(Error{.code = Errc::kMalformedInput,
                        .message = "CSV line " + std::to_string(record.line) + " has " +
                                   std::to_string(record.fields.size()) +
                                   " fields, the header has " + std::to_string(table.header.size()),
                        .hint = "every row has one field per column",
                        .line = record.line});
    }
    table.rows.push_back(std::move(record.fields));
    table.lines.push_back(record.line);
  }
  return table;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace ergon::io
