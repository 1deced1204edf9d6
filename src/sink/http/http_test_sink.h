// What the tests of the http: sink share: a sink, messages, and one call.
#pragma once

#include <chrono>
#include <memory>
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

inline std::vector<Status> PublishAll(
    Sink& sink, const std::vector<Message>& messages,
    std::chrono::milliseconds patience = std::chrono::seconds(30)) {
  std::vector<Status> results(messages.size(), Status::NotAttempted());
  sink.Publish(messages, results, Deadline::After(patience));
  return results;
}

inline Status PublishOne(Sink& sink,
                         std::chrono::milliseconds patience = std::chrono::seconds(30)) {
  return PublishAll(sink, SomeMessages(1), patience)[0];
}

}  // namespace outbox::sink
