#include "sink/nats/connector.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "base/detached_thread.h"
#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

// Addresses that come and go must not add up to threads without end.
constexpr std::size_t kLateMax = 16;

std::atomic<std::size_t> attempts_under_way{0};

Deadline ShareOf(Deadline deadline, std::size_t shares) {
  return Deadline::After(deadline.remaining() / static_cast<long>(shares));
}

}  // namespace

std::size_t NatsAttemptsUnderWay() noexcept { return attempts_under_way; }

// Shared with a thread that may outlive the call that waits for it.
struct NatsConnector::Attempt {
  using Outcome = Result<std::unique_ptr<NatsConnection>>;

  void Run(const NatsOptions& options, const Endpoint& endpoint, const Address& address,
           Deadline deadline) {
    std::optional<Outcome> made = NatsConnection::Open(options, endpoint, address, deadline);
    {
      const std::lock_guard lock(mutex);
      done = true;
      if (!late) outcome.swap(made);
      changed.notify_all();
    }
    made.reset();
    nats_ReleaseThreadMemory();
  }
  // None when it is late.
  std::optional<Outcome> Await(Deadline deadline) {
    std::unique_lock lock(mutex);
    late = !changed.wait_until(lock, deadline.at(), [&] { return done; });
    return std::exchange(outcome, std::nullopt);
  }
  bool Done() {
    const std::lock_guard lock(mutex);
    return done;
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool late = false;  // nobody waits for it any more
  std::optional<Outcome> outcome;
};

Result<std::shared_ptr<NatsConnection>> NatsConnector::Connect(Deadline deadline) {
  std::erase_if(late_, [](const auto& late) { return late.second->Done(); });
  Status last;
  std::size_t left = options_->endpoints.size();
  for (const Endpoint& endpoint : options_->endpoints) {
    const Deadline share = ShareOf(deadline, left--);
    // The client would resolve without a deadline.
    const auto addresses = Resolve(endpoint, share);
    last = addresses.error();
    for (std::size_t i = 0; addresses.ok() && i < addresses->size(); ++i) {
      auto made = Try(endpoint, (*addresses)[i], ShareOf(share, addresses->size() - i));
      if (made.ok()) return made;
      last = made.error();
    }
  }
  return last;
}

Result<std::shared_ptr<NatsConnection>> NatsConnector::Try(const Endpoint& endpoint,
                                                           const Address& address,
                                                           Deadline deadline) {
  const std::string name = StrCat(endpoint.ToString(), " ", address.ToString());
  if (late_.contains(name) || late_.size() >= kLateMax) {
    return Status::SinkDown(
        StrCat("nats ", endpoint.ToString(), ": an earlier attempt to connect still hangs"));
  }
  const auto attempt = std::make_shared<Attempt>();
  try {
    ++attempts_under_way;
    base::Detach([made = std::shared_ptr(attempt), options = std::shared_ptr(options_), endpoint,
                  address, deadline]() mutable {
      made->Run(*options, endpoint, address, deadline);
      made.reset();
      options.reset();
      --attempts_under_way;
    });
  } catch (const std::system_error& error) {
    --attempts_under_way;
    return Status::SinkDown(StrCat("nats ", endpoint.ToString(), ": ", error.what()));
  }
  auto outcome = attempt->Await(deadline);
  if (!outcome) {
    late_.emplace(name, attempt);
    return Status(Code::kDeadline, Disposition::kSinkDown,
                  StrCat("nats ", endpoint.ToString(), ": no connection in time"));
  }
  if (!outcome->ok()) return outcome->error();
  return std::shared_ptr<NatsConnection>(std::move(**outcome));
}

}  // namespace outbox::sink
