#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "bench/flow/contender.h"
#include "bench/pg_session.h"
#include "bench/producers.h"
#include "bench_sql/postgres.h"
#include "outbox/enqueue.h"
#include "outbox/relay.h"

namespace outbox::bench {
namespace {

using base::StrCat;

// Tells the load of each event; the event's number is its key.
class LoadSink final : public Sink {
 public:
  explicit LoadSink(Load& load) : load_(load) {}

  std::string_view name() const noexcept override { return "load"; }
  Status Open(Deadline) override { return Status::Ok(); }

  void Publish(std::span<const Message> batch, std::span<Status> results, Deadline) override {
    for (const Message& message : batch) {
      std::size_t event = 0;
      std::from_chars(message.key.data(), message.key.data() + message.key.size(), event);
      load_.Arrived(event);
    }
    std::fill(results.begin(), results.end(), Status::Ok());
  }

 private:
  Load& load_;
};

// A connection of an application.
class Producer {
 public:
  Producer(PgSession session, std::string table, EnqueueBy by)
      : session_(std::move(session)), table_(std::move(table)), by_(by) {}

  Status Transact(std::size_t first, std::size_t count, const std::function<void()>& committing) {
    messages_.resize(count, OrderCreated());
    for (std::size_t i = 0; i < count; ++i) messages_[i].key = std::to_string(first + i);
    OUTBOX_RETURN_IF_ERROR(session_.Execute("BEGIN"));
    OUTBOX_RETURN_IF_ERROR(by_ == EnqueueBy::kLibrary
                               ? EnqueueMany(session_.handle(), table_, messages_).error()
                               : Call());
    committing();
    return session_.Execute("COMMIT");
  }

 private:
  Status Call() {
    array_.clear();
    for (const NewMessage& message : messages_) {
      array_ += array_.empty() ? '[' : ',';
      array_ += StrCat(R"({"topic":")", message.topic, R"(","event_type":")", message.event_type,
                       R"(","key":")", message.key, R"(","payload":)", message.payload, "}");
    }
    array_ += ']';
    return session_.Run("many", std::array{table_.c_str(), array_.c_str()});
  }

  PgSession session_;
  const std::string table_;
  const EnqueueBy by_;
  std::vector<NewMessage> messages_;
  std::string array_;
};

class Outboxd final : public Contender {
 public:
  Outboxd(Scratch& scratch, EnqueueBy by, bool keep) : scratch_(scratch), by_(by), keep_(keep) {}

  std::string name() const override {
    return StrCat("outboxd, ", by_ == EnqueueBy::kLibrary ? "library" : "enqueue_many", ", ",
                  keep_ ? "kept" : "deleted");
  }

  Status Start(Load& load) override {
    producers_ = load.options().producers;
    RelayOptions options{.table = scratch_.table()};
    if (!keep_) options.retention = std::chrono::milliseconds::zero();
    OUTBOX_ASSIGN_OR_RETURN(
        relay_, Relay::Start(scratch_.address(), options, std::make_shared<LoadSink>(load)));
    return Status::Ok();
  }

  Result<std::vector<Load::Transact>> Producers() override {
    std::vector<Load::Transact> producers;
    for (std::size_t i = 0; i < producers_; ++i) {
      OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch_.address()));
      OUTBOX_RETURN_IF_ERROR(session.Prepare("many", sql::postgres::kEnqueueManyByFunction));
      auto producer = std::make_shared<Producer>(std::move(session), scratch_.table(), by_);
      producers.push_back([producer](auto first, auto count, const auto& committing) {
        return producer->Transact(first, count, committing);
      });
    }
    return producers;
  }

  Status Stop() override {
    const Status stopped = relay_->Stop();
    relay_.reset();
    return stopped;
  }

 private:
  Scratch& scratch_;
  const EnqueueBy by_;
  const bool keep_;
  std::size_t producers_ = 0;
  std::unique_ptr<Relay> relay_;
};

}  // namespace

std::unique_ptr<Contender> MakeOutboxd(Scratch& scratch, EnqueueBy by, bool keep) {
  return std::make_unique<Outboxd>(scratch, by, keep);
}

}  // namespace outbox::bench
