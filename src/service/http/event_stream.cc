#include "service/http/event_stream.h"

#include <algorithm>
#include <utility>

namespace outbox::service {
namespace {

std::string_view OneLine(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(),
                                [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

void AppendLine(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\n");
}

}  // namespace

std::string FormatEvent(std::string_view event, std::string_view json, std::string_view id) {
  std::string out;
  out.reserve(event.size() + json.size() + id.size() + 32);
  if (!OneLine(id).empty()) AppendLine(out, "id", OneLine(id));
  if (!OneLine(event).empty()) AppendLine(out, "event", OneLine(event));
  // A line break of any kind begins a new line of data.
  while (true) {
    const std::size_t end = json.find_first_of("\r\n");
    AppendLine(out, "data", json.substr(0, end));
    if (end == std::string_view::npos) break;
    json.remove_prefix(end + (json.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  out += '\n';
  return out;
}

bool EventStream::SendText(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (closed_ || gone_) return false;
  if (buffer_.size() + text.size() > options_.buffer_bytes_max) {
    closed_ = dropped_ = true;
    std::string().swap(buffer_);
    Wake();
    return false;
  }
  buffer_ += text;
  Wake();
  return true;
}

void EventStream::Close() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = true;
  Wake();
}

bool EventStream::gone() const {
  const std::lock_guard lock(mutex_);
  return gone_ || closed_;
}

bool EventStream::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void EventStream::OnGone(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) {
      on_gone_ = std::move(callback);
      return;
    }
  }
  callback();
}

void EventStream::Attach(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  awake_ = false;
  if (!buffer_.empty() || closed_) Wake();
}

EventStream::Taken EventStream::Take() {
  const std::lock_guard lock(mutex_);
  awake_ = false;
  return {.text = std::exchange(buffer_, {}), .closed = closed_, .dropped = dropped_};
}

void EventStream::Detach() {
  std::function<void()> on_gone;
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    wake_ = nullptr;
    std::string().swap(buffer_);
    on_gone = std::exchange(on_gone_, nullptr);
  }
  if (on_gone) on_gone();
}

void EventStream::Wake() {
  // Being dropped is told even to a connection that has been woken: it may be stuck in a write.
  if (!wake_ || (awake_ && !dropped_)) return;
  awake_ = true;
  wake_();
}

}  // namespace outbox::service
