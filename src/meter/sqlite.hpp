// SQLite as this module uses it: statements that bind and read optional values.
#pragma once
#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ergon/base.hpp"

namespace ergon::meter {

/// A prepared statement; columns and parameters count from 0.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  Statement& bind(std::int64_t value);
  Statement& bind(double value);  ///< NaN as NULL
  Statement& bind(const std::string& value);
  Statement& bind(bool value) { return bind(std::int64_t{value ? 1 : 0}); }
  Statement& bind_null();
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }

  /// True: a row is there. False: done.
  Result<bool> step();
  void reset();  ///< ready to bind and step again

  [[nodiscard]] bool null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double number(int column) const;  ///< NaN for NULL and for text
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::optional<double> maybe_number(int column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;
};

/// An open database.
class Database {
 public:
  enum class Mode { kCreate, kRead, kWrite };
  static Result<Database> open(const std::string& path, Mode mode);
  Status run(const char* sql);
  Result<Statement> prepare(std::string_view sql) const;
  [[nodiscard]] std::int64_t last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
  [[nodiscard]] Error error(int code) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
  std::string path_;
};

/// Begins a transaction and rolls it back unless it was committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) {
    other.database_ = nullptr;
  }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace ergon::meter
