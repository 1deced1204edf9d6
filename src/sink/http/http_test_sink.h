// What the tests of the http: sink share: a sink, messages, and one call.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "outbox/sink.h"
#include "sink/http/http_sink.h"
#include "sink/uri.h"

namespace outbox::sink {

inline std::shared_ptr<Sink> SinkAt(const std::string& uri) {
  return MakeHttpSink(SinkUri::Parse(uri).value()).value();
}

inline std::vector<Message> SomeMessages(std::size_t count) {
  std::vector<Message> messages(count);
  for (std::size_t i = 0; i < count; ++i) {
    messages[i].id = Uuid::NewV7();
    messages[i].seq = static_cast<std::int64_t>(i) + 1;
    messages[i].table = "public.orders_outbox";
    messages[i].topic = "orders.order.created.v1";
    messages[i].payload = "{}";
    messages[i].attempt = 1;
  }
  return messages;
}

// In calls as large and as many at a time as the sink takes, as the relay does it.
inline std::vector<Status> PublishAll(
    Sink& sink, const std::vector<Message>& messages,
    std::chrono::milliseconds patience = std::chrono::seconds(30)) {
  std::vector<Status> results(messages.size(), Status::NotAttempted());
  const Deadline deadline = Deadline::After(patience);
  const std::size_t step = sink.traits().batch_max;
  std::atomic<std::size_t> next = 0;
  const auto publish = [&] {
    for (std::size_t first = 0; (first = next.fetch_add(step)) < messages.size();) {
      const std::size_t count = std::min(step, messages.size() - first);
      sink.Publish(std::span(messages).subspan(first, count),
                   std::span(results).subspan(first, count), deadline);
    }
  };
  std::vector<std::future<void>> calls;
  for (std::size_t i = 1; i < sink.traits().concurrency && i * step < messages.size(); ++i) {
    calls.push_back(std::async(std::launch::async, publish));
  }
  publish();
  for (auto& call : calls) call.get();
  return results;
}

inline Status PublishOne(Sink& sink,
                         std::chrono::milliseconds patience = std::chrono::seconds(30)) {
  return PublishAll(sink, SomeMessages(1), patience)[0];
}

}  // namespace outbox::sink
