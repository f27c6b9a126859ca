#include "census/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "assembly/outcome.h"
#include "census/compress.h"
#include "util/hash.h"
#include "util/text.h"

namespace namesake::census {
namespace {

constexpr int64_t kApplication = 0x4e534c47;  // "NSLG", in the file's head
constexpr int64_t kSchema = 1;

constexpr const char* kTables = R"(
CREATE TABLE text(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
CREATE TABLE input(name TEXT PRIMARY KEY, text INTEGER NOT NULL REFERENCES text) WITHOUT ROWID;
CREATE TABLE kernel(id INTEGER PRIMARY KEY, text INTEGER NOT NULL REFERENCES text,
  symbol TEXT NOT NULL, UNIQUE(text, symbol));
CREATE TABLE assembler(id INTEGER PRIMARY KEY, version TEXT NOT NULL, build TEXT NOT NULL,
  UNIQUE(version, build));
CREATE TABLE worker(id INTEGER PRIMARY KEY, began TEXT NOT NULL, cells INTEGER, wall REAL,
  own_cpu REAL, assembler_cpu REAL);
CREATE TABLE cell(id INTEGER PRIMARY KEY, text INTEGER NOT NULL REFERENCES text,
  architecture TEXT NOT NULL, assembler INTEGER NOT NULL REFERENCES assembler,
  opt_level INTEGER NOT NULL, treatment TEXT NOT NULL, draw INTEGER NOT NULL,
  worker INTEGER REFERENCES worker, state TEXT, failure TEXT, wall REAL, cpu REAL,
  UNIQUE(text, architecture, assembler, opt_level, treatment, draw));
CREATE TABLE code(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
  bytes BLOB NOT NULL);
CREATE TABLE function(cell INTEGER NOT NULL REFERENCES cell, kernel INTEGER NOT NULL
  REFERENCES kernel, code INTEGER NOT NULL REFERENCES code, registers INTEGER, stack INTEGER,
  spill_stores INTEGER, spill_loads INTEGER, shared INTEGER, PRIMARY KEY(cell, kernel)) WITHOUT ROWID;
)";

Result<int64_t> one_number(const Database& database, std::string_view sql) {
  Statement statement = database.prepare(sql);
  int64_t value = statement.row() ? statement.integer(0) : 0;
  TRY(statement.status());
  return value;
}

Status make_tables(const Database& database) {
  return database.transaction([&]() -> Status {
    TRY_ASSIGN(int64_t schema, one_number(database, "PRAGMA user_version"));
    if (schema != 0) return {};  // another process was faster
    TRY(database.execute(kTables));
    return database.execute(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplication, kSchema));
  });
}

}  // namespace

Result<Ledger> Ledger::open(const std::filesystem::path& file, bool existing) {
  std::error_code ignored;
  if (existing && !std::filesystem::exists(file, ignored)) {
    return error(fmt::format("there is no ledger {}; make one: namesake census --ledger {}",
                             file.string(), file.string()));
  }
  TRY_ASSIGN(Presence presence, Presence::open(file));
  TRY_ASSIGN(Database database, Database::open(file, existing));
  auto foreign = [&] {
    return error(fmt::format(
        "{} is no ledger of `namesake census`; name another file with --ledger", file.string()));
  };
  auto application = one_number(database, "PRAGMA application_id");
  auto schema = one_number(database, "PRAGMA user_version");
  auto tables = one_number(database, "SELECT count(*) FROM sqlite_master");
  if (!application || !schema || !tables) return foreign();
  bool empty = *tables == 0 && *application == 0 && *schema == 0;
  if (!empty && *application != kApplication) return foreign();
  if (*schema > kSchema) {
    return error(
        fmt::format("the ledger {} was written by a newer namesake (schema {}, this one "
                    "knows {})",
                    file.string(), *schema, kSchema));
  }
  TRY(database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"));
  if (empty) TRY(make_tables(database));
  return Ledger(file, std::move(presence), std::move(database));
}

Result<int64_t> Ledger::text_id(const std::string& hash) const {
  Statement find = database_.prepare("SELECT id FROM text WHERE hash = ?");
  find.bind(hash);
  if (find.row()) return find.integer(0);
  TRY(find.status());
  return error(fmt::format("the ledger {} does not have the PTX {}", file_.string(), hash));
}

Result<Input> Ledger::add_input(std::string_view name, std::string_view text,
                                const std::vector<std::string>& kernels) {
  Input input{std::string(name), hash_bytes(text).hex(), kernels};
  std::string small = compressed(text);
  TRY(database_.transaction([&]() -> Status {
    TRY(database_.prepare("INSERT OR IGNORE INTO text(hash, bytes) VALUES(?, ?)")
            .bind(input.hash, Blob{small})
            .run());
    TRY_ASSIGN(int64_t id, text_id(input.hash));
    TRY(database_.prepare("INSERT OR REPLACE INTO input(name, text) VALUES(?, ?)")
            .bind(name, id)
            .run());
    Statement kernel = database_.prepare("INSERT OR IGNORE INTO kernel(text, symbol) VALUES(?, ?)");
    for (const std::string& symbol : kernels) TRY(kernel.bind(id, symbol).run());
    return {};
  }));
  return input;
}

Result<std::vector<Input>> Ledger::inputs() const {
  std::vector<Input> inputs;
  Statement rows = database_.prepare(
      "SELECT name, hash, symbol FROM input JOIN text ON text.id = input.text "
      "JOIN kernel ON kernel.text = text.id ORDER BY name, kernel.id");
  while (rows.row()) {
    if (inputs.empty() || inputs.back().name != rows.text(0)) {
      inputs.push_back({rows.text(0), rows.text(1), {}});
    }
    inputs.back().kernels.push_back(rows.text(2));
  }
  TRY(rows.status());
  return inputs;
}

Result<std::string> Ledger::text(const std::string& hash) const {
  Statement find = database_.prepare("SELECT bytes FROM text WHERE hash = ?");
  find.bind(hash);
  if (find.row()) return decompressed(find.text(0));
  TRY(find.status());
  return error(fmt::format("the ledger {} does not have the PTX {}", file_.string(), hash));
}

Result<int64_t> Ledger::assembler_id(const AssemblerName& name) const {
  TRY(database_.prepare("INSERT OR IGNORE INTO assembler(version, build) VALUES(?, ?)")
          .bind(name.version, name.build)
          .run());
  Statement find = database_.prepare("SELECT id FROM assembler WHERE version = ? AND build = ?");
  find.bind(name.version, name.build);
  find.row();
  TRY(find.status());
  return find.integer(0);
}

Result<std::vector<Ledger::Wanted>> Ledger::want(const std::vector<CellKey>& keys) {
  std::vector<Wanted> missing;
  TRY(database_.transaction([&]() -> Status {
    std::map<std::string, int64_t> texts;
    std::map<AssemblerName, int64_t> assemblers;
    Statement enter = database_.prepare(
        "INSERT OR IGNORE INTO cell(text, architecture, assembler, opt_level, treatment, draw) "
        "VALUES(?, ?, ?, ?, ?, ?)");
    Statement find = database_.prepare(
        "SELECT id, state IS NULL FROM cell WHERE text = ? AND architecture = ? AND assembler = ? "
        "AND opt_level = ? AND treatment = ? AND draw = ?");
    for (const CellKey& key : keys) {
      int64_t& text = texts[key.text];
      if (text == 0) {
        TRY_ASSIGN(text, text_id(key.text));
      }
      int64_t& assembler = assemblers[{key.version, key.build}];
      if (assembler == 0) {
        TRY_ASSIGN(assembler, assembler_id({key.version, key.build}));
      }
      std::string_view treatment = assembly::treatment_name(key.treatment);
      TRY(enter.bind(text, key.architecture, assembler, key.opt_level, treatment, key.draw).run());
      find.bind(text, key.architecture, assembler, key.opt_level, treatment, key.draw);
      if (find.row() && find.integer(1) != 0) missing.push_back({find.integer(0), key});
      TRY(find.status());
    }
    return {};
  }));
  return missing;
}

Status Ledger::begin_work() {
  if (worker_ != 0) return {};
  TRY(database_.prepare("INSERT INTO worker(began) VALUES(?)")
          .bind(utc_now())
          .run());
  worker_ = database_.last_row();
  presence_.hold(worker_);
  return {};
}

Result<bool> Ledger::claim(int64_t cell) {
  bool claimed = false;
  TRY(database_.transaction([&]() -> Status {
    Statement find =
        database_.prepare("SELECT coalesce(worker, 0) FROM cell WHERE id = ? AND state IS NULL");
    find.bind(cell);
    bool open = find.row();
    int64_t owner = open ? find.integer(0) : 0;
    TRY(find.status());
    bool taken = owner == worker_ || (owner != 0 && presence_.held_by_another(owner));
    if (!open || taken) return {};
    claimed = true;
    return database_.prepare("UPDATE cell SET worker = ? WHERE id = ?").bind(worker_, cell).run();
  }));
  return claimed;
}

Result<bool> Ledger::unmade(int64_t cell) const {
  Statement find = database_.prepare("SELECT state IS NULL FROM cell WHERE id = ?");
  find.bind(cell);
  bool open = find.row() && find.integer(0) != 0;
  TRY(find.status());
  return open;
}

Result<int64_t> Ledger::code_id(const assembly::FunctionCode& code) const {
  std::string hash = code.identity.hex();
  Statement find = database_.prepare("SELECT id FROM code WHERE hash = ?");
  find.bind(hash);
  if (find.row()) return find.integer(0);
  TRY(find.status());
  TRY(database_.prepare("INSERT INTO code(hash, size, bytes) VALUES(?, ?, ?)")
          .bind(hash, code.code_bytes, Blob{compressed(assembly::encoded_code(code))})
          .run());
  return database_.last_row();
}

Status Ledger::store(int64_t cell, const CellResult& result) {
  return database_.transaction([&]() -> Status {
    const assembly::Outcome& outcome = result.outcome;
    TRY(database_
            .prepare("UPDATE cell SET state = ?, failure = ?, wall = ?, cpu = ? "
                     "WHERE id = ? AND state IS NULL")
            .bind(state_name(result.state), outcome.failure, outcome.wall_seconds,
                  outcome.cpu_seconds, cell)
            .run());
    if (database_.changes() == 0) return {};  // somebody made it too
    Statement kernel = database_.prepare(
        "SELECT kernel.id FROM kernel JOIN cell ON cell.text = kernel.text "
        "WHERE cell.id = ? AND symbol = ?");
    Statement enter = database_.prepare(
        "INSERT INTO function(cell, kernel, code, registers, stack, spill_stores, spill_loads, "
        "shared) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    for (const auto& [symbol, code] : outcome.functions) {
      kernel.bind(cell, symbol);
      if (!kernel.row()) {
        TRY(kernel.status());
        continue;  // not studied
      }
      TRY_ASSIGN(int64_t id, code_id(code));
      TRY(enter
              .bind(cell, kernel.integer(0), id, code.registers, code.stack_bytes,
                    code.spill_store_bytes, code.spill_load_bytes, code.shared_bytes)
              .run());
    }
    return {};
  });
}

Status Ledger::note_cost(const Cost& cost) {
  if (worker_ == 0) return {};
  return database_
      .prepare("UPDATE worker SET cells = ?, wall = ?, own_cpu = ?, assembler_cpu = ? WHERE id = ?")
      .bind(cost.cells, cost.wall_seconds, cost.own_seconds, cost.assembler_seconds, worker_)
      .run();
}

Result<std::vector<AssemblerName>> Ledger::assemblers() const {
  std::vector<AssemblerName> names;
  Statement rows = database_.prepare(
      "SELECT version, build FROM assembler WHERE id IN "
      "(SELECT assembler FROM cell WHERE state IS NOT NULL)");
  while (rows.row()) names.push_back({rows.text(0), rows.text(1)});
  TRY(rows.status());
  std::sort(names.begin(), names.end(), [](const AssemblerName& a, const AssemblerName& b) {
    int order = compare_versions(a.version, b.version);
    return order != 0 ? order < 0 : a.build < b.build;
  });
  return names;
}

Result<std::vector<CellRecord>> Ledger::cells() const {
  std::vector<CellRecord> cells;
  Statement rows = database_.prepare(
      "SELECT cell.id, text.hash, architecture, version, build, opt_level, treatment, draw, state, "
      "failure, wall, cpu, symbol, code.hash, code.size, registers, stack, spill_stores, "
      "spill_loads, shared "
      "FROM cell JOIN text ON text.id = cell.text JOIN assembler ON assembler.id = cell.assembler "
      "LEFT JOIN function ON function.cell = cell.id "
      "LEFT JOIN kernel ON kernel.id = function.kernel LEFT JOIN code ON code.id = function.code "
      "WHERE state IS NOT NULL AND cell.text IN (SELECT text FROM input) "
      "ORDER BY cell.id, function.kernel");
  int64_t last = 0;
  while (rows.row()) {
    if (rows.integer(0) != last) {
      last = rows.integer(0);
      CellRecord cell;
      auto treatment = assembly::treatment_of(rows.text(6));
      if (!treatment) return error("the ledger has a cell with an unknown treatment");
      cell.key = {rows.text(1),
                  rows.text(2),
                  rows.text(3),
                  rows.text(4),
                  static_cast<int>(rows.integer(5)),
                  *treatment,
                  static_cast<int>(rows.integer(7))};
      TRY_ASSIGN(cell.state, state_of(rows.text(8)));
      cell.failure = rows.text(9);
      cell.wall_seconds = rows.real(10);
      cell.cpu_seconds = rows.real(11);
      cells.push_back(std::move(cell));
    }
    if (rows.null(12)) continue;
    cells.back().functions.push_back({rows.text(12), rows.text(13), rows.integer(15),
                                      rows.integer(16), rows.integer(17), rows.integer(18),
                                      rows.integer(14), rows.integer(19)});
  }
  TRY(rows.status());
  return cells;
}

Result<std::optional<assembly::FunctionCode>> Ledger::code(const std::string& hash) const {
  Statement find = database_.prepare("SELECT bytes FROM code WHERE hash = ?");
  find.bind(hash);
  if (!find.row()) {
    TRY(find.status());
    return std::nullopt;
  }
  TRY_ASSIGN(std::string bytes, decompressed(find.text(0)));
  auto code = assembly::decoded_code(bytes);
  if (!code) return error("a machine code in the ledger is damaged");
  return code;
}

Result<Cost> Ledger::cost() const {
  Cost cost;
  Statement sum = database_.prepare(
      "SELECT total(cells), total(wall), total(own_cpu), total(assembler_cpu) FROM worker");
  if (sum.row()) cost = {sum.integer(0), sum.real(1), sum.real(2), sum.real(3)};
  TRY(sum.status());
  return cost;
}

}  // namespace namesake::census
