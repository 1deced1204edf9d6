#include "service/http/event_hub.h"

#include <utility>

namespace outbox::service {

Result<std::shared_ptr<EventStream>> EventHub::Add() {
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream->gone(); });
  if (streams_.size() >= listeners_max_) {
    return Status::Retry(Code::kUnavailable, "there are as many listeners as there may be");
  }
  streams_.push_back(std::make_shared<EventStream>(options_));
  return streams_.back();
}

void EventHub::Send(std::string_view event, std::string_view json, std::string_view id) {
  const std::string text = FormatEvent(event, json, id);
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [&](const auto& stream) { return !stream->SendText(text); });
}

void EventHub::Close() {
  std::vector<std::shared_ptr<EventStream>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams.swap(streams_);
  }
  for (const auto& stream : streams) stream->Close();
}

std::size_t EventHub::listeners() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& stream : streams_) count += stream->gone() ? 0 : 1;
  return count;
}

}  // namespace outbox::service
