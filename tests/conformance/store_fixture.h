// The store conformance suite: what every backend must do, whatever its database. The suites are
// compiled once (relay_store_suite.cc, operator_store_suite.cc) and linked by one binary per
// backend, which defines StoreUnderTest. This is what they need of it: one fresh table, and ways to
// fill and look at it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "store/backend.h"
#include "store/relay_store.h"
#include "tests/support/matchers.h"

namespace outbox::conformance {

using namespace std::chrono_literals;
using Kind = store::Outcome::Kind;

// Long enough for a slow machine under a sanitizer.
inline constexpr std::chrono::seconds kPatience{30};

inline Deadline Soon() { return Deadline::After(kPatience); }

// Waits until `condition` holds; false when it never did.
template <typename Condition>
bool Eventually(Condition&& condition) {
  const Deadline deadline = Soon();
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

// One fresh, empty table. Removed with the fixture.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;

  // All in one transaction. Returns their ids in order.
  virtual std::vector<Uuid> Enqueue(const std::vector<NewMessage>& messages) = 0;
  // Fills in the table's name.
  virtual Result<std::unique_ptr<store::RelayStore>> OpenRelay(
      store::RelayStoreOptions options) = 0;
  virtual Result<std::unique_ptr<store::InspectStore>> OpenInspect() = 0;
  virtual std::unique_ptr<store::ControlStore> OpenControl() = 0;
  virtual std::optional<store::StoredMessage> Find(const Uuid& id) = 0;

  // Null for stores that are no database.
  virtual store::Backend* backend() { return nullptr; }
  virtual std::string table() const = 0;
};

struct StoreParam {
  std::string name;
  std::function<std::unique_ptr<StoreFixture>()> make;
  // Why the suite can not run here, for instance for want of a server; empty when it can.
  std::function<std::string()> unavailable = [] { return std::string(); };
  // False for stores without migrator and sessions, which know no tables beside their own.
  bool is_database = true;
};

// The backend of this binary.
StoreParam StoreUnderTest();

inline std::string StoreParamName(const ::testing::TestParamInfo<StoreParam>& info) {
  return info.param.name;
}

inline std::vector<StoreParam> DatabaseUnderTest() {
  const StoreParam store = StoreUnderTest();
  return store.is_database ? std::vector{store} : std::vector<StoreParam>{};
}

// A table of a real database, made by its migrator.
class BackendFixture : public StoreFixture {
 public:
  BackendFixture(std::unique_ptr<store::Backend> backend, std::string table)
      : backend_(std::move(backend)), table_(std::move(table)) {
    migrator_ = Take(backend_->OpenMigrator(Soon()));
    EXPECT_OK(migrator_->Up({.table = table_, .notify = true}, Soon()));
    session_ = Take(backend_->OpenSession(Soon()));
    inspect_ = Take(backend_->OpenInspect(table_, Soon()));
  }

  ~BackendFixture() override {
    session_.reset();
    inspect_.reset();
    EXPECT_OK(migrator_->Down({.table = table_, .discard_undelivered = true}, Soon()));
  }

  std::vector<Uuid> Enqueue(const std::vector<NewMessage>& messages) override {
    EXPECT_OK(session_->Begin());
    const auto enqueued = EnqueueMany(session_->executor(), table_, messages);
    EXPECT_OK(enqueued);
    EXPECT_OK(session_->Commit());
    std::vector<Uuid> ids;
    for (const Enqueued& one : *enqueued) ids.push_back(one.id);
    return ids;
  }

  Result<std::unique_ptr<store::RelayStore>> OpenRelay(store::RelayStoreOptions options) override {
    options.table = table_;
    return backend_->OpenRelay(options, Soon());
  }

  Result<std::unique_ptr<store::InspectStore>> OpenInspect() override {
    return backend_->OpenInspect(table_, Soon());
  }

  std::unique_ptr<store::ControlStore> OpenControl() override { return backend_->OpenControl(); }

  std::optional<store::StoredMessage> Find(const Uuid& id) override {
    auto found = inspect_->Get(store::Scope::All(), id, Soon());
    EXPECT_OK(found);
    return found.ok() ? *found : std::nullopt;
  }

  store::Backend* backend() override { return backend_.get(); }
  std::string table() const override { return table_; }

 private:
  template <typename T>
  static T Take(Result<T> result) {
    EXPECT_OK(result);
    return std::move(result).value();
  }

  std::unique_ptr<store::Backend> backend_;
  std::string table_;
  std::unique_ptr<store::Migrator> migrator_;
  std::unique_ptr<store::Session> session_;
  std::unique_ptr<store::InspectStore> inspect_;
};

// The fixture of every suite: shorthands over a StoreFixture.
class StoreSuite : public ::testing::TestWithParam<StoreParam> {
 protected:
  void SetUp() override {
    const std::string unavailable = GetParam().unavailable();
    if (unavailable.empty()) {
      fixture_ = GetParam().make();
    } else if (std::getenv("CI") != nullptr) {
      FAIL() << unavailable;
    } else {
      GTEST_SKIP() << unavailable;
    }
  }

  StoreFixture& fixture() { return *fixture_; }

  static NewMessage Event(std::string payload = "{}") {
    return {.topic = "orders.order.created.v1", .payload = std::move(payload)};
  }

  Uuid Enqueue(const NewMessage& message) { return fixture().Enqueue({message}).front(); }

  // `count` messages whose payloads are 0, 1, 2 …
  std::vector<Uuid> EnqueueNumbered(int count) {
    std::vector<NewMessage> messages;
    for (int i = 0; i < count; ++i) messages.push_back(Event(std::to_string(i)));
    return fixture().Enqueue(messages);
  }

  std::unique_ptr<store::RelayStore> OpenRelay(store::RelayStoreOptions options = {}) {
    if (options.relay_id.empty()) options.relay_id = "relay";
    auto opened = fixture().OpenRelay(std::move(options));
    EXPECT_OK(opened);
    return std::move(opened).value();
  }

  std::unique_ptr<store::RelayStore> OpenTransactionRelay() {
    return OpenRelay({.claim_mode = ClaimMode::kTransaction});
  }

  static std::unique_ptr<store::Claim> Next(store::RelayStore& relay, std::size_t limit = 100,
                                            std::chrono::milliseconds lease = 60s,
                                            std::optional<int> attempts_max = {}) {
    auto claim = relay.Next({.limit = limit, .lease = lease, .attempts_max = attempts_max}, Soon());
    EXPECT_OK(claim);
    return std::move(claim).value();
  }

  // Waits for a claim that holds something or has buried something.
  static std::unique_ptr<store::Claim> NextFound(store::RelayStore& relay,
                                                 std::optional<int> attempts_max = {},
                                                 std::chrono::milliseconds lease = 60s) {
    std::unique_ptr<store::Claim> claim;
    EXPECT_TRUE(Eventually([&] {
      claim = Next(relay, 100, lease, attempts_max);
      return !claim->messages().empty() || !claim->exhausted().empty();
    }));
    return claim;
  }

  static std::vector<std::uint32_t> Settle(store::Claim& claim,
                                           const std::vector<store::Outcome>& outcomes) {
    const auto report = claim.Settle(outcomes, Soon());
    EXPECT_OK(report);
    return report.ok() ? report->lost : std::vector<std::uint32_t>{};
  }

  // Settles every message of the claim the same way.
  static std::vector<std::uint32_t> SettleAll(store::Claim& claim, Kind kind) {
    std::vector<store::Outcome> outcomes;
    for (std::uint32_t i = 0; i < claim.messages().size(); ++i) {
      outcomes.push_back({.index = i, .kind = kind, .error = "failed"});
    }
    return Settle(claim, outcomes);
  }

  static std::vector<std::string> Payloads(std::span<const Message> messages) {
    std::vector<std::string> payloads;
    for (const Message& message : messages) payloads.push_back(message.payload);
    return payloads;
  }

  store::StoredMessage Row(const Uuid& id) {
    auto row = fixture().Find(id);
    EXPECT_TRUE(row.has_value()) << id.ToString();
    return row.value_or(store::StoredMessage{});
  }

  MessageStatus StatusOf(const Uuid& id) { return Row(id).status; }

 private:
  std::unique_ptr<StoreFixture> fixture_;
};

}  // namespace outbox::conformance
