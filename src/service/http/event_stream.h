// EventStream: server-sent events to one listener.
//
// A handler makes one, gives it to whoever produces events, and returns it in its Response. Events
// wait in a buffer of bounded size until the connection takes them; a listener that does not keep
// up is dropped rather than waited for. While nothing happens a comment is sent now and then, so
// that proxies and both ends notice a dead connection.
//
// Threads: any number at once. Nothing here blocks but for a short lock. The server holds the
// stream as long as the listener is connected.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace outbox::service {

struct EventStreamOptions {
  std::size_t buffer_bytes_max = 256 * 1024;
  std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
};

// One event as text: "id: 7\nevent: counters\ndata: {…}\n\n". `event` and `id` are cut at their
// first control character.
std::string FormatEvent(std::string_view event, std::string_view json, std::string_view id = {});

class EventStream {
 public:
  explicit EventStream(EventStreamOptions options = {}) : options_(options) {}
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // False when the listener has gone, is closed, or was dropped just now for being slow.
  bool Send(std::string_view event, std::string_view json, std::string_view id = {}) {
    return SendText(FormatEvent(event, json, id));
  }
  // What FormatEvent made, for many listeners at once.
  bool SendText(std::string_view text);

  // Ends it once what has been sent is written.
  void Close();

  // The listener can not be reached any more: it left, was dropped, or has been closed.
  bool gone() const;
  // Called once when its connection has ended, on an I/O thread; at once if it has already. Must
  // not block.
  void OnGone(std::function<void()> callback);

  const EventStreamOptions& options() const noexcept { return options_; }

  // The rest is the connection's.

  struct Taken {
    std::string text;
    bool closed = false;   // nothing comes after `text`
    bool dropped = false;  // for being slow
  };
  // `wake` is called when there is something to take, at most once until the next Take, and when
  // the listener is dropped. It only hands the news on.
  void Attach(std::function<void()> wake);
  Taken Take();
  bool dropped() const;
  // The connection has ended.
  void Detach();

 private:
  // REQUIRES: mutex_ is held, so that `wake_` is never called after Detach.
  void Wake();

  const EventStreamOptions options_;

  mutable std::mutex mutex_;
  std::string buffer_;
  std::function<void()> wake_;
  std::function<void()> on_gone_;
  bool awake_ = false;
  bool closed_ = false;
  bool dropped_ = false;
  bool gone_ = false;
};

}  // namespace outbox::service
