#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "base/text.h"
#include "bench/pg_session.h"
#include "bench/producers.h"
#include "bench/scenario.h"
#include "bench_sql/postgres.h"
#include "bench_sql/sqlite.h"
#include "outbox/enqueue.h"
#include "store/backend.h"

namespace outbox::bench {
namespace {

using base::StrCat;

constexpr double kAgainstBusinessAlone = 0.57;
// The sides of a round take turns, so that a machine's slow moments meet them all.
constexpr int kSlices = 3;
constexpr int kSlicesQuick = 1;
constexpr std::chrono::seconds kConnectTimeout{10};

enum class Side { kBusinessAlone, kLibrary, kFunction };

// One application: a connection, and the business transaction it repeats.
class Client {
 public:
  virtual ~Client() = default;
  virtual Status Transact(Side side) = 0;
};

class PostgresClient final : public Client {
 public:
  static Result<std::unique_ptr<Client>> Open(const Scratch& scratch) {
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch.address()));
    OUTBOX_RETURN_IF_ERROR(session.Prepare("order", sql::postgres::kInsertOrder));
    OUTBOX_RETURN_IF_ERROR(session.Prepare("enqueue", sql::postgres::kEnqueueByFunction));
    return std::unique_ptr<Client>(new PostgresClient(std::move(session), scratch.table()));
  }

  Status Transact(Side side) override {
    constexpr std::array kOrder{"customer 1", "12.5"};
    OUTBOX_RETURN_IF_ERROR(session_.Execute("BEGIN"));
    OUTBOX_RETURN_IF_ERROR(session_.Run("order", kOrder));
    if (side == Side::kLibrary) {
      OUTBOX_RETURN_IF_ERROR(Enqueue(session_.handle(), table_, message_).error());
    } else if (side == Side::kFunction) {
      const std::array params{table_.c_str(), message_.topic.c_str(), message_.payload.c_str(),
                              message_.key.c_str(), message_.event_type.c_str()};
      OUTBOX_RETURN_IF_ERROR(session_.Run("enqueue", params));
    }
    return session_.Execute("COMMIT");
  }

 private:
  PostgresClient(PgSession session, std::string table)
      : session_(std::move(session)), table_(std::move(table)) {}

  PgSession session_;
  const std::string table_;
  const NewMessage message_ = OrderCreated();
};

class SqliteClient final : public Client {
 public:
  static Result<std::unique_ptr<Client>> Open(const Scratch& scratch) {
    OUTBOX_ASSIGN_OR_RETURN(auto backend, store::OpenBackend(scratch.address()));
    OUTBOX_ASSIGN_OR_RETURN(auto session, backend->OpenSession(Deadline::After(kConnectTimeout)));
    return std::unique_ptr<Client>(
        new SqliteClient(std::move(backend), std::move(session), scratch.table()));
  }

  Status Transact(Side side) override {
    OUTBOX_RETURN_IF_ERROR(session_->Begin());
    OUTBOX_RETURN_IF_ERROR(session_->Execute(std::string(sql::sqlite::kInsertOrder)));
    if (side == Side::kLibrary) {
      OUTBOX_RETURN_IF_ERROR(Enqueue(session_->executor(), table_, message_).error());
    }
    return session_->Commit();
  }

 private:
  SqliteClient(std::unique_ptr<store::Backend> backend, std::unique_ptr<store::Session> session,
               std::string table)
      : backend_(std::move(backend)), session_(std::move(session)), table_(std::move(table)) {}

  const std::unique_ptr<store::Backend> backend_;
  const std::unique_ptr<store::Session> session_;
  const std::string table_;
  const NewMessage message_ = OrderCreated();
};

using Clients = std::vector<std::unique_ptr<Client>>;

struct Variant {
  Side side;
  const char* name;
  std::optional<Bar> bar;
};

// One round: the rate of each side, the business row alone first.
Result<std::vector<double>> MeasureRound(Scratch& scratch, Clients& clients,
                                         const std::vector<Variant>& variants, int slices) {
  std::vector<Side> sides{Side::kBusinessAlone};
  for (const Variant& variant : variants) sides.push_back(variant.side);
  std::vector<double> rates(sides.size());
  for (int slice = 0; slice < slices; ++slice) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      OUTBOX_RETURN_IF_ERROR(scratch.Fill(0));
      OUTBOX_ASSIGN_OR_RETURN(const double rate,
                              TransactionRate(clients.size(), [&](std::size_t client) {
                                return clients[client]->Transact(sides[i]);
                              }));
      rates[i] += rate / slices;
    }
  }
  return rates;
}

Status Compare(Run& run, Scratch& scratch, Clients clients, std::vector<Variant> variants) {
  std::vector<Figure> figures;
  for (const Variant& variant : variants) {
    figures.push_back({.scenario = "enqueue cost",
                       .store = std::string(scratch.store()),
                       .what = StrCat("business row + ", variant.name, ", ", clients.size(),
                                      clients.size() == 1 ? " client" : " clients"),
                       .unit = "tx/s",
                       .against = "business row alone",
                       .bar = variant.bar});
  }
  const int slices = run.options().quick ? kSlicesQuick : kSlices;
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_ASSIGN_OR_RETURN(const auto rates, MeasureRound(scratch, clients, variants, slices));
    run.Progress(
        StrCat("enqueue, ", scratch.store(), ", business row alone: ", FormatNumber(rates[0])));
    for (std::size_t i = 0; i < figures.size(); ++i) {
      figures[i].rounds.push_back(rates[i + 1]);
      figures[i].baseline.push_back(rates[0]);
      run.Progress(StrCat("enqueue, ", scratch.store(), ", ", figures[i].what, ": ",
                          FormatNumber(rates[i + 1])));
    }
  }
  for (Figure& figure : figures) run.Add(std::move(figure));
  return Status::Ok();
}

}  // namespace

Status EnqueueCost(Run& run) {
  if (Scratch* const scratch = run.postgres(); scratch != nullptr) {
    Clients clients;
    for (int i = 0; i < run.options().clients; ++i) {
      OUTBOX_ASSIGN_OR_RETURN(auto client, PostgresClient::Open(*scratch));
      clients.push_back(std::move(client));
    }
    OUTBOX_RETURN_IF_ERROR(
        Compare(run, *scratch, std::move(clients),
                {{Side::kLibrary, "library", Bar::AtLeast(kAgainstBusinessAlone)},
                 {Side::kFunction, "SQL function", std::nullopt}}));
  }
  if (Scratch* const scratch = run.sqlite(); scratch != nullptr) {
    Clients clients;
    OUTBOX_ASSIGN_OR_RETURN(auto client, SqliteClient::Open(*scratch));
    clients.push_back(std::move(client));
    OUTBOX_RETURN_IF_ERROR(
        Compare(run, *scratch, std::move(clients), {{Side::kLibrary, "library", std::nullopt}}));
  }
  return Status::Ok();
}

}  // namespace outbox::bench
