#include "demo/shop.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sql/demo.h"

namespace outbox::demo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kCustomers{"ada",   "barbara", "dennis", "donald", "edsger",   "frances",
                                "grace", "john",    "ken",    "leslie", "margaret", "tony"};
constexpr std::int64_t kRolledBackEvery = 20;

}  // namespace

Shop::Shop(std::unique_ptr<store::Session> session, const Stage& stage, Ledger& ledger, int rate)
    : session_(std::move(session)),
      insert_order_(stage.orders_table().Render(sql::demo::kInsertOrder)),
      outbox_table_(stage.outbox_table()),
      ledger_(ledger),
      rate_(std::clamp(rate, kRateMin, kRateMax)),
      thread_([this] { Run(); }) {}

Shop::~Shop() { Close(); }

void Shop::SetRate(int orders_per_second) {
  rate_ = std::clamp(orders_per_second, kRateMin, kRateMax);
}

void Shop::Close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Status Shop::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

void Shop::Run() {
  auto next = Clock::now();
  for (;;) {
    PlaceOrder();
    // After a stall the shop goes on at its rate; it does not make up for lost time.
    next = std::max(next + std::chrono::nanoseconds(std::chrono::seconds(1)) / rate_.load(),
                    Clock::now() - std::chrono::milliseconds(50));
    std::unique_lock lock(mutex_);
    if (wake_.wait_until(lock, next, [&] { return closing_; })) return;
  }
}

void Shop::PlaceOrder() {
  ++number_;
  const Uuid event_id = Uuid::NewV7();
  Status status = session_->Begin();
  if (status.ok()) status = Write(event_id);
  if (status.ok() && number_ % kRolledBackEvery == 0) {
    session_->Rollback();
    ledger_.OnRolledBack();
    return;
  }
  if (status.ok()) status = session_->Commit();
  if (status.ok()) {
    ledger_.OnCommitted(event_id);
    return;
  }
  session_->Rollback();
  const std::lock_guard lock(mutex_);
  last_failure_ = status;
}

Status Shop::Write(const Uuid& event_id) {
  const auto pick = [&](std::size_t count) {
    return static_cast<std::size_t>(random_.Unit() * static_cast<double>(count));
  };
  const std::string customer = kCustomers[pick(kCustomers.size())];
  const std::string cents = std::to_string(199 + pick(9'800));
  const std::string number = std::to_string(number_);
  const std::vector<Executor::Param> order{number, customer, cents, event_id.ToString()};
  OUTBOX_ASSIGN_OR_RETURN(const auto ignored, session_->executor().Execute(insert_order_, order));
  (void)ignored;
  return Enqueue(session_->executor(), outbox_table_,
                 {.topic = "shop.order.placed.v1",
                  .payload = base::StrCat(R"({"order":)", number, R"(,"customer":)",
                                          base::JsonQuote(customer), R"(,"cents":)", cents, "}"),
                  .id = event_id,
                  .event_type = "OrderPlaced",
                  .aggregate_type = "order",
                  .aggregate_id = number,
                  .key = customer})
      .error();
}

}  // namespace outbox::demo
