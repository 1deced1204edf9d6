// The cleaner inside `outboxd serve`: removes what is past its retention and touches nothing else.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

class Cleaning : public OnDialect {
 protected:
  static std::string Ago(std::string_view hours) {
    return GetParam() == Dialect::kPostgres
               ? StrCat("now() - interval '", hours, " hours'")
               : StrCat("CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) - ", hours,
                        " * 3600000");
  }
  static std::string Never() { return Pick<std::string>("'infinity'", "9223372036854775807"); }

  // Gives the row at `offset` a history of its own.
  static void Age(Stage& stage, int offset, const std::string& assignments) {
    ASSERT_TRUE(stage.sql().Execute(StrCat("UPDATE ", kTable, " SET ", assignments,
                                           " WHERE seq = (SELECT seq FROM ", kTable,
                                           " ORDER BY seq LIMIT 1 OFFSET ", offset, ")")))
        << stage.sql().error();
  }

  static std::unique_ptr<Process> Serve(const Stage& stage, const std::string& dead_retention) {
    const std::string path = stage.folder() + "/outboxd.toml";
    std::ofstream(path) << "[relay]\ntables = [\"" << kTable
                        << "\"]\nsink = \"file:" << stage.SinkFile("serve") << "?fsync=never\"\n"
                        << "[cleaner]\ninterval = \"100ms\"\nretention = \"2h\"\n"
                        << "dead_retention = \"" << dead_retention << "\"\n"
                        << "audit_retention = \"60d\"\n";
    return Process::Start({OUTBOXD_PATH, "serve", "--config", path},
                          {.environment = {{"OUTBOX_DB", stage.url()}}});
  }

  // Serves with a profile's own retention, unless another is given.
  static std::unique_ptr<Process> ServeProfile(const Stage& stage, const std::string& profile,
                                               const std::string& retention = "") {
    const std::string path = stage.folder() + "/outboxd.toml";
    std::ofstream file(path);
    file << "profile = \"" << profile << "\"\n[relay]\ntables = [\"" << kTable
         << "\"]\nsink = \"file:" << stage.SinkFile("serve") << "?fsync=never\"\n";
    if (profile == "leased") {
      file << "poll_interval = \"1s\"\nbatch_size = 10\nlease = \"3s\"\nmax_attempts = 3\n";
    }
    file << "[cleaner]\ninterval = \"100ms\"\ndead_retention = \"2h\"\n";
    if (!retention.empty()) file << "retention = \"" << retention << "\"\n";
    file.close();
    return Process::Start({OUTBOXD_PATH, "serve", "--config", path},
                          {.environment = {{"OUTBOX_DB", stage.url()}}});
  }

  // Old and recent rows of every state: rows 0 to 5, and 4 that have just been enqueued.
  static void MakeHistory(Stage& stage) {
    ASSERT_TRUE(Produce(stage.sql(), {.rollback_percent = 0}, 1));
    const auto delivered = [&](std::string_view hours) {
      return StrCat("status = 'delivered', attempts = 1, processed_at = ", Ago(hours),
                    ", updated_at = ", Ago(hours));
    };
    const auto dead = [&](std::string_view hours) {
      return StrCat("status = 'dead', available_at = ", Never(), ", updated_at = ", Ago(hours));
    };
    Age(stage, 0, delivered("3"));
    Age(stage, 1, delivered("3000"));
    Age(stage, 2, delivered("1"));
    Age(stage, 3, dead("3"));
    Age(stage, 4, dead("1"));
    // Old, and still waiting: pending rows have no retention.
    Age(stage, 5,
        StrCat("created_at = ", Ago("9000"), ", updated_at = ", Ago("9000"),
               ", available_at = ", Ago("-1000")));
  }

  static std::vector<std::string> States(Stage& stage) {
    return stage.sql().Column(StrCat("SELECT status FROM ", kTable, " ORDER BY seq"));
  }
};
OUTBOX_ON_EVERY_DIALECT(Cleaning);

TEST_P(Cleaning, RemovesOldDeliveredRowsAndKeepsTheRest) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  MakeHistory(*stage);
  const auto serve = Serve(*stage, "0");
  ASSERT_TRUE(WaitFor([&] { return States(*stage).size() == 8 && stage->Count("delivered") == 5; }))
      << serve->Errors();
  EXPECT_EQ(States(*stage),
            (std::vector<std::string>{"delivered", "dead", "dead", "pending", "delivered",
                                      "delivered", "delivered", "delivered"}));
  serve->Signal(SIGTERM);
  EXPECT_EQ(serve->Wait(kPatience), 0) << serve->Errors();
  EXPECT_EQ(States(*stage).size(), 8u) << "removed more than was due";
}

TEST_P(Cleaning, RemovesDeadRowsOnlyWhenTheyHaveARetention) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  MakeHistory(*stage);
  const auto serve = Serve(*stage, "2h");
  ASSERT_TRUE(WaitFor([&] { return States(*stage).size() == 7 && stage->Count("delivered") == 5; }))
      << serve->Errors();
  EXPECT_EQ(stage->Count("dead"), 1);
  EXPECT_EQ(stage->Count("pending"), 1);
  serve->Signal(SIGTERM);
  EXPECT_EQ(serve->Wait(kPatience), 0) << serve->Errors();
  EXPECT_EQ(States(*stage).size(), 7u) << "removed more than was due";
}

TEST_P(Cleaning, SomeProfilesKeepDeliveredRowsForEver) {
  for (const char* profile : {"orders", "leased", "domain-events"}) {
    OUTBOX_MAKE_STAGE(stage, GetParam());
    ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 1));
    Age(*stage, 0,
        StrCat("status = 'delivered', attempts = 1, processed_at = ", Ago("720"),
               ", updated_at = ", Ago("720")));
    Age(*stage, 1,
        StrCat("status = 'dead', available_at = ", Never(), ", updated_at = ", Ago("3")));
    const std::string first = stage->sql().Column(StrCat("SELECT min(seq) FROM ", kTable)).at(0);
    const auto kept = [&] {
      return stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE seq = ", first)) ==
             1;
    };
    auto serve = ServeProfile(*stage, profile);
    // A round looks at delivered rows first: with the dead one gone, they have been looked at.
    ASSERT_TRUE(WaitFor([&] { return stage->Count("dead") == 0; })) << profile << serve->Errors();
    EXPECT_TRUE(kept()) << profile;
    serve->Signal(SIGTERM);
    EXPECT_EQ(serve->Wait(kPatience), 0) << profile << serve->Errors();
    EXPECT_TRUE(kept()) << profile;

    serve = ServeProfile(*stage, profile, "7d");
    EXPECT_TRUE(WaitFor([&] { return !kept(); })) << profile << serve->Errors();
    serve->Signal(SIGTERM);
    EXPECT_EQ(serve->Wait(kPatience), 0) << profile << serve->Errors();
  }
}

TEST_P(Cleaning, RemovesOldRecordsOfTheAudit) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string audit = Pick<std::string>("outbox.audit", "outbox_audit");
  const std::string table = StrCat(Pick<std::string>("public.", ""), kTable);
  for (const auto& [actor, hours] : {std::pair{"old", "1464"}, std::pair{"young", "1416"}}) {
    ASSERT_TRUE(stage->sql().Execute(
        StrCat("INSERT INTO ", audit, " (at, actor, action, table_name, filter, matched, changed,",
               " request_id) VALUES (", Ago(hours), ", '", actor, "', 'retry', '", table,
               "', '{}', 1, 1, '')")))
        << stage->sql().error();
  }
  const auto left = [&] { return stage->sql().Column(StrCat("SELECT actor FROM ", audit)); };
  const auto serve = Serve(*stage, "0");
  ASSERT_TRUE(WaitFor([&] { return left().size() < 2; })) << serve->Errors();
  serve->Signal(SIGTERM);
  EXPECT_EQ(serve->Wait(kPatience), 0) << serve->Errors();
  EXPECT_EQ(left(), std::vector<std::string>{"young"});
}

}  // namespace
}  // namespace outbox::testing
