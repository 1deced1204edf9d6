#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bench/machine.h"
#include "bench/raw/raw_client.h"
#include "bench/relay_run.h"
#include "bench/scenario.h"
#include "bench/stand_in.h"
#include "sink/registry.h"

namespace outbox::bench {
namespace {

using base::StrCat;
using std::chrono::steady_clock;

// What a relay does without being told.
const std::size_t kBatch = RelayOptions{}.batch_size;
constexpr double kAgainstRawClient = 0.8;
constexpr std::chrono::seconds kPublishTimeout{30};
// A relay is measured from its start. It gets as many messages as take about this long, a quarter
// of all at least, so that connecting does not count.
constexpr std::chrono::seconds kRelayRun{3};
constexpr std::size_t kPartOfMessages = 4;

// Raw client and sink take turns, so that what else the machine does meets both.
constexpr int kTurns = 8;
constexpr std::chrono::milliseconds kTurn{500};

// Like those that Scratch::Fill leaves in the table.
Message SampleMessage(const Scratch& scratch) {
  Message message;
  message.id = Uuid::NewV7();
  message.seq = 100'000;
  message.table = scratch.table();
  message.topic = "orders.order.created.v1";
  message.event_type = "OrderCreated";
  message.key = "customer-100";
  message.payload = StrCat(R"({"orderId" : "6f9619ff-8b86-d011-b42d-00c04fc964ff", )",
                           R"("customer" : "customer 100000", "total" : 150000.0, )",
                           R"("currency" : "EUR", "note" : ")", std::string(220, 'x'), R"("})");
  message.attempt = 1;
  return message;
}

using Seconds = std::chrono::duration<double>;

// What was sent in all turns.
struct Total {
  double rate() const { return static_cast<double>(sent) / took.count(); }
  // Processor time of client and server together.
  Seconds cost() const { return busy / static_cast<double>(sent); }

  std::size_t sent = 0;
  Seconds took{0};
  Seconds busy{0};
};

std::size_t BatchOf(const Sink& sink) { return std::min(kBatch, sink.traits().batch_max); }
// As many unconfirmed as the sink may have.
std::size_t WindowOf(const Sink& sink) { return BatchOf(sink) * sink.traits().concurrency; }

// Sends `count` messages, and as many again until the time is over.
Status SendRaw(RawClient& client, const Message& sample, std::size_t count, std::size_t window,
               Seconds at_least, Total& total) {
  const auto start = steady_clock::now();
  const Seconds busy = BusyTime();
  do {
    OUTBOX_RETURN_IF_ERROR(client.Send(sample, count, window));
    total.sent += count;
  } while (steady_clock::now() - start < at_least);
  total.took += steady_clock::now() - start;
  total.busy += BusyTime() - busy;
  return Status::Ok();
}

Status PublishBatches(Sink& sink, const Message& sample, steady_clock::time_point until,
                      std::atomic<std::size_t>& sent) {
  std::vector<Message> messages(BatchOf(sink), sample);
  std::vector<Status> results(messages.size());
  while (steady_clock::now() < until) {
    for (Message& message : messages) message.id = Uuid::NewV7();
    std::fill(results.begin(), results.end(), Status::Retry(Code::kInternal, "no result"));
    sink.Publish(messages, results, Deadline::After(kPublishTimeout));
    for (const Status& result : results) OUTBOX_RETURN_IF_ERROR(result);
    sent += messages.size();
  }
  return Status::Ok();
}

// The sink by itself, called as the relay calls it; nothing is taken from a database.
Status SendBySink(Sink& sink, const Message& sample, Total& total) {
  std::atomic<std::size_t> sent = 0;
  std::vector<std::future<Status>> publishers;
  const auto start = steady_clock::now();
  for (std::size_t i = 0; i < sink.traits().concurrency; ++i) {
    publishers.push_back(std::async(
        std::launch::async, [&] { return PublishBatches(sink, sample, start + kTurn, sent); }));
  }
  Status ended;
  for (std::future<Status>& publisher : publishers) {
    if (Status status = publisher.get(); !status.ok()) ended = std::move(status);
  }
  total.took += steady_clock::now() - start;
  total.sent += sent;
  return ended;
}

// The relay as it is without being told, and at its fastest: what docs/operating/tuning.md offers.
struct NamedPlan {
  std::string_view name;
  DrainPlan plan;
};
const std::array kPlans{
    NamedPlan{"as it is", {.mode = ClaimMode::kLease, .keep = true, .batch = kBatch}},
    NamedPlan{"at its fastest",
              {.mode = ClaimMode::kTransaction,
               .keep = false,
               .batch = kBatch,
               .window = 4000,
               .async_ack = true}},
};

// A relay that drains the table by one of the plans, and what it is compared with: as many
// messages, each time to an empty destination. A broker whose queue grows gets slower.
struct RelayRates {
  double raw = 0;
  Seconds raw_cost{0};      // of a message, in processor time of client and server together
  double nowhere = 0;       // to a sink that takes everything at once: what the table gives
  Seconds nowhere_cost{0};  // the same of relay and database
  double relay = 0;
  Seconds relay_cost{0};  // of relay, database and broker
};

// One round: each on an empty destination, or on a table filled anew.
struct Rates {
  double raw = 0;
  double sink = 0;  // the sink alone
  std::array<RelayRates, kPlans.size()> relays;
};

Result<RelayRates> MeasureRelay(Scratch& scratch, const DrainPlan& plan, RawClient& raw_client,
                                const Message& sample, const std::shared_ptr<Sink>& sink,
                                std::size_t count) {
  RelayRates rates;
  Total raw;
  OUTBOX_RETURN_IF_ERROR(raw_client.Prepare(sample));
  OUTBOX_RETURN_IF_ERROR(SendRaw(raw_client, sample, count, WindowOf(*sink), Seconds(0), raw));
  rates.raw = raw.rate();
  rates.raw_cost = raw.cost();
  OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
  const Seconds busy = BusyTime();
  OUTBOX_ASSIGN_OR_RETURN(rates.nowhere, RelayRate(scratch, plan, count));
  rates.nowhere_cost = (BusyTime() - busy) / static_cast<double>(count);
  OUTBOX_RETURN_IF_ERROR(raw_client.Prepare(sample));
  OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
  const Seconds busy_before = BusyTime();
  OUTBOX_ASSIGN_OR_RETURN(rates.relay, RelayRate(scratch, plan, count, sink));
  rates.relay_cost = (BusyTime() - busy_before) / static_cast<double>(count);
  return rates;
}

Result<Rates> MeasureRound(Scratch& scratch, RawClient& raw_client,
                           const std::shared_ptr<Sink>& sink, std::size_t messages) {
  const Message sample = SampleMessage(scratch);
  const std::size_t window = WindowOf(*sink);
  Rates rates;
  Total raw;
  Total alone;
  // First, since its errors say which destination is away.
  OUTBOX_RETURN_IF_ERROR(raw_client.Prepare(sample));
  OUTBOX_RETURN_IF_ERROR(sink->Open(Deadline::After(kPublishTimeout)));
  for (int turn = 0; turn < kTurns; ++turn) {
    OUTBOX_RETURN_IF_ERROR(raw_client.Prepare(sample));
    OUTBOX_RETURN_IF_ERROR(SendRaw(raw_client, sample, window * 8, window, kTurn, raw));
    OUTBOX_RETURN_IF_ERROR(raw_client.Prepare(sample));
    OUTBOX_RETURN_IF_ERROR(SendBySink(*sink, sample, alone));
  }
  sink->Close(Deadline::After(kPublishTimeout));
  rates.raw = raw.rate();
  rates.sink = alone.rate();
  const auto count = std::clamp(static_cast<std::size_t>(rates.raw * Seconds(kRelayRun).count()),
                                messages / kPartOfMessages, messages);
  for (std::size_t i = 0; i < kPlans.size(); ++i) {
    OUTBOX_ASSIGN_OR_RETURN(rates.relays[i],
                            MeasureRelay(scratch, kPlans[i].plan, raw_client, sample, sink, count));
  }
  return rates;
}

// What a relay could reach if nothing ever waited: raw client and table at once, on processors that
// both of them need.
double Limit(const RelayRates& relay) {
  const Seconds cost = relay.raw_cost + relay.nowhere_cost;
  return std::min({relay.raw, relay.nowhere, std::thread::hardware_concurrency() / cost.count()});
}

// The figures of one sink, a relay's compared in three ways.
class SinkFigures {
 public:
  SinkFigures(std::string_view scheme, std::string_view store) {
    const auto figure = [&](std::string what, std::string against) {
      return Figure{.scenario = "sinks",
                    .store = std::string(store),
                    .what = std::move(what),
                    .unit = "events/s",
                    .against = std::move(against),
                    .bar = Bar::AtLeast(kAgainstRawClient)};
    };
    alone_ = figure(StrCat(scheme, " sink"), "raw client");
    for (std::size_t i = 0; i < kPlans.size(); ++i) {
      const std::string what = StrCat("relay to ", scheme, ", ", kPlans[i].name);
      against_slower_[i] = figure(what, "raw client or table, the slower");
      against_raw_[i] = figure(what, "raw client");
      against_raw_[i].bar.reset();
      against_limit_[i] = figure(what, "raw client and table at once");
    }
  }

  void Add(const Rates& rates) {
    alone_.rounds.push_back(rates.sink);
    alone_.baseline.push_back(rates.raw);
    for (std::size_t i = 0; i < kPlans.size(); ++i) {
      const RelayRates& measured = rates.relays[i];
      const auto add = [&](Figure& figure, double baseline) {
        figure.rounds.push_back(measured.relay);
        figure.baseline.push_back(baseline);
      };
      add(against_slower_[i], std::min(measured.raw, measured.nowhere));
      add(against_raw_[i], measured.raw);
      add(against_limit_[i], Limit(measured));
    }
  }

  void Report(Run& run) {
    run.Add(std::move(alone_));
    for (std::size_t i = 0; i < kPlans.size(); ++i) {
      run.Add(std::move(against_slower_[i]));
      run.Add(std::move(against_raw_[i]));
      run.Add(std::move(against_limit_[i]));
    }
  }

 private:
  Figure alone_;
  std::array<Figure, kPlans.size()> against_slower_;
  std::array<Figure, kPlans.size()> against_raw_;
  std::array<Figure, kPlans.size()> against_limit_;
};

Status MeasureSink(Run& run, Scratch& scratch, const std::string& given) {
  OUTBOX_ASSIGN_OR_RETURN(const auto stand_in, StartStandIn(given));
  const std::string address = stand_in == nullptr ? given : stand_in->address();
  OUTBOX_ASSIGN_OR_RETURN(const sink::SinkUri uri, sink::SinkUri::Parse(address));
  OUTBOX_ASSIGN_OR_RETURN(const auto raw_client, MakeRawClient(uri));
  OUTBOX_ASSIGN_OR_RETURN(const auto sink, sink::OpenSink(address));
  SinkFigures figures(uri.scheme, scratch.store());
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_ASSIGN_OR_RETURN(const Rates rates,
                            MeasureRound(scratch, *raw_client, sink, run.messages()));
    figures.Add(rates);
    run.Progress(StrCat(uri.scheme, ": raw client ", FormatNumber(rates.raw), ", sink alone ",
                        FormatNumber(rates.sink)));
    for (std::size_t i = 0; i < kPlans.size(); ++i) {
      const RelayRates& relay = rates.relays[i];
      run.Progress(StrCat(
          uri.scheme, ", ", Describe(kPlans[i].plan), ": relay ", FormatNumber(relay.relay), " (",
          FormatNumber(relay.relay_cost.count() * 1e6), " µs of a processor each), raw client ",
          FormatNumber(relay.raw), " (", FormatNumber(relay.raw_cost.count() * 1e6),
          " µs of a processor each), into nowhere ", FormatNumber(relay.nowhere), " (",
          FormatNumber(relay.nowhere_cost.count() * 1e6), " µs)"));
    }
  }
  figures.Report(run);
  return Status::Ok();
}

}  // namespace

Status CheckSinks(const std::vector<std::string>& sinks) {
  for (const std::string& address : sinks) {
    if (IsStandIn(address)) continue;
    OUTBOX_ASSIGN_OR_RETURN(const sink::SinkUri uri, sink::SinkUri::Parse(address));
    OUTBOX_RETURN_IF_ERROR(MakeRawClient(uri).error());
  }
  return Status::Ok();
}

Status SinkRate(Run& run) {
  if (run.options().sinks.empty()) {
    run.Note("sinks left out: name them with --sink");
    return Status::Ok();
  }
  if (run.postgres() == nullptr) return Status::Ok();
  for (const std::string& address : run.options().sinks) {
    OUTBOX_RETURN_IF_ERROR(MeasureSink(run, *run.postgres(), address));
  }
  return Status::Ok();
}

}  // namespace outbox::bench
