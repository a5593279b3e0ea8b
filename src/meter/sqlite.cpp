// The SQLite calls, each return code read.
#include "sqlite.hpp"

#include <cmath>
#include <limits>

namespace ergon::meter {

Statement& Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), next_++, value);
  return *this;
}
Statement& Statement::bind(double value) {
  if (std::isnan(value)) return bind_null();
  sqlite3_bind_double(statement_.get(), next_++, value);
  return *this;
}
Statement& Statement::bind(const std::string& value) {
  sqlite3_bind_text64(statement_.get(), next_++, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}
Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_.get(), next_++);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(statement_.get());
  const bool broken = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  return fail(broken ? Errc::kMalformedInput : Errc::kIo,
              std::string("the run file cannot be used: ") + sqlite3_errmsg(db));
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  next_ = 1;
}

bool Statement::null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::number(int column) const {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return sqlite3_column_double(statement_.get(), column);
}
std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  if (bytes == nullptr) return {};
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {reinterpret_cast<const char*>(bytes), length};
}
std::optional<double> Statement::maybe_number(int column) const {
  const double value = number(column);
  if (std::isnan(value)) return std::nullopt;
  return value;
}
std::optional<std::int64_t> Statement::maybe_integer(int column) const {
  if (null(column)) return std::nullopt;
  return integer(column);
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  Database out;
  out.path_ = path;
  sqlite3* raw = nullptr;
  const int flags = (mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  out.handle_.reset(raw);
  if (code != SQLITE_OK) {
    return fail(Errc::kIo,
                "cannot open '" + path +
                    "': " + (raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code)),
                "is its folder there, and may this user write in it?");
  }
  sqlite3_busy_timeout(raw, 5000);
  return out;
}

Error Database::error(int code) const {
  const int kind = code & 0xff;
  const bool broken = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR;
  return {broken ? Errc::kMalformedInput : Errc::kIo,
          "cannot use '" + path_ + "': " + sqlite3_errmsg(handle_.get()),
          {}};
}

Status Database::run(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(error(code));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  if (code != SQLITE_OK) return fail(error(code));
  return Statement(raw);
}

Result<Transaction> Transaction::begin(Database& database) {
  ERGON_TRY_STATUS(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // Nothing can be done about a rollback that fails; the next open rolls back by itself.
  if (database_ != nullptr) static_cast<void>(database_->run("ROLLBACK"));
}

Status Transaction::commit() {
  ERGON_TRY_STATUS(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace ergon::meter
