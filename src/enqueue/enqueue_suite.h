// What enqueuing promises on every database: one suite, instantiated for PostgreSQL and SQLite.
//
// A fixture `Backend` supplies connections that hold transactions of the test's own:
//   class Backend { std::unique_ptr<Connection> Connect(); };
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "outbox/enqueue.h"
#include "tests/support/matchers.h"

namespace outbox::testing {

// An application's connection, as its own driver gives it.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual bool Execute(const std::string& sql) = 0;
  virtual std::int64_t Number(const std::string& sql) = 0;
  virtual Result<Enqueued> Enqueue(std::string_view table, const NewMessage& message,
                                   const EnqueueOptions& options = {}) = 0;
  virtual Result<std::vector<Enqueued>> EnqueueMany(std::string_view table,
                                                    std::span<const NewMessage> messages,
                                                    const EnqueueOptions& options = {}) = 0;
};

class EnqueueCounter final : public EnqueueObserver {
 public:
  void OnEnqueued(std::string_view table, std::string_view topic, bool already) override {
    ++counts[base::StrCat(table, " ", topic, already ? " again" : "")];
  }
  std::map<std::string, int> counts;
};

inline NewMessage AnEvent() {
  return {.topic = "orders.order.created.v1", .payload = R"({"order":1})"};
}

inline constexpr std::string_view kEnqueueTable = "orders_outbox";

// `Backend` makes a fresh database with a migrated kEnqueueTable and a table business(id).
template <typename Backend>
class EnqueueSuite : public ::testing::Test {
 protected:
  void SetUp() override {
    backend_.SetUp();
    if (this->IsSkipped() || this->HasFatalFailure()) return;
    connection_ = backend_.Connect();
    ASSERT_NE(connection_, nullptr);
  }

  std::int64_t Rows(const std::string& where = "true") {
    return backend_.Connect()->Number(
        base::StrCat("SELECT count(*) FROM ", kEnqueueTable, " WHERE ", where));
  }
  Result<Enqueued> InTransaction(const NewMessage& message) {
    connection_->Execute("BEGIN");
    auto result = connection_->Enqueue(kEnqueueTable, message);
    connection_->Execute("COMMIT");
    return result;
  }

  Backend backend_;
  std::unique_ptr<Connection> connection_;
};

TYPED_TEST_SUITE_P(EnqueueSuite);

TYPED_TEST_P(EnqueueSuite, CommitsTheEventWithTheBusinessRow) {
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  ASSERT_TRUE(this->connection_->Execute("INSERT INTO business VALUES (1)"));
  ASSERT_OK(this->connection_->Enqueue(kEnqueueTable, AnEvent()));
  EXPECT_EQ(this->Rows(), 0) << "visible before the commit";
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  EXPECT_EQ(this->Rows(), 1);
  EXPECT_EQ(this->connection_->Number("SELECT count(*) FROM business"), 1);
}

TYPED_TEST_P(EnqueueSuite, RollsTheEventBackWithTheBusinessRow) {
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  ASSERT_TRUE(this->connection_->Execute("INSERT INTO business VALUES (1)"));
  ASSERT_OK(this->connection_->Enqueue(kEnqueueTable, AnEvent()));
  ASSERT_TRUE(this->connection_->Execute("ROLLBACK"));
  EXPECT_EQ(this->Rows(), 0);
  EXPECT_EQ(this->connection_->Number("SELECT count(*) FROM business"), 0);
}

TYPED_TEST_P(EnqueueSuite, RollsBackToASavepoint) {
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  ASSERT_OK(this->connection_->Enqueue(kEnqueueTable, AnEvent()));
  ASSERT_TRUE(this->connection_->Execute("SAVEPOINT half"));
  ASSERT_OK(this->connection_->Enqueue(kEnqueueTable, AnEvent()));
  ASSERT_TRUE(this->connection_->Execute("ROLLBACK TO half"));
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  EXPECT_EQ(this->Rows(), 1);
}

TYPED_TEST_P(EnqueueSuite, RefusesToRunOutsideATransaction) {
  const auto single = this->connection_->Enqueue(kEnqueueTable, AnEvent());
  EXPECT_THAT(single, HasCode(Code::kNoTransaction));
  EXPECT_FALSE(single.error().hint().empty());
  const std::vector<NewMessage> many(3, AnEvent());
  EXPECT_THAT(this->connection_->EnqueueMany(kEnqueueTable, many), HasCode(Code::kNoTransaction));
  EXPECT_EQ(this->Rows(), 0);
}

TYPED_TEST_P(EnqueueSuite, AddsNoSecondRowForTheSameId) {
  NewMessage message = AnEvent();
  message.id = Uuid::NewV7();
  const auto first = this->InTransaction(message);
  message.payload = R"({"order":2})";
  const auto second = this->InTransaction(message);
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_FALSE(first->already_enqueued);
  EXPECT_TRUE(second->already_enqueued);
  EXPECT_EQ(second->id, *message.id);
  EXPECT_EQ(second->seq, first->seq);
  EXPECT_EQ(this->Rows(), 1);
}

TYPED_TEST_P(EnqueueSuite, AddsNoSecondRowForTheSameDedupeKey) {
  NewMessage message = AnEvent();
  message.dedupe_key = "order-1";
  const auto first = this->InTransaction(message);
  const auto second = this->InTransaction(message);
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_TRUE(second->already_enqueued);
  EXPECT_EQ(second->id, first->id);
  EXPECT_EQ(second->seq, first->seq);

  message.topic = "orders.order.paid.v1";
  EXPECT_FALSE(this->InTransaction(message)->already_enqueued) << "another topic";
  message.topic = AnEvent().topic;
  message.name_space = "other";
  EXPECT_FALSE(this->InTransaction(message)->already_enqueued) << "another namespace";
  EXPECT_EQ(this->Rows(), 3);
}

TYPED_TEST_P(EnqueueSuite, ForgetsTheDedupeKeyOfARolledBackTransaction) {
  NewMessage message = AnEvent();
  message.dedupe_key = "order-1";
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  ASSERT_OK(this->connection_->Enqueue(kEnqueueTable, message));
  ASSERT_TRUE(this->connection_->Execute("ROLLBACK"));
  const auto after = this->InTransaction(message);
  ASSERT_OK(after);
  EXPECT_FALSE(after->already_enqueued);
}

TYPED_TEST_P(EnqueueSuite, AddsOneRowWhenManyRaceForOneKey) {
  constexpr int kRacers = 6;
  constexpr int kKeys = 20;
  std::atomic<int> firsts{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> racers;
  for (int racer = 0; racer < kRacers; ++racer) {
    racers.emplace_back([&] {
      const auto connection = this->backend_.Connect();
      for (int key = 0; key < kKeys; ++key) {
        NewMessage message = AnEvent();
        message.dedupe_key = base::StrCat("order-", key);
        connection->Execute(this->backend_.kBeginWriting);
        const auto result = connection->Enqueue(kEnqueueTable, message);
        connection->Execute("COMMIT");
        if (!result.ok()) ++failures;
        if (result.ok() && !result->already_enqueued) ++firsts;
      }
    });
  }
  for (std::thread& racer : racers) racer.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(firsts, kKeys);
  EXPECT_EQ(this->Rows(), kKeys);
}

TYPED_TEST_P(EnqueueSuite, AddsManyInTheOrderGiven) {
  std::vector<NewMessage> messages(2500, AnEvent());
  for (NewMessage& message : messages) message.id = Uuid::NewV7();
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  const auto enqueued = this->connection_->EnqueueMany(kEnqueueTable, messages);
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  ASSERT_OK(enqueued);
  ASSERT_EQ(enqueued->size(), messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ((*enqueued)[i].id, *messages[i].id);
    if (i > 0) {
      ASSERT_LT((*enqueued)[i - 1].seq, (*enqueued)[i].seq);
    }
  }
  EXPECT_EQ(this->Rows(), 2500);
}

TYPED_TEST_P(EnqueueSuite, FindsDuplicatesInBulk) {
  NewMessage stored = AnEvent();
  stored.dedupe_key = "stored";
  const auto before = this->InTransaction(stored);
  ASSERT_OK(before);

  std::vector<NewMessage> messages(5, AnEvent());
  messages[1].dedupe_key = "stored";
  messages[2].dedupe_key = "twice";
  messages[3].dedupe_key = "twice";
  messages[4].id = before->id;
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  const auto enqueued = this->connection_->EnqueueMany(kEnqueueTable, messages);
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  ASSERT_OK(enqueued);
  std::vector<bool> already;
  for (const Enqueued& one : *enqueued) already.push_back(one.already_enqueued);
  EXPECT_EQ(already, (std::vector<bool>{false, true, false, true, true}));
  EXPECT_EQ((*enqueued)[1].id, before->id);
  EXPECT_EQ((*enqueued)[1].seq, before->seq);
  EXPECT_EQ((*enqueued)[3].id, (*enqueued)[2].id);
  EXPECT_EQ((*enqueued)[4].seq, before->seq);
  EXPECT_EQ(this->Rows(), 3);
}

TYPED_TEST_P(EnqueueSuite, WritesNoneOfManyWhenOneIsWrong) {
  std::vector<NewMessage> messages(3, AnEvent());
  messages[1].payload = "{not json";
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  const auto enqueued = this->connection_->EnqueueMany(kEnqueueTable, messages);
  EXPECT_THAT(enqueued, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(enqueued.error().message(), ::testing::HasSubstr("payload"));
  ASSERT_OK(this->connection_->Enqueue(kEnqueueTable, AnEvent()));  // still usable
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  EXPECT_EQ(this->Rows(), 1);
}

TYPED_TEST_P(EnqueueSuite, RequiresTheTenantAtTheStartOfTheDedupeKey) {
  NewMessage message = AnEvent();
  message.tenant_id = Uuid::NewV7();
  message.dedupe_key = "order-1";
  EXPECT_THAT(this->InTransaction(message), HasCode(Code::kInvalidArgument));
  message.dedupe_key = Uuid::NewV7().ToString() + "/order-1";
  EXPECT_THAT(this->InTransaction(message), HasCode(Code::kInvalidArgument));
  EXPECT_EQ(this->Rows(), 0);
  message.dedupe_key = message.tenant_id->ToString() + "/order-1";
  EXPECT_OK(this->InTransaction(message));
  EXPECT_EQ(this->Rows(), 1);
}

TYPED_TEST_P(EnqueueSuite, KeepsTheTransactionUsableAfterARefusal) {
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  ASSERT_TRUE(this->connection_->Execute("INSERT INTO business VALUES (1)"));
  NewMessage wrong = AnEvent();
  wrong.topic = "Not A Topic";
  EXPECT_THAT(this->connection_->Enqueue(kEnqueueTable, wrong), HasCode(Code::kInvalidArgument));
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  EXPECT_EQ(this->connection_->Number("SELECT count(*) FROM business"), 1);
}

TYPED_TEST_P(EnqueueSuite, RefusesWhatTheDatabaseWould) {
  std::vector<NewMessage> refused(7, AnEvent());
  refused[0].payload = "\xEF\xBB\xBF{}";
  refused[1].delay = std::chrono::milliseconds::max();
  refused[2].delay = std::chrono::years(300'000);
  refused[3].available_at = Timestamp::min();
  refused[4].available_at = Timestamp::max();
  refused[5].headers = {{"a\r\nb", "c"}};
  refused[6].payload = std::string("{}\0x", 4);
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  for (const NewMessage& message : refused) {
    EXPECT_THAT(this->connection_->Enqueue(kEnqueueTable, message),
                HasCode(Code::kInvalidArgument));
    EXPECT_THAT(this->connection_->EnqueueMany(kEnqueueTable, std::vector{message}),
                HasCode(Code::kInvalidArgument));
  }
  std::vector<NewMessage> edges(3, AnEvent());
  edges[0].delay = std::chrono::days(36'500);
  edges[1].available_at = base::ParseTimestamp("0001-01-01T00:00:00Z");
  edges[2].available_at = base::ParseTimestamp("9999-12-31T23:59:59.999999Z");
  for (const NewMessage& message : edges) {
    EXPECT_OK(this->connection_->Enqueue(kEnqueueTable, message));
  }
  EXPECT_OK(this->connection_->EnqueueMany(kEnqueueTable, edges));
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  EXPECT_EQ(this->Rows(), 6);
}

TYPED_TEST_P(EnqueueSuite, NeverTakesAHostileTableNameForSql) {
  for (const std::string_view table :
       {"orders_outbox; DROP TABLE business", "orders_outbox\" (id) VALUES (1) --", "a.b.c", "",
        "ORDERS_OUTBOX", "orders outbox", "pg_catalog.pg_class\"", "\xff\xfe", "x'--"}) {
    ASSERT_TRUE(this->connection_->Execute("BEGIN"));
    const auto result = this->connection_->Enqueue(table, AnEvent());
    EXPECT_THAT(result, HasCode(Code::kInvalidArgument)) << table;
    ASSERT_TRUE(this->connection_->Execute("INSERT INTO business VALUES (2)")) << table;
    ASSERT_TRUE(this->connection_->Execute("ROLLBACK"));
  }
}

TYPED_TEST_P(EnqueueSuite, NamesATableThatIsNotThere) {
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  const auto result = this->connection_->Enqueue("missing_outbox", AnEvent());
  ASSERT_TRUE(this->connection_->Execute("ROLLBACK"));
  EXPECT_THAT(result, HasCode(Code::kNotFound));
  EXPECT_THAT(result.error().message(), ::testing::HasSubstr("missing_outbox"));
  EXPECT_THAT(result.error().hint(), ::testing::HasSubstr("migrate up --table "));
  EXPECT_THAT(result.error().hint(), ::testing::EndsWith("missing_outbox"));
}

TYPED_TEST_P(EnqueueSuite, NamesATableOfAnotherSchemaAndHowToMendIt) {
  const std::string table = this->backend_.kDisplayName;
  for (const bool many : {false, true}) {
    ASSERT_TRUE(this->connection_->Execute("BEGIN"));
    ASSERT_TRUE(this->connection_->Execute(
        "ALTER TABLE " + table + " RENAME COLUMN aggregate_type TO kind_of_another_release"));
    const std::vector<NewMessage> messages(many ? 2 : 1, AnEvent());
    const Status status = this->connection_->EnqueueMany(kEnqueueTable, messages).error();
    ASSERT_TRUE(this->connection_->Execute("ROLLBACK"));
    EXPECT_EQ(status.code(), Code::kSchema) << status.ToString();
    EXPECT_THAT(status.message(), ::testing::HasSubstr("table " + table + " does not fit schema"));
    EXPECT_THAT(status.hint(), ::testing::HasSubstr("outboxd migrate up --table " + table));
    EXPECT_EQ(this->connection_->Number("SELECT count(*) FROM " + table), 0);
  }
}

TYPED_TEST_P(EnqueueSuite, TellsTheObserverOfEachMessage) {
  EnqueueCounter counter;
  const EnqueueOptions options{.observer = &counter};
  NewMessage message = AnEvent();
  message.dedupe_key = "once";
  const std::vector<NewMessage> many{AnEvent(), message, AnEvent()};
  ASSERT_TRUE(this->connection_->Execute("BEGIN"));
  ASSERT_OK(this->connection_->Enqueue(kEnqueueTable, message, options));
  ASSERT_OK(this->connection_->EnqueueMany(kEnqueueTable, many, options));
  ASSERT_TRUE(this->connection_->Execute("COMMIT"));
  const std::string table = this->backend_.kDisplayName;
  EXPECT_THAT(counter.counts, ::testing::UnorderedElementsAre(
                                  ::testing::Pair(table + " orders.order.created.v1", 3),
                                  ::testing::Pair(table + " orders.order.created.v1 again", 1)));
}

REGISTER_TYPED_TEST_SUITE_P(
    EnqueueSuite, CommitsTheEventWithTheBusinessRow, RollsTheEventBackWithTheBusinessRow,
    RollsBackToASavepoint, RefusesToRunOutsideATransaction, AddsNoSecondRowForTheSameId,
    AddsNoSecondRowForTheSameDedupeKey, ForgetsTheDedupeKeyOfARolledBackTransaction,
    AddsOneRowWhenManyRaceForOneKey, AddsManyInTheOrderGiven, FindsDuplicatesInBulk,
    WritesNoneOfManyWhenOneIsWrong, RequiresTheTenantAtTheStartOfTheDedupeKey,
    KeepsTheTransactionUsableAfterARefusal, RefusesWhatTheDatabaseWould,
    NeverTakesAHostileTableNameForSql, NamesATableThatIsNotThere,
    NamesATableOfAnotherSchemaAndHowToMendIt, TellsTheObserverOfEachMessage);

}  // namespace outbox::testing
