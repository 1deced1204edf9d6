#include <array>
#include <memory>
#include <vector>

#include "base/text.h"
#include "bench/pg_session.h"
#include "bench/producers.h"
#include "bench/scenario.h"
#include "bench_sql/postgres.h"
#include "message/table_name.h"
#include "outbox/enqueue.h"

namespace outbox::bench {
namespace {

using base::StrCat;

constexpr double kAgainstLibrary = 0.9;
constexpr double kAgainstInsert = 0.8;
constexpr int kSlices = 3;
constexpr int kSlicesQuick = 1;
constexpr std::size_t kMany = 128;
constexpr std::size_t kColumns = 5;

enum class Side { kInsert, kLibrary, kFunction };
constexpr std::array kSides{Side::kInsert, Side::kLibrary, Side::kFunction};

// "INSERT INTO t (...) VALUES ($1, ... $5), ($6, ... $10), ..."
std::string InsertOf(const message::TableName& table, std::size_t rows) {
  std::vector<std::string> values;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t at = row * kColumns;
    values.push_back(StrCat("($", at + 1, "::uuid, $", at + 2, "::text, $", at + 3, "::text, $",
                            at + 4, "::text, $", at + 5, "::json)"));
  }
  return StrCat(table.Render(sql::postgres::kInsertPlain), base::Join(values, ", "));
}

// A connection that enqueues `count` messages a transaction.
class Producer {
 public:
  static Result<std::unique_ptr<Producer>> Open(const Scratch& scratch, std::size_t count) {
    OUTBOX_ASSIGN_OR_RETURN(const auto table, message::TableName::Parse(scratch.table(), "public"));
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch.address()));
    OUTBOX_RETURN_IF_ERROR(session.Prepare("insert", InsertOf(table, count)));
    OUTBOX_RETURN_IF_ERROR(session.Prepare("one", sql::postgres::kEnqueueByFunction));
    OUTBOX_RETURN_IF_ERROR(session.Prepare("many", sql::postgres::kEnqueueManyByFunction));
    return std::unique_ptr<Producer>(new Producer(std::move(session), scratch.table(), count));
  }

  Status Transact(Side side) {
    OUTBOX_RETURN_IF_ERROR(session_.Execute("BEGIN"));
    OUTBOX_RETURN_IF_ERROR(Enqueue(side));
    return session_.Execute("COMMIT");
  }

 private:
  Producer(PgSession session, std::string table, std::size_t count)
      : session_(std::move(session)), table_(std::move(table)), messages_(count, OrderCreated()) {
    const NewMessage& message = messages_.front();
    const std::string element =
        StrCat(R"({"topic":")", message.topic, R"(","event_type":")", message.event_type,
               R"(","key":")", message.key, R"(","payload":)", message.payload, "}");
    array_ = StrCat("[", base::Join(std::vector<std::string>(count, element), ","), "]");
  }

  Status Enqueue(Side side) {
    switch (side) {
      case Side::kInsert: return Insert();
      case Side::kLibrary: return EnqueueMany(session_.handle(), table_, messages_).error();
      case Side::kFunction: return Call();
    }
    return Status::Ok();
  }

  Status Insert() {
    std::vector<std::string> ids;
    std::vector<const char*> params;
    for (std::size_t i = 0; i < messages_.size(); ++i) ids.push_back(Uuid::NewV7().ToString());
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      params.insert(params.end(),
                    {ids[i].c_str(), messages_[i].topic.c_str(), messages_[i].event_type.c_str(),
                     messages_[i].key.c_str(), messages_[i].payload.c_str()});
    }
    return session_.Run("insert", params);
  }

  Status Call() {
    const NewMessage& message = messages_.front();
    const std::array one{table_.c_str(), message.topic.c_str(), message.payload.c_str(),
                         message.key.c_str(), message.event_type.c_str()};
    const std::array many{table_.c_str(), array_.c_str()};
    return messages_.size() == 1 ? session_.Run("one", one) : session_.Run("many", many);
  }

  PgSession session_;
  const std::string table_;
  const std::vector<NewMessage> messages_;
  std::string array_;
};

using Producers = std::vector<std::unique_ptr<Producer>>;

// The messages a second of each side.
Result<std::array<double, kSides.size()>> MeasureRound(Scratch& scratch, Producers& producers,
                                                       std::size_t count, int slices) {
  std::array<double, kSides.size()> rates{};
  for (int slice = 0; slice < slices; ++slice) {
    for (std::size_t i = 0; i < kSides.size(); ++i) {
      OUTBOX_RETURN_IF_ERROR(scratch.Fill(0));
      OUTBOX_ASSIGN_OR_RETURN(const double rate,
                              TransactionRate(producers.size(), [&](std::size_t client) {
                                return producers[client]->Transact(kSides[i]);
                              }));
      rates[i] += rate * static_cast<double>(count) / slices;
    }
  }
  return rates;
}

Status Compare(Run& run, Scratch& scratch, std::size_t count) {
  Producers producers;
  for (int i = 0; i < run.options().clients; ++i) {
    OUTBOX_ASSIGN_OR_RETURN(auto producer, Producer::Open(scratch, count));
    producers.push_back(std::move(producer));
  }
  const auto figure = [&](const char* who, const char* against, std::optional<Bar> bar) {
    return Figure{
        .scenario = "enqueue functions",
        .store = std::string(scratch.store()),
        .what = StrCat(who, ", ", count, " a transaction, ", producers.size(), " clients"),
        .unit = "messages/s",
        .against = against,
        .bar = bar};
  };
  Figure library = figure("library", "plain INSERT", std::nullopt);
  Figure to_library = figure("SQL function", "library", Bar::AtLeast(kAgainstLibrary));
  Figure to_insert = figure("SQL function", "plain INSERT", Bar::AtLeast(kAgainstInsert));
  const int slices = run.options().quick ? kSlicesQuick : kSlices;
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_ASSIGN_OR_RETURN(const auto rates, MeasureRound(scratch, producers, count, slices));
    const auto [by_insert, by_library, by_function] = rates;
    run.Progress(StrCat("enqueue functions, ", count, " a transaction: plain INSERT ",
                        FormatNumber(by_insert), ", library ", FormatNumber(by_library),
                        ", SQL function ", FormatNumber(by_function)));
    library.rounds.push_back(by_library);
    library.baseline.push_back(by_insert);
    to_library.rounds.push_back(by_function);
    to_library.baseline.push_back(by_library);
    to_insert.rounds.push_back(by_function);
    to_insert.baseline.push_back(by_insert);
  }
  for (Figure* each : {&library, &to_library, &to_insert}) run.Add(std::move(*each));
  return Status::Ok();
}

}  // namespace

Status EnqueueFunction(Run& run) {
  Scratch* const scratch = run.postgres();
  if (scratch == nullptr) return Status::Ok();
  OUTBOX_RETURN_IF_ERROR(Compare(run, *scratch, 1));
  return Compare(run, *scratch, kMany);
}

}  // namespace outbox::bench
