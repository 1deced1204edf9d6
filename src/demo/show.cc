#include "demo/show.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/mask_address.h"
#include "base/text.h"

namespace outbox::demo {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Shorter than the product's defaults, so that a retry and a probe are seen within seconds.
RelayOptions DemoRelayOptions(const std::string& table) {
  RelayOptions options{.table = table};
  options.retry = {.base = milliseconds(400), .cap = milliseconds(2000)};
  options.retry.attempts_max = std::nullopt;
  options.probe_min = milliseconds(250);
  options.probe_max = milliseconds(1000);
  return options;
}

}  // namespace

Show::Show(std::unique_ptr<Stage> stage)
    : stage_(std::move(stage)),
      monitor_(std::make_shared<Monitor>(ledger_)),
      sink_(std::make_shared<BreakableSink>(ledger_)) {}

Result<std::unique_ptr<Show>> Show::Start(const std::string& database, int orders_per_second) {
  OUTBOX_ASSIGN_OR_RETURN(auto stage, Stage::Build(database));
  OUTBOX_ASSIGN_OR_RETURN(auto session, stage->OpenSession());
  std::unique_ptr<Show> show(new Show(std::move(stage)));
  OUTBOX_RETURN_IF_ERROR(show->StartRelay());
  show->shop_ =
      std::make_unique<Shop>(std::move(session), *show->stage_, show->ledger_, orders_per_second);
  return show;
}

Status Show::StartRelay() {
  OUTBOX_ASSIGN_OR_RETURN(
      relay_,
      Relay::Start(stage_->database(), DemoRelayOptions(stage_->outbox_table()), sink_, monitor_));
  return Status::Ok();
}

Snapshot Show::Look() const {
  Snapshot now{.database = stage_->description(),
               .elapsed = monitor_->Elapsed(),
               .orders_per_second = shop_->rate(),
               .sink = sink_->condition(),
               .probes = sink_->probes(),
               .relay = monitor_->relay(),
               .counts = ledger_.counts(),
               .oldest_age = ledger_.OldestAge(),
               .arrivals = ledger_.Arrivals(),
               .incidents = monitor_->Incidents()};
  if (const auto since = sink_->SinceLastProbe())
    now.since_probe = duration_cast<milliseconds>(*since);
  if (relay_ != nullptr) {
    const RelayStats stats = relay_->Stats();
    now.relay.state = stats.state;
    now.in_flight = stats.in_flight;
  }
  return now;
}

void Show::SetSink(SinkCondition condition) {
  if (sink_->condition() == condition) return;
  sink_->SetCondition(condition);
  monitor_->Tell(base::StrCat("you: the sink is ", ToString(condition)));
}

void Show::PoisonNext() {
  sink_->PoisonNext();
  monitor_->Tell("you: the next message will be refused for good");
}

void Show::ChangeRate(double factor) {
  const double rate = shop_->rate() * factor;
  shop_->SetRate(static_cast<int>(factor > 1 ? std::ceil(rate) : std::floor(rate)));
}

Status Show::RestartRelay() {
  monitor_->Tell("you: restart the relay");
  OUTBOX_RETURN_IF_ERROR(relay_->Stop());
  return StartRelay();
}

void Show::LastOrders() {
  shop_->Close();
  SetSink(SinkCondition::kWorking);
}

bool Show::Drained(milliseconds wait) { return relay_->Drain(Deadline::After(wait)).ok(); }

Summary Show::Finish(std::vector<std::string> failures) {
  shop_->Close();
  if (const Status stopped = relay_->Stop(); !stopped.ok()) failures.push_back(stopped.ToString());
  if (const Status order = shop_->last_failure(); !order.ok()) {
    failures.push_back(base::StrCat("an order could not be placed: ", order.ToString()));
  }
  Summary summary{.database = stage_->description(),
                  .elapsed = monitor_->Elapsed(),
                  .counts = ledger_.counts(),
                  .relay = monitor_->relay(),
                  .probes = sink_->probes(),
                  .failures = std::move(failures)};
  const auto events = stage_->ListOrderEvents();
  if (events.ok()) {
    summary.audit = ledger_.Compare(*events);
  } else {
    summary.failures.push_back(base::StrCat("no audit: ", events.error().ToString()));
  }
  return summary;
}

std::string Show::Keep() {
  stage_->Keep();
  return base::StrCat("kept: --db ", base::MaskAddress(stage_->database()), " --table ",
                      stage_->outbox_table());
}

}  // namespace outbox::demo
