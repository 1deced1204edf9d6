#include "store/postgres/work_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "sql/postgres.h"
#include "store/postgres/connection.h"
#include "store/postgres/fnv.h"

namespace outbox::store::postgres {
namespace {

constexpr std::chrono::seconds kSelfTestWait{2};
constexpr std::chrono::seconds kConnectWait{10};
constexpr std::chrono::milliseconds kReconnectMin{100};
constexpr std::chrono::milliseconds kReconnectMax{std::chrono::seconds(10)};
// A connection that died silently is found by asking once in a while.
constexpr std::chrono::seconds kProbeEvery{30};

Status Listen(Connection& connection, const std::string& channel, Deadline deadline) {
  return connection.Run(base::StrCat("LISTEN \"", channel, "\""), deadline);
}

class WorkWatch final : public Watch {
 public:
  WorkWatch(std::unique_ptr<Connection> connection, std::string channel,
            std::function<void()> on_work)
      : connection_(std::move(connection)),
        channel_(std::move(channel)),
        on_work_(std::move(on_work)),
        stop_(eventfd(0, EFD_CLOEXEC)) {
    OUTBOX_CHECK(stop_ >= 0);
    thread_ = std::thread([this] { Loop(); });
  }

  ~WorkWatch() override {
    const std::uint64_t one = 1;
    OUTBOX_CHECK(write(stop_, &one, sizeof one) == sizeof one);
    thread_.join();
    close(stop_);
  }

 private:
  // True when asked to stop.
  bool Wait(std::chrono::milliseconds wait) {
    std::array<pollfd, 2> entries{{{stop_, POLLIN, 0}, {connection_->socket(), POLLIN, 0}}};
    poll(entries.data(), entries.size(), static_cast<int>(wait.count()));
    return entries[0].revents != 0;
  }

  void Loop() {
    while (!Wait(kProbeEvery)) {
      bool work = false;
      while (connection_->NextNotification()) work = true;
      if (!connection_->Healthy() || !Probe()) {
        if (!Reconnect()) return;
        work = true;
      }
      if (work) on_work_();
    }
  }

  bool Probe() {
    const auto now = std::chrono::steady_clock::now();
    if (now - probed_at_ < kProbeEvery) return true;
    probed_at_ = now;
    return connection_->Run("SELECT 1", Deadline::After(kConnectWait)).ok();
  }

  // False when asked to stop.
  bool Reconnect() {
    auto wait = kReconnectMin;
    while (!Listen(*connection_, channel_, Deadline::After(kConnectWait)).ok()) {
      connection_->Close();
      if (Wait(wait / 2 + std::chrono::milliseconds(base::RandomBits() % 50) + wait / 2))
        return false;
      wait = std::min(wait * 2, kReconnectMax);
    }
    return true;
  }

  const std::unique_ptr<Connection> connection_;
  const std::string channel_;
  const std::function<void()> on_work_;
  const int stop_;
  std::chrono::steady_clock::time_point probed_at_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

Status NotArriving(std::string_view reason) {
  return Status::Permanent(Code::kUnavailable, base::StrCat("LISTEN does not work here (", reason,
                                                            "); falling back to polling"))
      .WithHint("give the relay an address that leads to PostgreSQL directly, or turn listen off");
}

// Sends a notification from a second connection and waits until `listener` has it.
Status SelfTest(const std::shared_ptr<const Address>& address, Connection& listener,
                const std::string& channel, Deadline deadline) {
  static const Statement& kNotify = *new Statement(sql::postgres::kNotify);
  const std::string proof = base::StrCat("self-test ", base::RandomBits());
  Connection sender(address, Plans::kFresh);
  Params params;
  params.Text(channel).Text(proof);
  OUTBOX_RETURN_IF_ERROR(sender.Execute(kNotify, params, deadline).error());
  if (sender.pooled()) return NotArriving("a connection pooler stands between");
  const Deadline arrival(std::min(deadline.at(), Deadline::After(kSelfTestWait).at()));
  while (!arrival.passed()) {
    while (const auto payload = listener.NextNotification()) {
      if (*payload == proof) return Status::Ok();
    }
    pollfd entry{listener.socket(), POLLIN, 0};
    if (entry.fd < 0) break;
    poll(&entry, 1, static_cast<int>(arrival.remaining().count()));
  }
  return NotArriving("a test notification did not arrive");
}

}  // namespace

std::string NotifyChannel(const message::TableName& table) {
  return "outbox_" + FnvHex(table.Display());
}

Result<std::unique_ptr<Watch>> StartWorkWatch(const std::shared_ptr<const Address>& address,
                                              const message::TableName& table,
                                              std::function<void()> on_work, Deadline deadline) {
  const std::string channel = NotifyChannel(table);
  auto listener = std::make_unique<Connection>(address, Plans::kFresh);
  OUTBOX_RETURN_IF_ERROR(Listen(*listener, channel, deadline));
  OUTBOX_RETURN_IF_ERROR(SelfTest(address, *listener, channel, deadline));
  return {std::make_unique<WorkWatch>(std::move(listener), channel, std::move(on_work))};
}

}  // namespace outbox::store::postgres
