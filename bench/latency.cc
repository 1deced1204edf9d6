#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bench/scenario.h"
#include "outbox/enqueue.h"
#include "outbox/relay.h"
#include "store/backend.h"

namespace outbox::bench {
namespace {

using base::StrCat;
using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

constexpr int kEventsPerSecond = 500;
constexpr std::chrono::seconds kWarmUp{1};
constexpr std::chrono::seconds kMeasured{10};
constexpr std::chrono::seconds kMeasuredQuick{4};
constexpr std::chrono::seconds kArrivalTimeout{20};
constexpr std::chrono::seconds kConnectTimeout{10};
// Enough of them that a slow commit does not hold back the next event.
constexpr std::size_t kProducersPostgres = 4;
// There is one writer at a time anyway.
constexpr std::size_t kProducersSqlite = 1;

// What happened to each event. The producers write `committing`, the sink writes `arrived`.
struct Timeline {
  explicit Timeline(std::size_t events) : scheduled(events), committing(events), arrived(events) {}

  std::vector<TimePoint> scheduled;
  std::vector<TimePoint> committing;  // just before COMMIT was sent: cautious, never too late
  std::vector<TimePoint> arrived;
};

// Notes when each event arrives; the event's number is its key.
class ArrivalSink final : public Sink {
 public:
  explicit ArrivalSink(Timeline& timeline) : timeline_(timeline) {}

  std::string_view name() const noexcept override { return "arrivals"; }
  Status Open(Deadline) override { return Status::Ok(); }

  void Publish(std::span<const Message> batch, std::span<Status> results, Deadline) override {
    const TimePoint now = steady_clock::now();
    for (const Message& message : batch) {
      std::size_t event = 0;
      std::from_chars(message.key.data(), message.key.data() + message.key.size(), event);
      if (event < timeline_.arrived.size()) timeline_.arrived[event] = now;
    }
    std::fill(results.begin(), results.end(), Status::Ok());
    const std::lock_guard lock(mutex_);
    count_ += batch.size();
    if (count_ >= timeline_.arrived.size()) all_.notify_all();
  }

  bool WaitForAll() {
    std::unique_lock lock(mutex_);
    return all_.wait_for(lock, kArrivalTimeout, [&] { return count_ >= timeline_.arrived.size(); });
  }

 private:
  Timeline& timeline_;
  std::mutex mutex_;
  std::condition_variable all_;
  std::size_t count_ = 0;
};

// Commits every `step`-th event from `first` on, each at its own time whatever became of the
// others.
Status Produce(store::Session& session, const std::string& table, Timeline& timeline,
               std::size_t first, std::size_t step) {
  for (std::size_t event = first; event < timeline.scheduled.size(); event += step) {
    std::this_thread::sleep_until(timeline.scheduled[event]);
    OUTBOX_RETURN_IF_ERROR(session.Begin());
    const NewMessage message{.topic = "orders.order.created.v1",
                             .payload = StrCat(R"({"note":")", std::string(320, 'x'), "\"}"),
                             .key = std::to_string(event)};
    OUTBOX_RETURN_IF_ERROR(Enqueue(session.executor(), table, message).error());
    timeline.committing[event] = steady_clock::now();
    OUTBOX_RETURN_IF_ERROR(session.Commit());
  }
  return Status::Ok();
}

Status ProduceAll(Scratch& scratch, std::size_t producers, Timeline& timeline) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, store::OpenBackend(scratch.address()));
  std::vector<std::unique_ptr<store::Session>> sessions;
  for (std::size_t i = 0; i < producers; ++i) {
    OUTBOX_ASSIGN_OR_RETURN(auto session, backend->OpenSession(Deadline::After(kConnectTimeout)));
    sessions.push_back(std::move(session));
  }
  const TimePoint start = steady_clock::now() + std::chrono::milliseconds(50);
  for (std::size_t event = 0; event < timeline.scheduled.size(); ++event) {
    timeline.scheduled[event] =
        start + event * std::chrono::microseconds(std::chrono::seconds(1)) / kEventsPerSecond;
  }
  std::vector<Status> results(producers);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < producers; ++i) {
    threads.emplace_back(
        [&, i] { results[i] = Produce(*sessions[i], scratch.table(), timeline, i, producers); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) OUTBOX_RETURN_IF_ERROR(std::move(result));
  return Status::Ok();
}

struct Percentiles {
  double p50 = 0, p99 = 0, max = 0;
  double scheduled_p99 = 0;  // from the moment the event was due, its own transaction included
};

Percentiles Evaluate(const Timeline& timeline) {
  const auto ms = [](auto duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  };
  std::vector<double> from_commit, from_schedule;
  for (std::size_t i = kEventsPerSecond * kWarmUp.count(); i < timeline.arrived.size(); ++i) {
    from_commit.push_back(ms(timeline.arrived[i] - timeline.committing[i]));
    from_schedule.push_back(ms(timeline.arrived[i] - timeline.scheduled[i]));
  }
  return {.p50 = Percentile(from_commit, 0.5),
          .p99 = Percentile(from_commit, 0.99),
          .max = from_commit.back(),
          .scheduled_p99 = Percentile(from_schedule, 0.99)};
}

Result<Percentiles> Measure(Run& run, Scratch& scratch, bool listen) {
  const auto measured = kWarmUp + (run.options().quick ? kMeasuredQuick : kMeasured);
  Timeline timeline(static_cast<std::size_t>(measured.count()) * kEventsPerSecond);
  const auto sink = std::make_shared<ArrivalSink>(timeline);
  OUTBOX_RETURN_IF_ERROR(scratch.Fill(0));
  RelayOptions options{.table = scratch.table()};
  options.listen = listen;
  OUTBOX_ASSIGN_OR_RETURN(const auto relay, Relay::Start(scratch.address(), options, sink));
  const bool postgres = &scratch == run.postgres();
  Status produced = ProduceAll(scratch, postgres ? kProducersPostgres : kProducersSqlite, timeline);
  const bool complete = produced.ok() && sink->WaitForAll();
  OUTBOX_RETURN_IF_ERROR(relay->Stop());
  OUTBOX_RETURN_IF_ERROR(std::move(produced));
  if (!complete) return Status::Retry(Code::kDeadline, "not all events arrived in time");
  return Evaluate(timeline);
}

struct Variant {
  Scratch* scratch;
  bool listen;
  const char* name;
  std::optional<Bar> p50, p99;
  std::vector<Percentiles> rounds = {};
};

void AddFigures(Run& run, const Variant& variant) {
  const auto add = [&](const char* what, double Percentiles::*member, std::optional<Bar> bar) {
    Figure figure{.scenario = StrCat("latency at ", kEventsPerSecond, " events/s"),
                  .store = std::string(variant.scratch->store()),
                  .what = StrCat(variant.name, ", ", what),
                  .unit = "ms",
                  .bar = bar};
    for (const Percentiles& round : variant.rounds) figure.rounds.push_back(round.*member);
    run.Add(std::move(figure));
  };
  add("commit to sink, p50", &Percentiles::p50, variant.p50);
  add("commit to sink, p99", &Percentiles::p99, variant.p99);
  add("commit to sink, longest", &Percentiles::max, std::nullopt);
  add("due to sink, p99", &Percentiles::scheduled_p99, std::nullopt);
}

}  // namespace

Status Latency(Run& run) {
  std::vector<Variant> variants;
  if (run.postgres() != nullptr) {
    variants.push_back({run.postgres(), false, "polling", Bar::AtMost(15), Bar::AtMost(60)});
    variants.push_back({run.postgres(), true, "wake-up", Bar::AtMost(5), std::nullopt});
  }
  if (run.sqlite() != nullptr) {
    variants.push_back({run.sqlite(), false, "wake-up", std::nullopt, std::nullopt});
  }
  for (int round = 0; round < run.rounds(); ++round) {
    for (Variant& variant : variants) {
      OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
      OUTBOX_RETURN_IF_ERROR(variant.scratch->SetNotify(variant.listen));
      auto measured = Measure(run, *variant.scratch, variant.listen);
      OUTBOX_RETURN_IF_ERROR(variant.scratch->SetNotify(false));
      if (!measured.ok()) return measured.error();
      variant.rounds.push_back(*measured);
      run.Progress(StrCat("latency, ", variant.scratch->store(), ", ", variant.name, ": p50 ",
                          FormatNumber(measured->p50), " ms, p99 ", FormatNumber(measured->p99),
                          " ms"));
    }
  }
  for (const Variant& variant : variants) AddFigures(run, variant);
  return Status::Ok();
}

}  // namespace outbox::bench
