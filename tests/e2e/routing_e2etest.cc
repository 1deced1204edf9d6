// Several sinks for one table: each has its own deliveries, and the faults of one are not the
// other's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/listener.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Routing : public OnDialect {
 protected:
  // A configuration with two sinks; `second` is the address of the second one.
  static std::string Configure(const Stage& stage, const std::string& second,
                               const std::string& route = "topics = \"#\"\n",
                               const std::string& relay = "") {
    const std::string path = stage.folder() + "/outboxd.toml";
    std::ofstream(path) << "database = \"" << stage.url()
                        << "\"\n[relay]\nmax_attempts = \"unlimited\"\n"
                        << relay << "[[sink]]\nname = \"first\"\naddress = \"file:"
                        << stage.SinkFile("first") << "?fsync=never\"\n"
                        << "[[sink]]\nname = \"second\"\naddress = \"" << second << "\"\n"
                        << "[[route]]\ntable = \"" << kTable
                        << "\"\nsinks = [\"first\", \"second\"]\n"
                        << route;
    return path;
  }
  // The same sinks, of which each message goes to one: created to the first, paid to the second.
  static std::string ConfigureApart(const Stage& stage, const std::string& second,
                                    const std::string& relay = "") {
    return Configure(stage, second,
                     StrCat("topics = \"orders.order.unused.v1\"\n", OneRoute("created", "first"),
                            OneRoute("paid", "second")),
                     StrCat("unrouted = \"error\"\n", relay));
  }
  static std::string OneRoute(std::string_view what, std::string_view sink) {
    return StrCat("[[route]]\ntable = \"", kTable, "\"\ntopics = \"orders.order.", what,
                  ".v1\"\nsinks = [\"", sink, "\"]\n");
  }
  // So many for each of the two.
  static void EnqueueApart(Stage& stage, std::size_t each, std::string_view table = kTable) {
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < each; ++i) {
      messages.push_back({.topic = "orders.order.created.v1", .payload = std::to_string(i)});
      messages.push_back({.topic = "orders.order.paid.v1", .payload = std::to_string(i)});
    }
    Enqueue(stage, messages, table);
  }
  static void Enqueue(Stage& stage, const std::vector<NewMessage>& messages,
                      std::string_view table = kTable) {
    ASSERT_TRUE(stage.sql().Execute("BEGIN"));
    ASSERT_TRUE(stage.sql().EnqueueMany(table, messages).ok());
    ASSERT_TRUE(stage.sql().Execute("COMMIT"));
  }
  static std::int64_t Deliveries(Stage& stage) {
    return stage.sql().Number(StrCat("SELECT count(*) FROM ", kTable, "_delivery"));
  }
  // So many more for each are delivered from their own rows. Where a relay is held up for a second,
  // by a busy machine for instance, they become deliveries: then again.
  static bool DeliversInOwnRows(Stage& stage, std::size_t each, std::size_t& enqueued) {
    return WaitFor([&] {
      const std::int64_t before = Deliveries(stage);
      EnqueueApart(stage, each);
      enqueued += each;
      return WaitFor([&] { return stage.Unfinished() == 0; }) && Deliveries(stage) == before;
    });
  }
  static std::int64_t Leases(Stage& stage) {
    return stage.sql().Number(StrCat("SELECT (SELECT count(*) FROM ", kTable,
                                     " WHERE locked_until IS NOT NULL) + (SELECT count(*) FROM ",
                                     kTable, "_delivery WHERE locked_until IS NOT NULL)"));
  }
  static std::string SecondFile(const Stage& stage) {
    return StrCat("file:", stage.SinkFile("second"), "?fsync=never");
  }
  static std::unique_ptr<Process> Serve(const std::string& config) {
    return Process::Start({OUTBOXD_PATH, "serve", "--config", config});
  }
  static std::size_t Lines(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
  }
  // Committed against what one sink has.
  static Verdict Judge(Stage& stage, const std::string& sink) {
    Ledger ledger = stage.Committed();
    ledger.SeeFile(stage.SinkFile(sink));
    return ledger.Judge();
  }
  static bool StopServing(Process& serve) {
    // Before it listens to signals, SIGTERM is the end of any process.
    if (!WaitFor([&] { return serve.Errors().find("relay running") != std::string::npos; })) {
      return false;
    }
    serve.Signal(SIGTERM);
    return serve.Wait(std::chrono::seconds(60)) == 0;
  }
  // Producers go on while the program is killed at random moments; the last one delivers the rest.
  static void KillWhileServing(Stage& stage, const std::string& config, std::size_t kills) {
    Producer producer(stage.url(),
                      {.per_transaction = 20, .transactions_max = Pick<std::size_t>(400, 100)});
    std::mt19937 random(20261115);
    std::uniform_int_distribution<int> life_ms(60, 500);
    for (std::size_t kill = 0; kill < kills; ++kill) {
      const auto serve = Serve(config);
      std::this_thread::sleep_for(milliseconds(life_ms(random)));
      ASSERT_TRUE(serve->Running()) << "died by itself: " << serve->Errors();
      serve->Kill();
    }
    producer.Stop();
    const auto serve = Serve(config);
    ASSERT_TRUE(WaitFor([&] { return stage.Unfinished() == 0; }, std::chrono::seconds(180)))
        << serve->Errors();
    EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  }
};
OUTBOX_ON_EVERY_DIALECT(Routing);

TEST_P(Routing, ASinkThatIsDownNeitherDelaysNorRepeatsTheOther) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::size_t transactions = Pick<std::size_t>(200, 60);
  ASSERT_TRUE(Produce(stage->sql(), {}, transactions));
  const std::size_t events =
      static_cast<std::size_t>(stage->sql().Number("SELECT count(*) FROM expected"));

  auto serve = Serve(Configure(*stage, "file:/dev/full"));
  ASSERT_TRUE(WaitFor([&] { return Lines(stage->SinkFile("first")) >= events; }))
      << serve->Errors();
  EXPECT_TRUE(WaitFor([&] {
    return serve->Errors().find("No space left on device") != std::string::npos;
  })) << serve->Errors();
  EXPECT_EQ(stage->Count("delivered"), 0);
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();

  serve = Serve(Configure(*stage, SecondFile(*stage)));
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  for (const char* sink : {"first", "second"}) {
    const Verdict verdict = Judge(*stage, sink);
    PrintVerdict(StrCat(Name(), " ", sink), verdict, 1, 0);
    EXPECT_EQ(verdict.lost, 0u);
    EXPECT_EQ(verdict.phantom, 0u);
    EXPECT_EQ(verdict.duplicated, 0u);
  }
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT max(attempts) FROM ", kTable, "_delivery")), 1)
      << "an outage costs no attempts";
}

TEST_P(Routing, OneDestinationKeepsItsStateInTheMessagesRow) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const auto serve = Serve(ConfigureApart(*stage, SecondFile(*stage)));
  std::size_t enqueued = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(DeliversInOwnRows(*stage, 100, enqueued)) << serve->Errors();
  }
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  EXPECT_EQ(Lines(stage->SinkFile("first")), enqueued);
  EXPECT_EQ(Lines(stage->SinkFile("second")), enqueued);
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT max(attempts) FROM ", kTable)), 1);
}

TEST_P(Routing, ADestinationThatIsDownHoldsUpNoOtherAndCostsNoAttempts) {
  constexpr std::size_t kEach = 600;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, kEach / 2));
  auto serve = Serve(ConfigureApart(*stage, "file:/dev/full"));
  ASSERT_TRUE(WaitFor([&] {
    return serve->Errors().find("No space left on device") != std::string::npos;
  })) << serve->Errors();
  // Also what comes while it is down.
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, kEach / 2));
  ASSERT_TRUE(WaitFor([&] { return Lines(stage->SinkFile("first")) == kEach; })) << serve->Errors();
  // The messages of the one that is down become deliveries, out of the way.
  EXPECT_TRUE(WaitFor([&] { return Deliveries(*stage) > 0; })) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  EXPECT_EQ(Leases(*stage), 0);
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT coalesce(max(attempts), 0) FROM ", kTable,
                                       " WHERE status <> 'delivered'")),
            0);
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT max(attempts) FROM ", kTable, "_delivery")), 0);

  serve = Serve(ConfigureApart(*stage, SecondFile(*stage)));
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  for (const char* sink : {"first", "second"}) {
    EXPECT_EQ(Lines(stage->SinkFile(sink)), kEach) << "none lost, none twice";
  }
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT max(attempts) FROM ", kTable, "_delivery")), 1);
}

TEST_P(Routing, ADestinationThatComesBackIsServedInItsOwnRowsAgain) {
  constexpr std::size_t kEach = 100;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string folder = stage->folder() + "/later";
  const auto serve = Serve(ConfigureApart(*stage, StrCat("file:", folder, "/second?fsync=never")));
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, kEach));
  ASSERT_TRUE(WaitFor([&] {
    return Lines(stage->SinkFile("first")) == kEach && Deliveries(*stage) > 0;
  })) << serve->Errors();
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << serve->Errors();
  std::size_t enqueued = kEach;
  EXPECT_TRUE(DeliversInOwnRows(*stage, kEach, enqueued)) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  EXPECT_EQ(Lines(folder + "/second"), enqueued);
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT max(attempts) FROM ", kTable)), 1);
}

TEST_P(Routing, APausedDestinationWaitsAmongItsDeliveriesAndGoesOn) {
  constexpr std::size_t kEach = 50;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const auto serve =
      Serve(ConfigureApart(*stage, SecondFile(*stage), "heartbeat_interval = \"1s\"\n"));
  std::size_t enqueued = 0;
  ASSERT_TRUE(DeliversInOwnRows(*stage, kEach, enqueued)) << serve->Errors();
  const std::size_t second = Lines(stage->SinkFile("second"));
  const std::int64_t split = Deliveries(*stage);
  // Accepted once the process has told of its relays.
  const auto turn = [&](const std::string& command) {
    return WaitFor([&] {
      return stage->Run({command, "--table", std::string(kTable), "--sink", "second"}).exit_code ==
             0;
    });
  };
  ASSERT_TRUE(turn("pause")) << serve->Errors();
  EXPECT_TRUE(WaitFor([&] { return serve->Errors().find("relay paused") != std::string::npos; }))
      << serve->Errors();
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, kEach));
  enqueued += kEach;
  ASSERT_TRUE(WaitFor([&] { return Lines(stage->SinkFile("first")) == enqueued; }))
      << serve->Errors();
  EXPECT_TRUE(WaitFor([&] {
    return Deliveries(*stage) >= split + static_cast<std::int64_t>(kEach);
  })) << serve->Errors();
  EXPECT_EQ(Lines(stage->SinkFile("second")), second);
  EXPECT_EQ(stage->sql().Number(
                StrCat("SELECT max(attempts) FROM ", kTable,
                       "_delivery WHERE destination = 'second' AND status <> 'delivered'")),
            0);
  ASSERT_TRUE(turn("resume")) << serve->Errors();
  EXPECT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << serve->Errors();
  // Back in its own rows.
  EXPECT_TRUE(DeliversInOwnRows(*stage, kEach, enqueued)) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  EXPECT_EQ(Lines(stage->SinkFile("second")), enqueued);
}

TEST_P(Routing, StoppedUnderLoadLeavesNoLeaseOfMessagesWithOneDestination) {
  constexpr std::size_t kStops = 8;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string config =
      ConfigureApart(*stage, SecondFile(*stage), "batch_size = 50\nwindow = 200\n");
  Producer producer(stage->url(), {.per_transaction = 20});
  for (std::size_t stop = 0; stop < kStops; ++stop) {
    const std::size_t before = Lines(stage->SinkFile("first"));
    const auto serve = Serve(config);
    ASSERT_TRUE(WaitFor([&] { return Lines(stage->SinkFile("first")) > before; }))
        << serve->Errors();
    ASSERT_TRUE(StopServing(*serve)) << serve->Errors();
    ASSERT_EQ(Leases(*stage), 0) << "after stop " << stop;
  }
  producer.Stop();
  const auto serve = Serve(config);
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();
  const Verdict verdict = Judge(*stage, "first");
  PrintVerdict(Name(), verdict, kStops, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

TEST_P(Routing, KilledAtRandomMomentsLosesNoMessageWithOneDestination) {
  constexpr std::size_t kWindow = 20;
  constexpr std::size_t kKills = 10;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string config =
      ConfigureApart(*stage, SecondFile(*stage),
                     StrCat("batch_size = 10\nwindow = ", kWindow, "\nlease = \"1s\"\n"));
  ASSERT_NO_FATAL_FAILURE(KillWhileServing(*stage, config, kKills));
  const Verdict verdict = Judge(*stage, "first");
  PrintVerdict(Name(), verdict, kKills, kKills * kWindow);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, kKills * kWindow);
}

TEST_P(Routing, KilledAtRandomMomentsLosesNothingForEitherSink) {
  constexpr std::size_t kWindow = 20;
  const std::size_t kills = Pick<std::size_t>(20, 10);
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string config =
      Configure(*stage, SecondFile(*stage), "topics = \"#\"\n",
                StrCat("batch_size = 10\nwindow = ", kWindow, "\nlease = \"1s\"\n"));
  ASSERT_NO_FATAL_FAILURE(KillWhileServing(*stage, config, kills));
  for (const char* sink : {"first", "second"}) {
    const Verdict verdict = Judge(*stage, sink);
    PrintVerdict(StrCat(Name(), " ", sink), verdict, kills, kills * kWindow);
    EXPECT_EQ(verdict.lost, 0u);
    EXPECT_EQ(verdict.phantom, 0u);
    EXPECT_LE(verdict.duplicated, kills * kWindow);
  }
}

TEST_P(Routing, MessagesOfOneKeyArriveInOrderAlsoAcrossCrashes) {
  constexpr int kKeys = 10;
  const int messages = Pick(400, 200);
  OUTBOX_MAKE_STAGE(stage, GetParam());
  std::vector<NewMessage> all;
  for (int i = 0; i < messages; ++i) {
    all.push_back({.topic = "orders.order.created.v1",
                   .payload = std::to_string(i),
                   .key = StrCat("key-", i % kKeys)});
  }
  ASSERT_TRUE(stage->sql().Execute("BEGIN"));
  ASSERT_TRUE(stage->sql().EnqueueMany(kTable, all).ok());
  ASSERT_TRUE(stage->sql().Execute("COMMIT"));
  const std::string config =
      Configure(*stage, SecondFile(*stage), "topics = \"#\"\nordered = true\n", "lease = \"1s\"\n");
  for (int kill = 0; kill < 5; ++kill) {
    const std::size_t seen = Lines(stage->SinkFile("first"));
    const auto serve = Serve(config);
    ASSERT_TRUE(WaitFor([&] { return Lines(stage->SinkFile("first")) > seen; })) << serve->Errors();
    serve->Kill();
  }
  const auto serve = Serve(config);
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve)) << serve->Errors();

  for (const char* sink : {"first", "second"}) {
    std::map<std::string, int> last;  // of each key
    int out_of_order = 0, first_deliveries = 0;
    std::ifstream file(stage->SinkFile(sink));
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;  // torn by a kill
      const int number = json.at("payload");
      const auto [entry, is_new] = last.try_emplace(json.at("key"), -1);
      // A crash repeats the message under way; it never lets a later one pass.
      if (number == entry->second) continue;
      if (number < entry->second) ++out_of_order;
      entry->second = number;
      ++first_deliveries;
    }
    EXPECT_EQ(out_of_order, 0) << sink;
    EXPECT_EQ(first_deliveries, messages) << sink;
  }
}

TEST_P(Routing, DeletedAndCleanedMessagesTakeTheirDeliveriesAlong) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string deliveries = StrCat("SELECT count(*) FROM ", kTable, "_delivery");
  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 2));
  const std::string config = Configure(*stage, SecondFile(*stage), "topics = \"#\"\n",
                                       "[cleaner]\nretention = \"1s\"\ninterval = \"100ms\"\n");
  const auto serve = Serve(config);
  // Delivered, kept for a second, cleaned.
  EXPECT_TRUE(WaitFor([&] {
    return Lines(stage->SinkFile("second")) == 20 &&
           stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable)) == 0;
  })) << serve->Errors();
  EXPECT_EQ(stage->sql().Number(deliveries), 0);
  EXPECT_TRUE(StopServing(*serve));

  // Buried, and deleted by an operator.
  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 1));
  const auto down = Serve(Configure(*stage, "file:/dev/full"));
  ASSERT_TRUE(WaitFor([&] { return stage->sql().Number(deliveries) == 20; })) << down->Errors();
  EXPECT_TRUE(StopServing(*down));
  const std::string end_of_time = Pick("'infinity'", "9223372036854775807");
  for (const char* table : {"", "_delivery"}) {
    ASSERT_TRUE(
        stage->sql().Execute(StrCat("UPDATE ", kTable, table,
                                    " SET status = 'dead', processed_at = NULL, locked_by = "
                                    "NULL, available_at = ",
                                    end_of_time)));
  }
  const Finished deleted =
      stage->Run({"delete", "--table", std::string(kTable), "--all-dead", "--yes"});
  EXPECT_EQ(deleted.exit_code, 0) << deleted.standard_error;
  EXPECT_EQ(stage->sql().Number(deliveries), 0);
}

TEST_P(Routing, ASinkThatDoesNotAnswerDoesNotDelayTheStartOfTheOthers) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const Listener silent;
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, 5));
  const auto serve =
      Serve(Configure(*stage, StrCat("redis://127.0.0.1:", silent.port(), "?stream=events")));
  EXPECT_TRUE(WaitFor([&] { return Lines(stage->SinkFile("first")) == 10; }, seconds(25)))
      << serve->Errors();
  EXPECT_THAT(serve->Errors(), ::testing::HasSubstr("the sink does not answer yet"));
}

TEST_P(Routing, ASecondSignalEndsAProcessThatIsStuckInItsSplitter) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const auto serve = Serve(Configure(*stage, SecondFile(*stage)));
  // Its splitters start after its relays.
  ASSERT_TRUE(WaitFor([&] { return serve->Errors().find("msg=serving") != std::string::npos; }))
      << serve->Errors();
  // Due when nobody else can write any more.
  const NewMessage later{.topic = "orders.order.paid.v1", .payload = "{}", .delay = seconds(10)};
  ASSERT_NO_FATAL_FAILURE(Enqueue(*stage, {later}));
  ASSERT_TRUE(stage->sql().Execute(
      Pick(StrCat("BEGIN; LOCK TABLE ", kTable), std::string("BEGIN IMMEDIATE"))));
  if (GetParam() == Dialect::kPostgres) {
    const auto onlooker = SqlConnection::Open(stage->url());
    ASSERT_TRUE(WaitFor([&] {
      return onlooker->Number(StrCat("SELECT count(*) FROM pg_locks WHERE NOT granted AND ",
                                     "relation = '", kTable, "'::regclass")) > 0;
    })) << serve->Errors();
  } else {
    // Nothing shows who waits for the lock of a file.
    std::this_thread::sleep_for(later.delay + seconds(5));
  }
  // Two of a kind would be one for a process that has not seen the first yet.
  serve->Signal(SIGINT);
  EXPECT_EQ(serve->Wait(milliseconds(500)), std::nullopt) << "it was not stuck";
  serve->Signal(SIGTERM);
  EXPECT_EQ(serve->Wait(kPatience), 128 + SIGTERM);
  EXPECT_TRUE(stage->sql().Execute("ROLLBACK"));
}

TEST_P(Routing, DeliveriesThatNobodyServesAnyMoreAreToldOfWithoutRoutesToo) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, 1));
  const auto serve = Serve(Configure(*stage, "file:/dev/full"));
  ASSERT_TRUE(WaitFor([&] { return Lines(stage->SinkFile("first")) == 2; })) << serve->Errors();
  ASSERT_TRUE(StopServing(*serve)) << serve->Errors();
  const auto plain = stage->StartRelay("plain");
  EXPECT_TRUE(WaitFor([&] {
    return plain->Errors().find("deliveries wait for the sink 'second'") != std::string::npos;
  })) << plain->Errors();
  EXPECT_THAT(plain->Errors(), ::testing::Not(::testing::HasSubstr("the sink 'first'")));
}

TEST_P(Routing, ARateHoldsForASinkHoweverManyTablesLeadToIt) {
  constexpr std::size_t kEach = 15;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_EQ(stage->Run({"migrate", "up", "--table", "more_outbox"}).exit_code, 0);
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, kEach));
  ASSERT_NO_FATAL_FAILURE(EnqueueApart(*stage, kEach, "more_outbox"));
  const auto started = std::chrono::steady_clock::now();
  const auto serve =
      Serve(Configure(*stage, StrCat(SecondFile(*stage), "\"\nrate_limit = 20\nrate_burst = \"1"),
                      StrCat("topics = \"#\"\n[[route]]\ntable = \"more_outbox\"\ntopics = \"#\"\n",
                             "sinks = [\"second\"]\n")));
  const std::string file = stage->SinkFile("second");
  ASSERT_TRUE(WaitFor([&] { return Lines(file) == 4 * kEach; })) << serve->Errors();
  EXPECT_GE(std::chrono::steady_clock::now() - started, milliseconds(2950)) << "59 at 20 a second";
}

TEST_P(Routing, AMessageWithoutARouteIsBuriedWhereThatWasChosen) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 1));
  const auto serve = Serve(
      Configure(*stage, SecondFile(*stage), "topics = \"billing.#\"\n", "unrouted = \"dead\"\n"));
  EXPECT_TRUE(WaitFor([&] { return stage->Count("dead") == 10; })) << serve->Errors();
  EXPECT_TRUE(StopServing(*serve));
  EXPECT_THAT(serve->Errors(), ::testing::HasSubstr("messages without a route"));
}

}  // namespace
}  // namespace outbox::testing
