#include "service/http/server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.h"
#include "service/http/asio.h"
#include "service/http/core.h"
#include "service/http/listener.h"

namespace outbox::service {
namespace {

// Of the time to stop, what is kept for cutting off.
constexpr std::chrono::milliseconds kCutOffTime{500};
constexpr std::chrono::milliseconds kCutOffPause{20};
// How long connections may take to notice that they were cut off, before that is a bug.
constexpr std::chrono::seconds kCutOffPatience{60};

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, std::shared_ptr<RequestObserver> observer)
      : core_(std::make_shared<Core>(std::move(options), std::move(observer))),
        work_(asio::make_work_guard(io_)) {}

  ~Impl() {
    (void)Stop(Deadline::After({}));
    CutOff(Deadline::After(kCutOffPatience));
    OUTBOX_CHECK(core_->connections.count() == 0);
    // Handlers post to io_ when they return.
    (void)core_->workers.Stop(Deadline::After(std::chrono::hours(24)));
    (void)core_->apart.Stop(Deadline::After(std::chrono::hours(24)));
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  Status Open(const std::vector<ListenerOptions>& options) {
    if (options.empty()) return Status::Invalid("there is no address to listen at");
    for (const ListenerOptions& listener : options) {
      OUTBOX_CHECK(listener.router != nullptr);
      OUTBOX_ASSIGN_OR_RETURN(auto opened, Listener::Open(io_, core_, listener));
      listeners_.push_back(std::move(opened));
    }
    return Status::Ok();
  }

  void Start() {
    for (const auto& listener : listeners_) listener->Start();
    for (std::size_t i = 0; i < core_->options.io_threads; ++i) {
      threads_.emplace_back([this] { Run(); });
    }
  }

  Status Stop(Deadline deadline) {
    core_->stopping = true;
    for (const auto& listener : listeners_) listener->Close();
    core_->connections.BeginStop();
    const auto kept = std::min(kCutOffTime, deadline.remaining() / 4);
    const bool in_time = core_->connections.WaitUntilNone(Deadline(deadline.at() - kept));
    if (!in_time) CutOff(deadline);
    bool idle = core_->workers.Stop(deadline);
    idle = core_->apart.Stop(deadline) && idle;
    if (in_time && idle) return Status::Ok();
    return Status::Retry(Code::kDeadline,
                         "the HTTP server had to cut off requests to stop in time");
  }

  const std::vector<std::shared_ptr<Listener>>& listeners() const { return listeners_; }
  const Core& core() const { return *core_; }

 private:
  // Again and again, for those that were just being opened.
  void CutOff(Deadline deadline) {
    do {
      core_->connections.Abort();
    } while (!core_->connections.WaitUntilNone(Deadline::After(kCutOffPause)) &&
             !deadline.passed());
  }

  void Run() {
    while (true) {
      try {
        io_.run();
        return;
      } catch (...) {  // out of memory, and no coroutine of a connection to catch it
      }
    }
  }

  asio::io_context io_;
  const std::shared_ptr<Core> core_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<std::thread> threads_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options,
                                              const std::vector<ListenerOptions>& listeners,
                                              std::shared_ptr<RequestObserver> observer) {
  OUTBOX_RETURN_IF_ERROR(Validate(options));
  try {
    auto impl = std::make_unique<Impl>(std::move(options), std::move(observer));
    OUTBOX_RETURN_IF_ERROR(impl->Open(listeners));
    impl->Start();
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  } catch (const std::exception&) {
    return Status::Retry(Code::kUnavailable, "the HTTP server can not start its threads");
  }
}

std::vector<ListenAddress> Server::addresses() const {
  std::vector<ListenAddress> addresses;
  for (const auto& listener : impl_->listeners()) addresses.push_back(listener->address());
  return addresses;
}

ServerCounts Server::counts() const {
  const Core& core = impl_->core();
  return {.connections = core.connections.count(),
          .displaced = core.connections.displaced(),
          .refused = core.connections.refused(),
          .queued = core.workers.queued()};
}

Status Server::ReloadTls() {
  for (const auto& listener : impl_->listeners()) OUTBOX_RETURN_IF_ERROR(listener->ReloadTls());
  return Status::Ok();
}

Status Server::Stop(Deadline deadline) { return impl_->Stop(deadline); }

}  // namespace outbox::service
