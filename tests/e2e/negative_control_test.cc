// Negative controls: relays that are wrong on purpose. The ledger must convict each of them, or the
// fault tests that acquit outboxd prove nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "base/text.h"
#include "relay/engine.h"
#include "store/backend.h"
#include "tests/e2e/support/ledger.h"
#include "tests/e2e/support/producer.h"
#include "tests/e2e/support/sql.h"
#include "tests/e2e/support/stage.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBatch = 20;

Deadline Soon() { return Deadline::After(seconds(30)); }

// What is done to a claim behind the relay's back.
enum class Fault {
  kNone,
  kAcksBeforePublish,  // settles as delivered what has only been claimed
  kLeasesNothing,      // gives the rows back at once, and publishes them all the same
  kForgetsAcks,        // publishes, and never tells the database
};

class WrongClaim final : public store::Claim {
 public:
  WrongClaim(std::unique_ptr<store::Claim> claim, Fault fault)
      : claim_(std::move(claim)), fault_(fault) {
    using Kind = store::Outcome::Kind;
    if (fault_ == Fault::kAcksBeforePublish) SettleAll(Kind::kDelivered);
    if (fault_ == Fault::kLeasesNothing) SettleAll(Kind::kReleased);
  }

  std::span<const Message> messages() const override { return claim_->messages(); }
  Result<store::SettleReport> Settle(std::span<const store::Outcome> outcomes,
                                     Deadline deadline) override {
    if (fault_ == Fault::kNone) return claim_->Settle(outcomes, deadline);
    if (fault_ == Fault::kForgetsAcks) SettleAll(store::Outcome::Kind::kReleased);
    return store::SettleReport{};
  }
  Result<std::vector<std::uint32_t>> Extend(milliseconds lease, Deadline deadline) override {
    if (fault_ == Fault::kNone) return claim_->Extend(lease, deadline);
    return std::vector<std::uint32_t>{};
  }

 private:
  void SettleAll(store::Outcome::Kind kind) {
    std::vector<store::Outcome> outcomes;
    for (std::uint32_t i = 0; i < claim_->messages().size(); ++i) {
      outcomes.push_back({.index = i, .kind = kind});
    }
    if (outcomes.empty()) return;
    EXPECT_OK(claim_->Settle(outcomes, Soon()));
  }

  const std::unique_ptr<store::Claim> claim_;
  const Fault fault_;
};

class WrongStore final : public store::RelayStore {
 public:
  WrongStore(std::unique_ptr<store::RelayStore> store, Fault fault)
      : store_(std::move(store)), fault_(fault) {}

  store::RelayStoreTraits traits() const noexcept override { return store_->traits(); }
  Result<std::unique_ptr<store::Claim>> Next(const store::ClaimRequest& request,
                                             Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(auto claim, store_->Next(request, deadline));
    return std::unique_ptr<store::Claim>(std::make_unique<WrongClaim>(std::move(claim), fault_));
  }
  Result<store::Leadership> TryLead(Deadline deadline) override {
    return store_->TryLead(deadline);
  }
  void StopLeading() noexcept override { store_->StopLeading(); }
  Result<bool> Drained(Deadline deadline) override { return store_->Drained(deadline); }
  Result<std::unique_ptr<store::Watch>> WatchForWork(std::function<void()> on_work,
                                                     Deadline deadline) override {
    return store_->WatchForWork(std::move(on_work), deadline);
  }

 private:
  const std::unique_ptr<store::RelayStore> store_;
  const Fault fault_;
};

class NegativeControl : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/outbox-control.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    url_ = StrCat("sqlite:", folder_, "/shop.db");
    backend_ = std::move(*store::OpenBackend(url_));
    ASSERT_OK((*backend_->OpenMigrator(Soon()))->Up({.table = std::string(kTable)}, Soon()));
    sql_ = SqlConnection::Open(url_);
    ASSERT_TRUE(sql_->Execute("CREATE TABLE expected (id text PRIMARY KEY)"));
    ASSERT_TRUE(Produce(*sql_, {}, 30));
    for (std::string& id : sql_->Column("SELECT id FROM expected")) ledger_.Expect(std::move(id));
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // A consumer whose every tenth call fails once; the relay is to try again.
  Status Consume(const Message& message) {
    const std::lock_guard lock(mutex_);
    if (++calls_ % 10 == 0) return Status::Retry(Code::kRejected, "busy, try again");
    ledger_.See(message.id.ToString());
    return Status::Ok();
  }

  std::shared_ptr<relay::Engine> Start(const std::string& name, Fault fault) {
    RelayOptions options;
    options.table = kTable;
    options.batch_size = options.window = kBatch;
    options.poll_min = milliseconds(1);
    options.retry.base = options.retry.cap = milliseconds(10);
    auto store = backend_->OpenRelay({.table = options.table, .relay_id = name}, Soon());
    EXPECT_OK(store);
    return *relay::Engine::Start(
        options, options.table, std::make_unique<WrongStore>(std::move(*store), fault),
        MakeCallbackSink([this](const Message& message, Deadline) { return Consume(message); }, 2),
        nullptr);
  }

  std::size_t Calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  Verdict Judge(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const Verdict verdict = ledger_.Judge();
    PrintVerdict(name, verdict, 1, 0);
    return verdict;
  }

  std::string folder_;
  std::string url_;
  std::unique_ptr<store::Backend> backend_;
  std::unique_ptr<SqlConnection> sql_;
  std::mutex mutex_;
  Ledger ledger_;
  std::size_t calls_ = 0;
};

TEST_F(NegativeControl, TheSameRelayWithoutAFaultIsAcquitted) {
  const auto relay = Start("sound", Fault::kNone);
  ASSERT_OK(relay->Drain(Soon()));
  ASSERT_OK(relay->Stop());
  const Verdict verdict = Judge("sound");
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

TEST_F(NegativeControl, ARelayThatAcksBeforeItPublishesIsConvictedOfLosses) {
  const auto relay = Start("hasty", Fault::kAcksBeforePublish);
  ASSERT_OK(relay->Drain(Soon()));
  ASSERT_OK(relay->Stop());
  EXPECT_GT(Judge("acks before publish").lost, 0u);
}

TEST_F(NegativeControl, RelaysThatLeaseNothingAreConvictedOfDuplicates) {
  const auto one = Start("one", Fault::kLeasesNothing);
  const auto two = Start("two", Fault::kLeasesNothing);
  ASSERT_TRUE(WaitFor([&] { return Calls() > 1000; }));
  ASSERT_OK(one->Stop());
  ASSERT_OK(two->Stop());
  EXPECT_GT(Judge("leases nothing").duplicated, 0u);
}

TEST_F(NegativeControl, ARelayThatForgetsItsAcksIsConvictedOfDuplicates) {
  const auto relay = Start("forgetful", Fault::kForgetsAcks);
  ASSERT_TRUE(WaitFor([&] { return Calls() > 1000; }));
  ASSERT_OK(relay->Stop());
  EXPECT_GT(Judge("forgets acks").duplicated, 0u);
}

TEST_F(NegativeControl, ARelayThatReadsUncommittedEventsIsConvictedOfPhantoms) {
  // The consumer sees an event whose transaction then rolls back.
  const Uuid id = Uuid::NewV7();
  ASSERT_TRUE(sql_->Execute("BEGIN IMMEDIATE"));
  const NewMessage message{.topic = "orders.order.created.v1", .payload = "{}", .id = id};
  ASSERT_OK(sql_->EnqueueMany(kTable, std::span(&message, 1)));
  ledger_.See(id.ToString());
  ASSERT_TRUE(sql_->Execute("ROLLBACK"));
  EXPECT_EQ(Judge("reads uncommitted").phantom, 1u);
}

}  // namespace
}  // namespace outbox::testing
