// What waits in an order is looked at by the page, and rarely again.
#include "store/sqlite/delivery_scan.h"
#include "store/sqlite/table.h"
#include "store/sqlite/test_database.h"

namespace outbox::store::sqlite {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DeliveryScanTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(table_.Register(*connection_)); }

  // Due deliveries of one key, the first of which is somebody else's for an hour.
  void AddWaiting(int count) {
    Run("INSERT INTO orders_outbox_delivery (seq, destination, order_key, available_at, "
        "locked_until)"
        " WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < " +
        std::to_string(count) +
        ") SELECT seq, 'hook', 'stuck', seq, iif(seq = 1, 9000000000000000, NULL) FROM n");
  }
  void Add(std::int64_t seq, const std::string& key) {
    Run("INSERT INTO orders_outbox_delivery (seq, destination, order_key, available_at) VALUES (" +
        std::to_string(seq) + ", 'hook', " + (key.empty() ? "NULL" : "'" + key + "'") + ", " +
        std::to_string(seq) + ")");
  }
  void Run(const std::string& sql) { ASSERT_OK(connection_->Execute(sql)); }

  std::vector<std::int64_t> Next(bool from_start = false) {
    const ClaimRequest request{.limit = 10, .from_start = from_start};
    auto found = scan_.Next(*connection_, table_, request, keys_, Soon());
    EXPECT_OK(found);
    return std::move(found).value();
  }
  // Until it has looked at everything.
  std::vector<std::int64_t> NextFound() {
    const Deadline end = Soon();
    std::vector<std::int64_t> found;
    while (found.empty() && !end.passed()) found = Next();
    return found;
  }

  TestDatabase database_;
  const std::unique_ptr<Connection> connection_ = database_.Connect();
  const LeaseTable table_{*ParseTable(TestDatabase::kTable),
                          RelayStoreOptions{.destination = "hook"}};
  SettledKeys keys_;
  DeliveryScan scan_;
};

TEST_F(DeliveryScanTest, ALookEndsAtItsPage) {
  AddWaiting(1000);
  const auto looked = table_.Look(*connection_, {.limit = 10, .page = 100});
  ASSERT_OK(looked);
  EXPECT_THAT(looked->seqs, IsEmpty());
  EXPECT_TRUE(looked->waiting);
  EXPECT_FALSE(looked->to_end);
  ASSERT_TRUE(looked->last);
  EXPECT_EQ(looked->last->seq, 101) << "the first is leased";
  const auto rest = table_.Look(*connection_, {.limit = 10, .page = 1000, .after = *looked->last});
  ASSERT_OK(rest);
  EXPECT_TRUE(rest->to_end);
  EXPECT_EQ(rest->last->seq, 1000);
}

TEST_F(DeliveryScanTest, FindsWhatIsFreeBehindWhatWaits) {
  AddWaiting(50'000);
  Add(50'001, "free");
  Add(50'002, "");
  EXPECT_THAT(NextFound(), ElementsAre(50'001, 50'002));
}

TEST_F(DeliveryScanTest, AsksForTheNextOfAKeyThatWasSettled) {
  AddWaiting(50'000);
  Add(50'001, "");
  EXPECT_THAT(NextFound(), ElementsAre(50'001));
  Run("DELETE FROM orders_outbox_delivery WHERE seq = 1");
  keys_.Add("stuck");
  keys_.Add("stuck");
  keys_.Add("unknown");
  EXPECT_THAT(Next(), Contains(2)) << "at once, though it was stepped over";
}

TEST_F(DeliveryScanTest, FindsWhatBecameFreeBehindItByItself) {
  AddWaiting(50'000);
  Add(50'001, "");
  EXPECT_THAT(NextFound(), ElementsAre(50'001));
  Run("DELETE FROM orders_outbox_delivery WHERE seq IN (1, 50001)");
  EXPECT_THAT(NextFound(), ElementsAre(2));
}

TEST_F(DeliveryScanTest, BeginsAtTheStartWhenToldAndWhileNothingWaits) {
  Add(5, "");
  EXPECT_THAT(Next(), ElementsAre(5));
  Add(4, "");
  EXPECT_THAT(Next(), ElementsAre(4, 5)) << "nothing waits";
  Run("DELETE FROM orders_outbox_delivery");
  AddWaiting(100);
  Add(101, "");
  EXPECT_THAT(NextFound(), ElementsAre(101));
  Run("DELETE FROM orders_outbox_delivery WHERE seq = 1");
  EXPECT_THAT(Next(true), Contains(2));
}

}  // namespace
}  // namespace outbox::store::sqlite
