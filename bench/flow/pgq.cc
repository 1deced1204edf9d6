#include <charconv>
#include <optional>
#include <thread>

#include "base/text.h"
#include "bench/flow/contender.h"
#include "bench/pg_session.h"
#include "bench/producers.h"
#include "bench_sql/postgres.h"

namespace outbox::bench {
namespace {

// A tick closes a batch. PgQ's own daemon ticks once a second; this is what its users take for low
// latency.
constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::milliseconds kPause{1};

// "SELECT pgq.insert_event(…, $1, $2), pgq.insert_event(…, $3, $4), …"
std::string InsertOf(std::size_t events) {
  std::vector<std::string> calls;
  for (std::size_t i = 0; i < events; ++i) {
    calls.push_back(base::StrCat("pgq.insert_event('bench', 'OrderCreated', $", 2 * i + 1, ", $",
                                 2 * i + 2, ", NULL, NULL, NULL)"));
  }
  return "SELECT " + base::Join(calls, ", ");
}

class Producer {
 public:
  explicit Producer(PgSession session) : session_(std::move(session)) {}

  Status Transact(std::size_t first, std::size_t count, const std::function<void()>& committing) {
    keys_.resize(count);
    params_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      keys_[i] = std::to_string(first + i);
      params_.insert(params_.end(), {message_.payload.c_str(), keys_[i].c_str()});
    }
    OUTBOX_RETURN_IF_ERROR(session_.Execute("BEGIN"));
    OUTBOX_RETURN_IF_ERROR(session_.Run("insert", params_));
    committing();
    return session_.Execute("COMMIT");
  }

 private:
  PgSession session_;
  const NewMessage message_ = OrderCreated();
  std::vector<std::string> keys_;
  std::vector<const char*> params_;
};

class Pgq final : public Contender {
 public:
  explicit Pgq(Scratch& scratch) : scratch_(scratch) {}
  ~Pgq() override { (void)Stop(); }

  std::string name() const override { return "PgQ, tick 100 ms"; }

  Status Start(Load& load) override {
    options_ = load.options();
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch_.address()));
    OUTBOX_RETURN_IF_ERROR(session.Execute(sql::postgres::kPgqCreate));
    OUTBOX_ASSIGN_OR_RETURN(PgSession ticker, PgSession::Open(scratch_.address()));
    stopping_ = false;
    ticker_ = std::thread([this, session = std::move(ticker)]() mutable { Tick(session); });
    consumer_ = std::thread(
        [this, &load, session = std::move(session)]() mutable { Consume(session, load); });
    return Status::Ok();
  }

  Result<std::vector<Load::Transact>> Producers() override {
    std::vector<Load::Transact> producers;
    for (std::size_t i = 0; i < options_.producers; ++i) {
      OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch_.address()));
      OUTBOX_RETURN_IF_ERROR(session.Prepare("insert", InsertOf(options_.batch)));
      auto producer = std::make_shared<Producer>(std::move(session));
      producers.push_back([producer](auto first, auto count, const auto& committing) {
        return producer->Transact(first, count, committing);
      });
    }
    return producers;
  }

  // Fails with what ended the ticker or the consumer early.
  Status Stop() override {
    stopping_ = true;
    if (ticker_.joinable()) ticker_.join();
    if (consumer_.joinable()) consumer_.join();
    OUTBOX_RETURN_IF_ERROR(ticked_);
    return consumed_;
  }

 private:
  void Tick(PgSession& session) {
    while (!stopping_) {
      if (ticked_ = session.Execute(sql::postgres::kPgqTick); !ticked_.ok()) return;
      std::this_thread::sleep_for(kTick);
    }
  }

  void Consume(PgSession& session, Load& load) {
    while (!stopping_) {
      if (consumed_ = ConsumeBatch(session, load); !consumed_.ok()) return;
    }
  }

  Status ConsumeBatch(PgSession& session, Load& load) {
    OUTBOX_ASSIGN_OR_RETURN(const std::string batch, session.Value(sql::postgres::kPgqNextBatch));
    if (batch.empty()) {
      std::this_thread::sleep_for(kPause);
      return Status::Ok();
    }
    OUTBOX_ASSIGN_OR_RETURN(const PgResult events,
                            session.Query(sql::postgres::kPgqBatchEvents, std::span(&batch, 1)));
    for (int row = 0; row < PQntuples(events.get()); ++row) {
      const std::string_view key = PQgetvalue(events.get(), row, 0);
      std::size_t event = 0;
      std::from_chars(key.data(), key.data() + key.size(), event);
      load.Arrived(event);
    }
    return session.Query(sql::postgres::kPgqFinishBatch, std::span(&batch, 1)).error();
  }

  Scratch& scratch_;
  LoadOptions options_;
  std::atomic<bool> stopping_{true};
  std::thread ticker_, consumer_;
  Status ticked_, consumed_;  // each written by its thread, read when that has ended
};

}  // namespace

std::unique_ptr<Contender> MakePgq(Scratch& scratch) { return std::make_unique<Pgq>(scratch); }

Result<bool> HasPgq(Scratch& scratch) {
  OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch.address()));
  OUTBOX_ASSIGN_OR_RETURN(const PgResult found, session.Query(sql::postgres::kFindPgq, {}));
  return PQntuples(found.get()) > 0;
}

}  // namespace outbox::bench
