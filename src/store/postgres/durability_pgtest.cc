// Which commits of a relay wait for the disk, as the server sees them.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

class DurabilityTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    // At the very end of each transaction, when whatever it sets has been set.
    sql_->Run("CREATE TABLE seen (status text, setting text)");
    sql_->Run(
        "CREATE FUNCTION note_setting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO seen VALUES (NEW.status, current_setting('synchronous_commit'));"
        " RETURN NULL; END $$");
    sql_->Run(
        "CREATE CONSTRAINT TRIGGER note_setting AFTER UPDATE ON orders_outbox"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_setting()");
  }
};

TEST_F(DurabilityTest, ALeaseNeverWaits) {
  Insert(1);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(10));
  ASSERT_EQ(claim->size(), 1U);
  EXPECT_EQ(Value("SELECT setting FROM seen WHERE status = 'processing'"), "off");
}

class AckDurabilityTest : public DurabilityTest,
                          public ::testing::WithParamInterface<std::tuple<ClaimMode, bool>> {};

TEST_P(AckDurabilityTest, AnAckWaitsForTheDiskUnlessToldOtherwise) {
  const auto [mode, async_ack] = GetParam();
  Insert(1);
  const auto store = OpenRelay({.claim_mode = mode, .async_ack = async_ack});
  const auto claim = Next(*store, Batch(10));
  ASSERT_OK(claim->Settle(All(*claim, Outcome::Kind::kDelivered), Soon()));
  EXPECT_EQ(Value("SELECT setting FROM seen WHERE status = 'delivered'"),
            async_ack ? "off" : Value("SHOW synchronous_commit"));
}

INSTANTIATE_TEST_SUITE_P(On, AckDurabilityTest,
                         ::testing::Combine(::testing::Values(ClaimMode::kLease,
                                                              ClaimMode::kTransaction),
                                            ::testing::Bool()),
                         [](const auto& parameter) {
                           return std::string(ToString(std::get<0>(parameter.param))) +
                                  (std::get<1>(parameter.param) ? "_async" : "");
                         });

}  // namespace
}  // namespace outbox::store::postgres
