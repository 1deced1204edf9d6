// Rows that no enqueue writes, but an owner of the table, an older version or a slip of the hand
// may. They are delivered or dead, good rows beside them are delivered, and nothing is published
// again and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "outbox/relay.h"
#include "tests/e2e/support/dialects.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kGood = 40;

struct Mode {
  std::string_view name;
  ClaimMode claim = ClaimMode::kLease;
  AttemptHistory history = AttemptHistory::kOff;
};
constexpr Mode kModes[] = {
    {"lease"},
    {"lease, noted", ClaimMode::kLease, AttemptHistory::kAll},
    {"transaction", ClaimMode::kTransaction},
    {"transaction, noted", ClaimMode::kTransaction, AttemptHistory::kAll},
};

// How often each message was published, by its id.
class Publications {
 public:
  std::shared_ptr<Sink> sink() {
    return MakeCallbackSink([this](const Message& message, Deadline) {
      const std::lock_guard lock(mutex_);
      ++times_[message.id.ToString()];
      return Status::Ok();
    });
  }
  int Of(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return times_[id];
  }
  int Most() {
    const std::lock_guard lock(mutex_);
    int most = 0;
    for (const auto& [id, times] : times_) most = std::max(most, times);
    return most;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> times_;
};

class BadRows : public OnDialect {
 protected:
  void SetUp() override {
    if (GetParam() == Dialect::kPostgres) OUTBOX_REQUIRE_POSTGRES();
    stage_ = Stage::Make(GetParam());
    ASSERT_NE(stage_, nullptr);
  }

  SqlConnection& sql() { return stage_->sql(); }
  bool postgres() const { return GetParam() == Dialect::kPostgres; }

  void Execute(const std::string& statement) {
    ASSERT_TRUE(sql().Execute(statement)) << sql().error() << ": " << statement.substr(0, 300);
  }

  static std::string Id(std::size_t number) {
    std::string digits = std::to_string(number);
    return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
  }

  // One row as its owner writes it; returns its id. `values` belong to `columns`.
  std::string Insert(const std::string& columns = "", const std::string& values = "",
                     const std::string& payload = "'{}'") {
    const std::string id = Id(++rows_);
    Execute(StrCat("INSERT INTO ", kTable, " (id, topic, payload", columns.empty() ? "" : ", ",
                   columns, ") VALUES ('", id, "', 'orders.order.created.v1', ", payload,
                   columns.empty() ? "" : ", ", values, ")"));
    return id;
  }

  std::vector<std::string> InsertGood(std::size_t count) {
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(Insert());
    return ids;
  }

  // As before the rules that came later.
  void SuspendRules() {
    if (postgres()) Execute(StrCat("ALTER TABLE ", kTable, " DISABLE TRIGGER USER"));
  }
  void ResumeRules() {
    if (postgres()) Execute(StrCat("ALTER TABLE ", kTable, " ENABLE TRIGGER USER"));
  }

  void InsertBad() {
    SuspendRules();
    Insert("attempts", "2147483647");
    Insert("attempts, status", "2147483647, 'processing'");
    Insert("status", "'processing'");
    Insert("status, locked_by", "'processing', 'gone/1'");
    Insert("status", "'dead'");
    Insert("status", "'delivered'");
    if (postgres()) {
      Insert("attempts", "-5");
      Insert("attempts", "-2147483648");
      Insert("status, locked_by, locked_until", "'processing', 'gone/1', now() - interval '1 day'");
      Insert("status, locked_by, locked_until", "'processing', 'gone', '-infinity'");
      for (const char* at : {"-infinity", "0001-01-01 00:00:00+00", "0044-03-15 00:00:00+00 BC"}) {
        Insert("available_at", StrCat("'", at, "'"));
        Insert("available_at, created_at", StrCat("'", at, "', '", at, "'"));
      }
      Insert("created_at", "'infinity'");
    } else {
      Insert("attempts", "9223372036854775807");
      Insert("status, locked_by, locked_until", "'processing', 'gone/1', 0");
      Insert("status, locked_by, locked_until", "'processing', 'gone', -9223372036854775807");
      Insert("available_at", "-9223372036854775807");
      Insert("available_at", "-62135596800001");
      Insert("created_at", "9223372036854775807");
      Insert("created_at", "'soon'");
    }
    const std::string large = postgres() ? "to_json(repeat('x', 15728000))"
                                         : "'\"' || printf('%.*c', 15728000, 'x') || '\"'";
    for (int i = 0; i < 3; ++i) Insert("", "", large);
    ResumeRules();
  }

  void Start(const Mode& mode, RelayOptions options = {},
             std::shared_ptr<RelayObserver> observer = nullptr) {
    options.table = kTable;
    options.claim_mode = mode.claim;
    options.attempt_history = mode.history;
    options.retry.base = milliseconds(20);
    options.retry.cap = milliseconds(50);
    options.batch_size = 16;
    options.poll_max = milliseconds(20);
    auto relay = Relay::Start(stage_->url(), options, published_->sink(), std::move(observer));
    ASSERT_OK(relay);
    relay_ = std::move(*relay);
  }

  void Clear() {
    relay_.reset();
    published_ = std::make_shared<Publications>();
    Execute(StrCat("DELETE FROM ", kTable));
  }

  std::unique_ptr<Stage> stage_;
  std::size_t rows_ = 0;
  std::shared_ptr<Publications> published_ = std::make_shared<Publications>();
  std::unique_ptr<Relay> relay_;
};
OUTBOX_ON_EVERY_DIALECT(BadRows);

TEST_P(BadRows, AreDeliveredOrDeadInEveryClaimMode) {
  for (const Mode& mode : kModes) {
    for (const std::optional<int> attempts_max : {std::optional<int>(), std::optional<int>(5)}) {
      SCOPED_TRACE(StrCat(mode.name, attempts_max ? ", 5 attempts" : ", unlimited"));
      Clear();
      std::vector<std::string> good = InsertGood(kGood / 2);
      InsertBad();
      for (const std::string& id : InsertGood(kGood / 2)) good.push_back(id);
      RelayOptions options;
      options.retry.attempts_max = attempts_max;
      Start(mode, options);
      ASSERT_TRUE(WaitFor([&] { return stage_->Unfinished() == 0; }))
          << base::StrCat(sql()
                              .Column(StrCat("SELECT id FROM ", kTable,
                                             " WHERE status NOT IN ('delivered', 'dead')"))
                              .size());
      EXPECT_OK(relay_->Stop());
      for (const std::string& id : good) EXPECT_EQ(published_->Of(id), 1) << id;
      EXPECT_EQ(published_->Most(), 1);
      EXPECT_EQ(sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE attempts < 0")), 0);
      EXPECT_EQ(
          sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE attempts > 2147483647")), 0);
    }
  }
}

TEST_P(BadRows, LeaveTheFiguresReadable) {
  InsertBad();
  const auto stats = stage_->Run({"stats", "--table", std::string(kTable)});
  EXPECT_EQ(stats.exit_code, 0) << stats.standard_error;
  const auto list = stage_->Run({"list", "--table", std::string(kTable)});
  EXPECT_EQ(list.exit_code, 0) << list.standard_error;
  EXPECT_THAT(list.standard_output, ::testing::Not(::testing::HasSubstr("106751")));
}

// A row that the database refuses to settle, in the middle of others.
TEST_P(BadRows, ARowThatRefusesItsOutcomeHoldsUpNoOthers) {
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    Clear();
    const auto before = InsertGood(6);
    const std::string bad = Insert();
    const auto after = InsertGood(kGood);
    if (postgres()) {
      Execute(
          StrCat("CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
                 "BEGIN RAISE EXCEPTION 'not this one'; END $$; "
                 "CREATE TRIGGER refuse BEFORE UPDATE OR DELETE ON ",
                 kTable, " FOR EACH ROW WHEN (old.id = '", bad,
                 "' AND (old.status = 'processing' OR old.locked_until IS NULL)) "
                 "EXECUTE FUNCTION refuse()"));
      if (mode.claim == ClaimMode::kLease) {
        Execute(StrCat("DROP TRIGGER refuse ON ", kTable,
                       "; CREATE TRIGGER refuse BEFORE UPDATE ON ", kTable,
                       " FOR EACH ROW WHEN (old.id = '", bad,
                       "' AND new.status <> 'processing') EXECUTE FUNCTION refuse()"));
      }
    } else {
      Execute(
          StrCat("CREATE TRIGGER refuse BEFORE UPDATE ON ", kTable, " WHEN old.id = '", bad,
                 "' AND new.status IN ('delivered', 'dead') BEGIN SELECT RAISE(ABORT, 'not this "
                 "one'); END"));
    }
    RelayOptions options;
    options.retry.attempts_max = std::nullopt;
    Start(mode, options);
    const auto delivered = static_cast<std::int64_t>(before.size() + after.size());
    ASSERT_TRUE(WaitFor([&] { return stage_->Count("delivered") == delivered; }));
    // log2(16) + 2 for transaction claims; by lease, nothing is published twice.
    const int most = mode.claim == ClaimMode::kLease ? 1 : 6;
    for (const std::string& id : before) EXPECT_LE(published_->Of(id), most) << id;
    for (const std::string& id : after) EXPECT_LE(published_->Of(id), most) << id;
    EXPECT_EQ(sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE status = 'delivered'")),
              delivered);
    // Those that come later are not held up either, and published once.
    const auto later = InsertGood(10);
    ASSERT_TRUE(WaitFor([&] { return stage_->Count("delivered") == delivered + 10; }));
    for (const std::string& id : later) EXPECT_LE(published_->Of(id), most) << id;
    EXPECT_OK(relay_->Stop());
    EXPECT_LE(published_->Of(bad), 20);
    Execute(postgres() ? StrCat("DROP TRIGGER refuse ON ", kTable) : "DROP TRIGGER refuse");
  }
}

// What a relay says of the database.
class StoreErrors : public RelayObserver {
 public:
  void OnStoreError(std::string_view, std::string_view, const Status& error, Duration) override {
    const std::lock_guard lock(mutex_);
    text_ += StrCat(error.message(), " | ", error.hint(), "\n");
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

// A row that the database refuses to change at all: by lease, it cannot even be claimed.
TEST_P(BadRows, ARowThatRefusesEveryChangeHoldsUpNoOthers) {
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    Clear();
    const auto before = InsertGood(6);
    const std::string bad = Insert("", "", "'{\"card\": \"4111-1111\"}'");
    const auto after = InsertGood(kGood);
    if (postgres()) {
      Execute(
          StrCat("CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
                 "BEGIN RAISE EXCEPTION 'not this one: %', old.payload; END $$; "
                 "CREATE TRIGGER refuse BEFORE UPDATE ON ",
                 kTable, " FOR EACH ROW WHEN (old.id = '", bad, "') EXECUTE FUNCTION refuse()"));
    } else {
      Execute(StrCat("CREATE TRIGGER refuse BEFORE UPDATE ON ", kTable, " WHEN old.id = '", bad,
                     "' BEGIN SELECT RAISE(ABORT, 'not this one: 4111-1111'); END"));
    }
    const auto heard = std::make_shared<StoreErrors>();
    Start(mode, {}, heard);
    const auto delivered = static_cast<std::int64_t>(before.size() + after.size());
    ASSERT_TRUE(WaitFor([&] { return stage_->Count("delivered") == delivered; })) << heard->text();
    const auto later = InsertGood(10);
    ASSERT_TRUE(WaitFor([&] { return stage_->Count("delivered") == delivered + 10; }));
    const bool leases = mode.claim == ClaimMode::kLease || !postgres();
    if (leases) {
      for (const auto& some : {before, after, later}) {
        for (const std::string& id : some) EXPECT_EQ(published_->Of(id), 1) << id;
      }
      EXPECT_EQ(published_->Of(bad), 0);
      EXPECT_THAT(heard->text(), ::testing::HasSubstr(bad));
      EXPECT_THAT(heard->text(), ::testing::Not(::testing::HasSubstr("4111-1111")));
    }
    Execute(postgres() ? StrCat("DROP TRIGGER refuse ON ", kTable) : "DROP TRIGGER refuse");
    EXPECT_TRUE(WaitFor([&] { return published_->Of(bad) > 0; })) << heard->text();
    EXPECT_TRUE(WaitFor([&] { return stage_->Count("delivered") == delivered + 11; }));
    EXPECT_OK(relay_->Stop());
  }
}

// So many that they cannot be told one by one: each has its turn, and others go on.
TEST_P(BadRows, ManyRowsThatRefuseEveryChangeHoldUpNoOthers) {
  std::vector<std::string> good = InsertGood(5);
  constexpr int kBad = 60;
  Execute("CREATE TABLE refused (id " + std::string(postgres() ? "uuid" : "text") + ")");
  for (int i = 0; i < kBad; ++i) Execute("INSERT INTO refused VALUES ('" + Insert() + "')");
  for (const std::string& id : InsertGood(kGood)) good.push_back(id);
  if (postgres()) {
    Execute(StrCat(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF EXISTS (SELECT FROM refused AS r WHERE r.id = old.id) THEN "
        "RAISE EXCEPTION 'not this one' USING ERRCODE = 'ZX001'; END IF; RETURN new; END $$; "
        "CREATE TRIGGER refuse BEFORE UPDATE ON ",
        kTable, " FOR EACH ROW EXECUTE FUNCTION refuse()"));
  } else {
    Execute(StrCat("CREATE TRIGGER refuse BEFORE UPDATE ON ", kTable,
                   " WHEN old.id IN (SELECT id FROM refused)"
                   " BEGIN SELECT RAISE(ABORT, 'not this one'); END"));
  }
  Start(kModes[0]);
  const auto count = static_cast<std::int64_t>(good.size());
  ASSERT_TRUE(WaitFor([&] { return stage_->Count("delivered") == count; }));
  for (const std::string& id : good) EXPECT_EQ(published_->Of(id), 1) << id;
  Execute("DELETE FROM refused");
  EXPECT_TRUE(WaitFor([&] { return stage_->Count("delivered") == count + kBad; }));
  EXPECT_EQ(published_->Most(), 1);
  EXPECT_OK(relay_->Stop());
}

// Two sinks make deliveries, one alone keeps the state in the message's row.
TEST_P(BadRows, AreDeliveredOrDeadThroughRoutes) {
  for (const bool both : {true, false}) {
    SCOPED_TRACE(both ? "deliveries" : "own rows");
    Clear();
    const auto good = InsertGood(kGood);
    InsertBad();
    const std::string config = stage_->folder() + "/outboxd.toml";
    const std::string suffix = both ? "2" : "1";
    std::ofstream(config) << "database = \"" << stage_->url()
                          << "\"\n[relay]\nmax_attempts = \"unlimited\"\n"
                          << "[[sink]]\nname = \"first\"\naddress = \"file:"
                          << stage_->SinkFile("first" + suffix) << "?fsync=never\"\n"
                          << "[[sink]]\nname = \"second\"\naddress = \"file:"
                          << stage_->SinkFile("second" + suffix) << "?fsync=never\"\n"
                          << "[[route]]\ntable = \"" << kTable << "\"\ntopics = \"#\"\nsinks = ["
                          << (both ? "\"first\", \"second\"" : "\"first\"") << "]\n";
    const auto serve = Process::Start({OUTBOXD_PATH, "serve", "--config", config});
    ASSERT_TRUE(WaitFor([&] { return stage_->Unfinished() == 0; })) << serve->Errors();
    ASSERT_TRUE(
        WaitFor([&] { return serve->Errors().find("relay running") != std::string::npos; }));
    serve->Signal(SIGTERM);
    EXPECT_EQ(serve->Wait(seconds(60)), 0) << serve->Errors();
    std::map<std::string, int> times;
    std::ifstream file(stage_->SinkFile("first" + suffix));
    for (std::string line; std::getline(file, line);) {
      const std::size_t at = line.find("00000000-0000-4000-8000-");
      if (at != std::string::npos) ++times[line.substr(at, 36)];
    }
    for (const std::string& id : good) EXPECT_EQ(times[id], 1) << id;
    for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
  }
}

}  // namespace
}  // namespace outbox::testing
