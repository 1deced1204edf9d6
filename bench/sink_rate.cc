#include <algorithm>
#include <chrono>
#include <vector>

#include "base/text.h"
#include "bench/raw/raw_client.h"
#include "bench/relay_run.h"
#include "bench/scenario.h"
#include "bench/stand_in.h"
#include "sink/registry.h"

namespace outbox::bench {
namespace {

using base::StrCat;
using std::chrono::steady_clock;

// What a relay does without being told, and so the window of the raw client.
const std::size_t kBatch = RelayOptions{}.batch_size;
constexpr double kAgainstRawClient = 0.8;
constexpr std::chrono::seconds kPublishTimeout{30};
// Brokers are slower than nowhere: a quarter of the messages shows their rate.
constexpr std::size_t kPartOfMessages = 4;

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

double PerSecond(std::size_t count, steady_clock::time_point start) {
  const std::chrono::duration<double> took = steady_clock::now() - start;
  return static_cast<double>(count) / took.count();
}

Result<double> RawRate(RawClient& client, const Message& sample, std::size_t count) {
  OUTBOX_RETURN_IF_ERROR(client.Prepare(sample));
  const auto start = steady_clock::now();
  OUTBOX_RETURN_IF_ERROR(client.Send(sample, count, kBatch));
  return PerSecond(count, start);
}

// The sink by itself, in batches as the relay makes them; nothing is taken from a database.
Result<double> SinkAlone(Sink& sink, const Message& sample, std::size_t count) {
  const std::size_t batch = std::min(kBatch, sink.traits().batch_max);
  std::vector<Message> messages(batch, sample);
  std::vector<Status> results(batch);
  OUTBOX_RETURN_IF_ERROR(sink.Open(Deadline::After(kPublishTimeout)));
  const auto start = steady_clock::now();
  for (std::size_t sent = 0; sent < count; sent += batch) {
    for (Message& message : messages) message.id = Uuid::NewV7();
    sink.Publish(messages, results, Deadline::After(kPublishTimeout));
    for (const Status& result : results) OUTBOX_RETURN_IF_ERROR(result);
  }
  const double rate = PerSecond(count, start);
  sink.Close(Deadline::After(kPublishTimeout));
  return rate;
}

// The raw client, the sink alone and the relay with that sink, in turn, each on an empty
// destination.
Status MeasureSink(Run& run, Scratch& scratch, const std::string& given) {
  OUTBOX_ASSIGN_OR_RETURN(const auto stand_in, StartStandIn(given));
  const std::string address = stand_in == nullptr ? given : stand_in->address();
  OUTBOX_ASSIGN_OR_RETURN(const sink::SinkUri uri, sink::SinkUri::Parse(address));
  OUTBOX_ASSIGN_OR_RETURN(const auto raw_client, MakeRawClient(uri));
  OUTBOX_ASSIGN_OR_RETURN(const auto sink, sink::OpenSink(address));
  const Message sample = SampleMessage(scratch);
  const std::size_t count = run.messages() / kPartOfMessages;
  Figure alone{.scenario = "sinks",
               .store = std::string(scratch.store()),
               .what = StrCat(uri.scheme, " sink"),
               .unit = "events/s",
               .against = "raw client",
               .bar = Bar::AtLeast(kAgainstRawClient)};
  Figure relayed = alone;
  relayed.what = StrCat("relay to ", uri.scheme);
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double raw, RawRate(*raw_client, sample, count));
    OUTBOX_RETURN_IF_ERROR(raw_client->Prepare(sample));
    OUTBOX_ASSIGN_OR_RETURN(const double sent, SinkAlone(*sink, sample, count));
    OUTBOX_RETURN_IF_ERROR(raw_client->Prepare(sample));
    OUTBOX_ASSIGN_OR_RETURN(const double relay, RelayRate(scratch, {.batch = kBatch}, count, sink));
    alone.rounds.push_back(sent);
    alone.baseline.push_back(raw);
    relayed.rounds.push_back(relay);
    relayed.baseline.push_back(raw);
    run.Progress(StrCat(uri.scheme, ": relay ", FormatNumber(relay), ", sink alone ",
                        FormatNumber(sent), ", raw client ", FormatNumber(raw)));
  }
  run.Add(std::move(alone));
  run.Add(std::move(relayed));
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
