// Enqueuing over and over on one connection: prepared behind the scenes, and never in the way.
#include <gtest/gtest.h>

#include "outbox/enqueue.h"
#include "store/postgres/postgres_fixture.h"

namespace outbox::enqueue {
namespace {

using store::postgres::PlainConnection;

class PreparedEnqueueTest : public store::postgres::PostgresTest {
 protected:
  // One transaction with one message.
  static Result<Enqueued> Enqueue(PlainConnection& producer) {
    producer.Run("BEGIN");
    auto enqueued = outbox::Enqueue(producer.get(), kTable,
                                    {.topic = "orders.order.created.v1", .payload = "1"});
    producer.Run(enqueued.ok() ? "COMMIT" : "ROLLBACK");
    return enqueued;
  }

  static std::string Prepared(PlainConnection& producer) {
    return producer.Run("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'outbox%'");
  }

  void ExpectWorksAfter(const std::string& command) {
    PlainConnection producer(url_);
    for (int i = 0; i < 5; ++i) ASSERT_OK(Enqueue(producer));
    producer.Run(command);
    for (int i = 0; i < 5; ++i) ASSERT_OK(Enqueue(producer));
    EXPECT_EQ(Prepared(producer), "1");
    EXPECT_EQ(sql_->Run("SELECT count(*) FROM orders_outbox"), "10");
  }
};

TEST_F(PreparedEnqueueTest, ConnectionThatEnqueuesOnceGetsNothingPrepared) {
  PlainConnection producer(url_);
  ASSERT_OK(Enqueue(producer));
  EXPECT_EQ(Prepared(producer), "0");
}

TEST_F(PreparedEnqueueTest, ConnectionThatEnqueuesAgainAndAgainGetsOneStatement) {
  PlainConnection producer(url_);
  for (int i = 0; i < 10; ++i) ASSERT_OK(Enqueue(producer));
  EXPECT_EQ(Prepared(producer), "1");
}

TEST_F(PreparedEnqueueTest, SurvivesDiscardAll) { ExpectWorksAfter("DISCARD ALL"); }

TEST_F(PreparedEnqueueTest, SurvivesDeallocateAll) { ExpectWorksAfter("DEALLOCATE ALL"); }

TEST_F(PreparedEnqueueTest, SurvivesDeallocateAllAmongOtherCommands) {
  ExpectWorksAfter("DEALLOCATE ALL; SELECT 1");
}

TEST_F(PreparedEnqueueTest, SurvivesAResetConnection) {
  PlainConnection producer(url_);
  for (int i = 0; i < 5; ++i) ASSERT_OK(Enqueue(producer));
  PQreset(producer.get());
  for (int i = 0; i < 5; ++i) ASSERT_OK(Enqueue(producer));
  EXPECT_EQ(Prepared(producer), "1");
}

TEST_F(PreparedEnqueueTest, StatementLostUnseenFailsOneTransactionOnly) {
  PlainConnection producer(url_);
  for (int i = 0; i < 5; ++i) ASSERT_OK(Enqueue(producer));
  // Inside a DO block the command's name does not come back.
  producer.Run("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
  const auto lost = Enqueue(producer);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().disposition(), Disposition::kRetry);
  for (int i = 0; i < 5; ++i) ASSERT_OK(Enqueue(producer));
}

TEST_F(PreparedEnqueueTest, TableDroppedMeanwhileIsNamedAsMissing) {
  PlainConnection producer(url_);
  for (int i = 0; i < 5; ++i) ASSERT_OK(Enqueue(producer));
  sql_->Run("DROP TABLE orders_outbox");
  EXPECT_THAT(Enqueue(producer), HasCode(Code::kNotFound));
}

}  // namespace
}  // namespace outbox::enqueue
