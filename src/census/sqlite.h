// SQLite as values: a database, statements with bound parameters, transactions, errors as
// sentences.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "util/error.h"

namespace namesake::census {

struct Blob {
  std::string_view bytes;
};

// A prepared statement. An error made on the way stays with it until status() or run() tells it, so
// that a loop over rows reads like one.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);

  // The parameters in their order, anew each time.
  template <class... Values>
  Statement& bind(const Values&... values) {
    reset();
    int place = 0;
    (put(++place, values), ...);
    return *this;
  }

  bool row();       // the next one, if there is one and nothing failed
  Status status();  // what failed, if something did
  Status run();     // to the end, without rows

  int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  bool null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
  }
  std::string text(int column) const;  // or the bytes of a blob

 private:
  void reset();
  void put(int place, std::string_view text);
  void put(int place, Blob blob);
  void put(int place, double value);
  void put(int place, std::nullptr_t);
  template <class Integer>
  requires std::is_integral_v<Integer>
  void put(int place, Integer value) {
    note(sqlite3_bind_int64(statement_.get(), place, static_cast<int64_t>(value)));
  }
  void note(int code);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  sqlite3* database_;
  std::string failure_;
};

class Database {
 public:
  // Made where it is missing, unless `existing`. Waits up to a minute for another writer.
  static Result<Database> open(const std::filesystem::path& file, bool existing);

  Statement prepare(std::string_view sql) const { return {database_.get(), sql}; }
  Status execute(const std::string& script) const;  // several statements
  int64_t changes() const { return sqlite3_changes(database_.get()); }
  int64_t last_row() const { return sqlite3_last_insert_rowid(database_.get()); }

  // All of `work`, written at once, or nothing of it; one writer at a time.
  template <class Work>
  Status transaction(Work work) const {
    TRY(execute("BEGIN IMMEDIATE"));
    Status done = work();
    if (done) done = execute("COMMIT");
    if (!done) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return done;
  }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  explicit Database(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace namesake::census
