#include "tests/e2e/support/stage.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/text.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

namespace fs = std::filesystem;
using base::StrCat;

constexpr std::chrono::seconds kDrainPatience{120};

bool Complain(const std::string& what) {
  std::fprintf(stderr, "stage: %s\n", what.c_str());
  return false;
}

}  // namespace

std::unique_ptr<Stage> Stage::Make(Dialect dialect) { return On(ScratchDatabase::Make(dialect)); }

std::unique_ptr<Stage> Stage::MakeAt(const std::string& url) {
  return On(ScratchDatabase::MakeAt(url));
}

std::unique_ptr<Stage> Stage::On(std::unique_ptr<ScratchDatabase> scratch) {
  if (scratch == nullptr) return nullptr;
  std::unique_ptr<Stage> stage(new Stage(std::move(scratch)));
  if (!stage->Prepare()) return nullptr;
  return stage;
}

bool Stage::Prepare() {
  const Finished migrated = Run({"migrate", "up", "--table", std::string(kTable)});
  if (migrated.exit_code != 0) return Complain("migrate up: " + migrated.standard_error);
  sql_ = SqlConnection::Open(url());
  if (sql_ == nullptr) return Complain("can not connect to " + url());
  if (!sql_->Execute("CREATE TABLE expected (id text PRIMARY KEY)")) return Complain(sql_->error());
  return true;
}

std::string Stage::SinkFile(std::string_view name) const {
  return StrCat(folder(), "/", name, ".jsonl");
}

std::unique_ptr<Process> Stage::StartRelay(const std::string& name, const Flags& flags,
                                           ProcessOptions options) const {
  Flags command{OUTBOXD_PATH, "relay", "--table", std::string(kTable), "--id", name};
  command.insert(command.end(), flags.begin(), flags.end());
  if (std::find(flags.begin(), flags.end(), "--sink") == flags.end()) {
    // A killed process loses nothing of what it wrote; only a power failure would.
    command.insert(command.end(), {"--sink", StrCat("file:", SinkFile(name), "?fsync=never")});
  }
  options.environment.try_emplace("OUTBOX_DB", url());
  return Process::Start(command, options);
}

Finished Stage::Run(const Flags& command, ProcessOptions options) const {
  Flags words{OUTBOXD_PATH};
  words.insert(words.end(), command.begin(), command.end());
  options.environment.try_emplace("OUTBOX_DB", url());
  return Process::Run(words, options);
}

bool Stage::Drain(const std::string& name, const Flags& flags) const {
  Flags all{"--drain"};
  all.insert(all.end(), flags.begin(), flags.end());
  const auto relay = StartRelay(name, all);
  const auto exit_code = relay->Wait(kDrainPatience);
  if (exit_code == 0) return true;
  return Complain(StrCat("drain ended with ", exit_code.value_or(-1), ": ", relay->Errors()));
}

std::int64_t Stage::Unfinished() {
  return sql_->Number(
      StrCat("SELECT count(*) FROM ", kTable, " WHERE status IN ('pending', 'processing')"));
}

std::int64_t Stage::Count(std::string_view status) {
  return sql_->Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE status = '", status, "'"));
}

std::int64_t Stage::Leased() {
  return sql_->Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE locked_by IS NOT NULL"));
}

bool Stage::EndLeases() {
  // A server may still be at what a relay asked of it before it died.
  const auto is_alone = [&] {
    return dialect() == Dialect::kSqlite ||
           sql_->Number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
               "AND backend_type = 'client backend' AND pid <> pg_backend_pid()") == 0;
  };
  if (!WaitFor(is_alone)) return false;
  return sql_->Execute(
      StrCat("UPDATE ", kTable, " SET locked_until = updated_at WHERE locked_until IS NOT NULL"));
}

std::size_t Stage::Delivered() const {
  std::size_t lines = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    lines += static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
  }
  return lines;
}

Ledger Stage::Committed() {
  Ledger ledger;
  for (std::string& id : sql_->Column("SELECT id FROM expected")) ledger.Expect(std::move(id));
  return ledger;
}

Verdict Stage::Judge() {
  Ledger ledger = Committed();
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".jsonl") ledger.SeeFile(entry.path());
  }
  return ledger.Judge();
}

std::string DialectName(Dialect dialect) {
  return dialect == Dialect::kPostgres ? "PostgreSQL" : "SQLite";
}

}  // namespace outbox::testing
