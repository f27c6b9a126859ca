#include "census/sqlite.h"

#include <fmt/format.h>

namespace namesake::census {

Statement::Statement(sqlite3* database, std::string_view sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  note(sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr));
  statement_.reset(statement);
}

void Statement::note(int code) {
  if (code != SQLITE_OK && failure_.empty()) failure_ = sqlite3_errmsg(database_);
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

void Statement::put(int place, std::string_view text) {
  note(sqlite3_bind_text64(statement_.get(), place, text.empty() ? "" : text.data(), text.size(),
                           SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::put(int place, Blob blob) {
  note(sqlite3_bind_blob64(statement_.get(), place, blob.bytes.data(), blob.bytes.size(),
                           SQLITE_TRANSIENT));
}

void Statement::put(int place, double value) {
  note(sqlite3_bind_double(statement_.get(), place, value));
}

void Statement::put(int place, std::nullptr_t) {
  note(sqlite3_bind_null(statement_.get(), place));
}

bool Statement::row() {
  if (!failure_.empty()) return false;
  int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) failure_ = sqlite3_errmsg(database_);
  sqlite3_reset(statement_.get());
  return false;
}

Status Statement::status() {
  if (failure_.empty()) return {};
  return error(fmt::format("the ledger: {}", failure_));
}

Status Statement::run() {
  while (row()) {
  }
  return status();
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes ? std::string(static_cast<const char*>(bytes), static_cast<size_t>(size)) : "";
}

Result<Database> Database::open(const std::filesystem::path& file, bool existing) {
  sqlite3* raw = nullptr;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (existing ? 0 : SQLITE_OPEN_CREATE);
  int code = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) {
    return error(fmt::format("cannot open the ledger {}: {}", file.string(),
                             raw ? sqlite3_errmsg(raw) : sqlite3_errstr(code)));
  }
  sqlite3_busy_timeout(raw, 60'000);
  return database;
}

Status Database::execute(const std::string& script) const {
  char* message = nullptr;
  if (sqlite3_exec(database_.get(), script.c_str(), nullptr, nullptr, &message) == SQLITE_OK)
    return {};
  std::string text = message ? message : sqlite3_errmsg(database_.get());
  sqlite3_free(message);
  return error(fmt::format("the ledger: {}", text));
}

}  // namespace namesake::census
