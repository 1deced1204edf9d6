// EventBus: subscribers inside your process, by topic, with the payload decoded for them.
//
//   template <>
//   struct outbox::EventCodec<OrderCreated> {
//     static Result<OrderCreated> Decode(std::string_view payload);
//   };
//
//   outbox::EventBus bus;
//   auto mails = bus.Subscribe<OrderCreated>("orders.order.created.v1",
//       [](const OrderCreated& event, const outbox::Message& message) { return SendMail(event); });
//   auto audit = bus.Subscribe("orders.#",
//       [](const outbox::Message& message) { return Log(message); });
//   auto relay = outbox::Relay::Start(database, {.table = "orders_outbox"}, bus.AsSink());
//
// A message is delivered when every subscriber of its topic has returned success. If one fails, the
// message is retried and all of them are called again: subscribers must tolerate a repeat.
//
// Thread-safety: every method may be called from any thread, also from inside a subscriber. A
// subscriber runs on the relay's threads, several messages at a time, which is why it must be
// callable when const: a mutable lambda does not compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "outbox/message.h"
#include "outbox/sink.h"
#include "outbox/status.h"

namespace outbox {

// How a payload becomes a T. Specialise it with `static Result<T> Decode(std::string_view)`. A
// failure, or an exception, means that this payload is not a T and never will be.
template <typename T>
struct EventCodec;

// A T whose EventCodec has Decode.
template <typename T>
concept DecodableEvent = std::movable<T> && requires(std::string_view payload) {
  { EventCodec<T>::Decode(payload) } -> std::same_as<Result<T>>;
};

// `Status operator()(const Message&) const`
template <typename F>
concept MessageSubscriber = std::copy_constructible<std::decay_t<F>> &&
    requires(const std::decay_t<F>& subscriber, const Message& message) {
  { subscriber(message) } -> std::same_as<Status>;
};

// `Status operator()(const T&, const Message&) const`
template <typename F, typename T>
concept EventSubscriber = std::copy_constructible<std::decay_t<F>> &&
    requires(const std::decay_t<F>& subscriber, const T& event, const Message& message) {
  { subscriber(event, message) } -> std::same_as<Status>;
};

class EventBus;

// Keeps a subscriber subscribed while it lives. May outlive its bus.
class [[nodiscard]] Subscription {
 public:
  Subscription() noexcept = default;
  Subscription(Subscription&& other) noexcept;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription();

  // Ends the subscription. Waits for calls of the subscriber that run on other threads: when Cancel
  // returns, none runs, and the objects that the subscriber uses may be destroyed. Called inside a
  // subscriber, of any bus, Cancel does not wait: no call begins afterwards, but one that has begun
  // goes on. The destructor does the same.
  void Cancel() noexcept;
  bool active() const noexcept { return id_ != 0; }

 private:
  friend class EventBus;
  struct Bus;
  Subscription(std::weak_ptr<Bus> bus, std::uint64_t id) noexcept : bus_(std::move(bus)), id_(id) {}

  std::weak_ptr<Bus> bus_;
  std::uint64_t id_ = 0;
};

class EventBus {
 public:
  EventBus();
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;

  // Calls `subscriber` with every message whose topic matches: a topic, or a pattern with `*` for
  // a segment or part of one and `#` for any number of segments ("orders.*.created.v*", "#"). A
  // pattern with characters that no topic has matches nothing.
  template <MessageSubscriber F>
  Subscription Subscribe(std::string_view topics, F&& subscriber) {
    return Add(topics, std::forward<F>(subscriber));
  }

  // The same with the payload decoded.
  template <DecodableEvent T, EventSubscriber<T> F>
  Subscription Subscribe(std::string_view topics, F&& subscriber) {
    return Add(topics, [subscriber = std::forward<F>(subscriber)](const Message& message) {
      const Result<T> event = Decode<T>(message);
      return event.ok() ? subscriber(*event, message) : event.error();
    });
  }

  // Calls every subscriber of the message's topic, in the order they subscribed, and returns when
  // all have returned. Fails with
  // - kNotFound, which is retried, if the topic has no subscriber;
  // - the subscriber's failure if one failed; an exception is kInternal, which is retried;
  // - one Status with all texts if several failed. It is permanent only if each of them is, and its
  //   retry_after is the longest of theirs.
  Status Publish(const Message& message) const;

  // Returns a sink that publishes to this bus, up to `concurrency` messages at a time. The sink
  // shares the subscribers with the bus and may outlive it.
  std::shared_ptr<Sink> AsSink(std::size_t concurrency = 8) const;

 private:
  using Subscriber = std::function<Status(const Message&)>;

  Subscription Add(std::string_view topics, Subscriber subscriber);
  static Status NotDecoded(const Message& message, std::string_view why);

  template <typename T>
  static Result<T> Decode(const Message& message) {
    try {
      Result<T> event = EventCodec<T>::Decode(message.payload);
      if (!event.ok()) return NotDecoded(message, event.error().message());
      return event;
    } catch (const std::exception& exception) {
      return NotDecoded(message, exception.what());
    } catch (...) {
      return NotDecoded(message, "the decoder threw something unknown");
    }
  }

  std::shared_ptr<Subscription::Bus> bus_;
};

}  // namespace outbox
