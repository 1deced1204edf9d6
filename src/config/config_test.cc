#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "config/config_json.h"
#include "config/key.h"
#include "tests/support/matchers.h"

namespace outbox::config {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "outbox-config-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Config> LoadText(const std::string& toml, Environment environment = {},
                          Layer flags = {}) const {
    const std::filesystem::path path = folder_ / "outboxd.toml";
    std::ofstream(path) << toml;
    return Load(
        {.file = path.string(), .environment = std::move(environment), .flags = std::move(flags)});
  }
  static std::string OriginOf(const Resolved& resolved, std::string_view key) {
    const auto found = resolved.origins.find(key);
    return found == resolved.origins.end() ? "default" : found->second.ToString();
  }

  std::filesystem::path folder_;
};

constexpr const char* kTwoTables = R"(
database = "postgres://localhost/shop"

[log]
level = "debug"
format = "json"

[relay]
sink = "stdout:"
batch_size = 200

[[table]]
name = "orders_outbox"

[[table]]
name = "sales.invoices_outbox"
sink = "file:invoices.jsonl"
profile = "orders"
batch_size = 10
topics = ["billing.#", "orders.*.created.v1"]
max_attempts = "unlimited"
retention = "0"
audit_retention = "0"

[cleaner]
retention = "3d"
dead_retention = "30d"
audit_retention = "90d"
)";

TEST_F(ConfigTest, GivesEachTableItsOwnSinkAndOverrides) {
  const auto config = LoadText(kTwoTables);
  ASSERT_OK(config);
  EXPECT_EQ(config->settings.log.level, log::Level::kDebug);
  EXPECT_EQ(config->settings.log.format, log::Format::kJson);
  ASSERT_EQ(config->tables.size(), 2u);

  const TableConfig& orders = config->tables[0];
  EXPECT_EQ(orders.name, "public.orders_outbox");
  EXPECT_EQ(orders.settings.sink, "stdout:");
  EXPECT_EQ(orders.settings.relay.table, "public.orders_outbox");
  EXPECT_EQ(orders.settings.relay.batch_size, 200u);
  EXPECT_EQ(orders.settings.relay.retention, std::chrono::hours(72));
  EXPECT_EQ(orders.settings.cleaner.dead_retention, std::chrono::hours(24 * 30));
  EXPECT_EQ(orders.settings.cleaner.audit_retention, std::chrono::hours(24 * 90));
  EXPECT_TRUE(orders.relays);
  EXPECT_TRUE(orders.cleans);

  const TableConfig& invoices = config->tables[1];
  EXPECT_EQ(invoices.settings.sink, "file:invoices.jsonl");
  EXPECT_EQ(invoices.settings.relay.claim_mode, ClaimMode::kTransaction);
  EXPECT_EQ(invoices.settings.relay.batch_size, 10u);
  EXPECT_EQ(invoices.settings.relay.filter.topics.size(), 2u);
  EXPECT_FALSE(invoices.settings.relay.retry.attempts_max);
  EXPECT_EQ(invoices.settings.relay.retention, milliseconds(0));
  EXPECT_EQ(invoices.settings.cleaner.audit_retention, milliseconds(0));
}

TEST_F(ConfigTest, ListsEveryProblemAtOnceWithItsLine) {
  const Status status = LoadText(R"(databse = "sqlite:x.db"
[relay]
batch_sise = 3
lease = "soon"
claim = "maybe"
max_attempts = 1.5
[[table]]
name = "Robert'); DROP TABLE students"
snik = "stdout:"
[clenaer]
interval = "1m"
)")
                            .error();
  ASSERT_EQ(status.code(), Code::kInvalidArgument);
  for (const char* line :
       {"outboxd.toml:1: databse: unknown key; did you mean 'database'?",
        "outboxd.toml:3: relay.batch_sise: unknown key; did you mean 'batch_size'?",
        "outboxd.toml:4: relay.lease: 'soon' is not a duration",
        "outboxd.toml:5: relay.claim: 'maybe' is not one of lease, transaction",
        "outboxd.toml:6: relay.max_attempts: is not a number",
        "outboxd.toml:9: table.snik: unknown key; did you mean 'sink'?",
        "outboxd.toml:10: [clenaer]: no such section; did you mean 'cleaner'?",
        "outboxd.toml:7: table: 'Robert'); DROP TABLE students' is not a valid table name"}) {
    EXPECT_THAT(status.message(), HasSubstr(line));
  }
}

TEST_F(ConfigTest, PointsAtTheLineOfAValueThatDoesNotFitTheOthers) {
  const Status status = LoadText(R"([relay]
sink = "null:"
tables = ["a_outbox", "b_outbox"]
lease = "10s"
poll_interval = "5s"
)")
                            .error();
  EXPECT_THAT(status.message(), HasSubstr("outboxd.toml:5: relay.poll_interval: 5s is more than a "
                                          "third of the lease (10s)"));
  EXPECT_THAT(status.message(), Not(HasSubstr("problems"))) << "told once, not once per table";
}

TEST_F(ConfigTest, NamesTheLineOfASyntaxError) {
  EXPECT_THAT(LoadText("[relay]\nbatch_size = = 3\n").error().message(),
              HasSubstr("outboxd.toml:2: "));
}

TEST_F(ConfigTest, SaysWhyTheFileCanNotBeRead) {
  const Status status = Load({.file = (folder_ / "absent.toml").string()}).error();
  EXPECT_THAT(status.message(), HasSubstr("absent.toml: No such file or directory"));
}

TEST_F(ConfigTest, AFileThatIsAFolderIsNone) {
  EXPECT_THAT(Load({.file = folder_.string()}).error().message(), HasSubstr("Is a directory"));
}

TEST_F(ConfigTest, AnEmptyFileIsAConfiguration) {
  const std::filesystem::path path = folder_ / "outboxd.toml";
  std::ofstream(path).close();
  EXPECT_OK(Load({.file = path.string(), .complete = false}));
  EXPECT_OK(Load({.file = "/dev/null", .complete = false}));
  EXPECT_THAT(Load({.file = path.string()}).error().message(),
              HasSubstr("no table to deliver from"));
}

TEST_F(ConfigTest, TheEnvironmentBeatsTheFileAndFlagsBeatBoth) {
  const std::string file = "[relay]\nsink = \"null:\"\ntables = [\"a\"]\nbatch_size = 1\n";
  const Environment environment{{"OUTBOX_RELAY_BATCH_SIZE", "2"}};
  const Layer flags{{"relay.batch_size", {"3", {Origin::Kind::kFlag, "--batch-size"}}}};
  EXPECT_EQ(LoadText(file)->tables[0].settings.relay.batch_size, 1u);
  EXPECT_EQ(LoadText(file, environment)->tables[0].settings.relay.batch_size, 2u);
  EXPECT_EQ(LoadText(file, environment, flags)->tables[0].settings.relay.batch_size, 3u);
}

TEST_F(ConfigTest, ATablesOwnValueBeatsTheEnvironment) {
  const auto config = LoadText("[[table]]\nname = \"a\"\nsink = \"null:\"\nbatch_size = 7\n",
                               {{"OUTBOX_RELAY_BATCH_SIZE", "2"}});
  ASSERT_OK(config);
  EXPECT_EQ(config->settings.relay.batch_size, 2u);
  EXPECT_EQ(config->tables[0].settings.relay.batch_size, 7u);
}

TEST_F(ConfigTest, KnowsWhereEachValueCameFrom) {
  const auto config =
      LoadText("profile = \"toolkit\"\n[relay]\nsink = \"null:\"\ntables = [\"a\"]\n",
               {{"OUTBOX_RELAY_MAX_ATTEMPTS", "9"}, {"OUTBOX_DB", "sqlite:x.db"}},
               {{"relay.window", {"5000", {Origin::Kind::kFlag, "--window"}}}});
  ASSERT_OK(config);
  const TableConfig& table = config->tables[0];
  EXPECT_EQ(table.name, "main.a");
  EXPECT_EQ(OriginOf(table, "relay.listen"), "default");
  EXPECT_EQ(OriginOf(table, "relay.batch_size"), "profile toolkit");
  EXPECT_EQ(OriginOf(table, "relay.poll_min"), "profile toolkit");
  EXPECT_THAT(OriginOf(table, "relay.sink"), HasSubstr("outboxd.toml:3"));
  EXPECT_EQ(OriginOf(table, "relay.max_attempts"), "environment OUTBOX_RELAY_MAX_ATTEMPTS");
  EXPECT_EQ(OriginOf(table, "relay.window"), "flag --window");
}

TEST_F(ConfigTest, RunsFromTheEnvironmentAlone) {
  const auto config =
      Load({.environment = {{"OUTBOX_DB", "postgres://localhost/x"},
                            {"OUTBOX_RELAY_TABLES", "public.org_outbox, hrm_outbox"},
                            {"OUTBOX_RELAY_SINK", "null:"},
                            {"OUTBOX_RELAY_SINGLE_ACTIVE", "true"},
                            {"OUTBOX_RELAY_POLL_INTERVAL", "1s"},
                            {"OUTBOX_RELAY_BATCH_SIZE", "100"},
                            {"OUTBOX_RELAY_LOCK_TTL", "60s"},
                            {"OUTBOX_RELAY_MAX_ATTEMPTS", "25"},
                            {"OUTBOX_RELAY_DISPATCH_TIMEOUT", "31s"},
                            {"OUTBOX_LAST_ERROR_MAX_BYTES", "1024"},
                            {"OUTBOX_CLEANER_ENABLED", "true"},
                            {"OUTBOX_CLEANER_TABLES", "org_outbox"},
                            {"OUTBOX_CLEANER_INTERVAL", "2m"},
                            {"OUTBOX_CLEANER_RETENTION", "168h"},
                            {"OUTBOX_CLEANER_DEAD_RETENTION", "0"},
                            {"OUTBOX_RELAY_ID", ""},
                            {"PATH", "/bin"}}});
  ASSERT_OK(config);
  ASSERT_EQ(config->tables.size(), 2u);
  const TableConfig& org = config->tables[0];
  EXPECT_EQ(org.name, "public.org_outbox");
  EXPECT_TRUE(org.relays && org.cleans);
  EXPECT_TRUE(org.settings.relay.single_active);
  EXPECT_EQ(org.settings.relay.poll_min, seconds(1));
  EXPECT_EQ(org.settings.relay.poll_max, seconds(1));
  EXPECT_EQ(org.settings.relay.batch_size, 100u);
  EXPECT_EQ(org.settings.relay.lease, seconds(60));
  EXPECT_EQ(org.settings.relay.retry.attempts_max, 25);
  EXPECT_EQ(org.settings.relay.dispatch_timeout, seconds(31));
  EXPECT_EQ(org.settings.relay.last_error_bytes_max, 1024u);
  EXPECT_EQ(org.settings.cleaner.interval, std::chrono::minutes(2));
  EXPECT_EQ(config->tables[1].name, "public.hrm_outbox");
  EXPECT_FALSE(config->tables[1].cleans) << "not among the cleaner's tables";
}

// The variables of a known outbox, and nothing else.
Sources ByVariables(Environment environment) {
  environment.insert({{"OUTBOX_DB", "postgres://localhost/x"}, {"OUTBOX_RELAY_SINK", "null:"}});
  return {.environment = std::move(environment), .by_variables = true};
}

TEST_F(ConfigTest, AnyVariableOfTheToolkitChoosesItsProfile) {
  const std::vector<std::pair<std::string, std::string>> variables{
      {"OUTBOX_RELAY_ENABLED", "true"},
      {"OUTBOX_RELAY_TABLES", "a"},
      {"OUTBOX_RELAY_SINGLE_ACTIVE", "true"},
      {"OUTBOX_RELAY_POLL_INTERVAL", "1s"},
      {"OUTBOX_RELAY_BATCH_SIZE", "100"},
      {"OUTBOX_RELAY_LOCK_TTL", "60s"},
      {"OUTBOX_RELAY_MAX_ATTEMPTS", "25"},
      {"OUTBOX_RELAY_DISPATCH_TIMEOUT", "30s"},
      {"OUTBOX_LAST_ERROR_MAX_BYTES", "2048"},
      {"OUTBOX_CLEANER_ENABLED", "true"},
      {"OUTBOX_CLEANER_TABLES", "a"},
      {"OUTBOX_CLEANER_INTERVAL", "1m"},
      {"OUTBOX_CLEANER_RETENTION", "168h"},
      {"OUTBOX_CLEANER_DEAD_RETENTION", "0"},
      {"PROMETHEUS_METRICS_ENABLED", "true"},
      {"PROMETHEUS_METRICS_PATH", "/debug/prometheus"},
      {"OUTBOX_RELAY_TABLES", ""},
      {"OUTBOX_RELAY_BATCH_SIZE", ""}};
  for (const auto& [name, value] : variables) {
    const auto config = Load(ByVariables({{name, value}, {"OUTBOX_PROFILE", ""}}));
    ASSERT_OK(config);
    EXPECT_EQ(config->settings.profile, "toolkit") << name;
    EXPECT_EQ(OriginOf(*config, "profile"), StrCat("environment ", name, ", without a file"));
    EXPECT_EQ(config->settings.relay.poll_max, seconds(1)) << name;
    EXPECT_EQ(config->settings.service.metrics.path, "/debug/prometheus") << name;
    EXPECT_EQ(config->tables.size(), value == "a" ? 1u : 0u) << name;
  }
}

TEST_F(ConfigTest, WhoChoosesAProfileOrWritesAFileIsNotTakenForTheToolkit) {
  const Environment tables{{"OUTBOX_RELAY_TABLES", "a"}};
  Sources sources = ByVariables(tables);
  sources.environment.emplace("OUTBOX_PROFILE", "default");
  EXPECT_EQ(Load(sources)->settings.profile, "default");
  EXPECT_EQ(Load(sources)->tables.at(0).settings.relay.batch_size, 500u);

  sources = ByVariables(tables);
  sources.flags = {{"profile", {"orders", {Origin::Kind::kFlag, "--profile"}}}};
  EXPECT_EQ(Load(sources)->settings.profile, "orders");

  sources = ByVariables(tables);
  sources.file = (folder_ / "outboxd.toml").string();
  std::ofstream(*sources.file) << "[log]\nlevel = \"warn\"\n";
  EXPECT_EQ(Load(sources)->settings.profile, "default");

  sources = ByVariables(tables);
  sources.by_variables = false;
  EXPECT_EQ(Load(sources)->settings.profile, "default");
  EXPECT_THAT(Load(ByVariables({{"OUTBOX_RELAY_WINDOW", "3000"}})).error().message(),
              HasSubstr("no table to deliver from"))
      << "not a variable of the toolkit";
}

TEST_F(ConfigTest, ARetentionMayBeForEver) {
  const char* const own = R"(
[relay]
sink = "null:"
[cleaner]
retention = "7d"
dead_retention = "forever"
[[table]]
name = "kept_outbox"
retention = "forever"
audit_retention = "forever"
[[table]]
name = "cleaned_outbox"
dead_retention = "0"
)";
  const auto config = LoadText(own);
  ASSERT_OK(config);
  const auto printed = [&](std::size_t table, std::string_view key) {
    return FindKey(key)->print(config->tables.at(table).settings);
  };
  EXPECT_EQ(printed(0, "cleaner.retention"), "forever");
  EXPECT_EQ(printed(0, "cleaner.dead_retention"), "forever");
  EXPECT_EQ(printed(0, "cleaner.audit_retention"), "forever");
  EXPECT_EQ(config->tables[0].settings.relay.retention, kDurationMax) << "kept when settled, too";
  EXPECT_EQ(printed(1, "cleaner.retention"), "7d");
  EXPECT_EQ(printed(1, "cleaner.dead_retention"), "0");
  EXPECT_THAT(ToJson(*config), HasSubstr(R"("key":"cleaner.retention","value":"forever")"));
  EXPECT_EQ(LoadText(own, {{"OUTBOX_CLEANER_RETENTION", "forever"}})
                ->tables.at(1)
                .settings.cleaner.retention,
            kDurationMax);
  const Layer flags{{"cleaner.retention", {"forever", {Origin::Kind::kFlag, "--retention"}}}};
  EXPECT_EQ(LoadText(own, {}, flags)->tables.at(1).settings.relay.retention, kDurationMax);
  for (const char* key : {"retention", "dead_retention", "audit_retention"}) {
    const Status status = LoadText(StrCat("[cleaner]\n", key, " = \"for ever\"\n")).error();
    EXPECT_THAT(status.message(), HasSubstr(StrCat("outboxd.toml:2: cleaner.", key,
                                                   ": 'for ever' "
                                                   "is not a duration")));
    EXPECT_THAT(status.message(), HasSubstr("or forever"));
  }
}

TEST_F(ConfigTest, RefusesAMisspeltVariableOfOurs) {
  const Status status =
      Load({.environment = {{"OUTBOX_RELAY_BATCHSIZE", "1"}, {"OUTBOX_SOMETHING", "else"}},
            .complete = false})
          .error();
  EXPECT_THAT(status.message(), HasSubstr("OUTBOX_RELAY_BATCHSIZE: no such setting; did you mean "
                                          "OUTBOX_RELAY_BATCH_SIZE?"));
  EXPECT_THAT(status.message(), Not(HasSubstr("SOMETHING")));
}

TEST_F(ConfigTest, ADisabledRelayStillCleans) {
  const auto config =
      Load({.environment = {{"OUTBOX_RELAY_TABLES", "a"}, {"OUTBOX_RELAY_ENABLED", "false"}}});
  ASSERT_OK(config);
  EXPECT_FALSE(config->tables[0].relays);
  EXPECT_TRUE(config->tables[0].cleans);
}

TEST_F(ConfigTest, RefusesToHaveNothingToDoOrNowhereToSend) {
  EXPECT_THAT(Load({}).error().message(), HasSubstr("no table to deliver from"));
  EXPECT_THAT(Load({.environment = {{"OUTBOX_RELAY_TABLES", "a"}}}).error().message(),
              HasSubstr("table public.a: has no sink"));
}

TEST_F(ConfigTest, EveryKeyReadsBackWhatItPrints) {
  for (const Key& key : Keys()) {
    Settings settings;
    const std::string printed = key.print(settings);
    if (printed.empty()) continue;
    EXPECT_OK(key.set(settings, printed));
    EXPECT_EQ(key.print(settings), printed) << key.name;
  }
}

TEST_F(ConfigTest, KeysHaveNamesOfTheirOwn) {
  std::vector<std::string_view> seen;
  for (const Key& key : Keys()) {
    EXPECT_EQ(FindKey(key.name), &key);
    EXPECT_EQ(FindTableKey(key.table_name), key.table_name.empty() ? nullptr : &key);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), key.environment), 0) << key.environment;
    seen.push_back(key.environment);
  }
}

TEST_F(ConfigTest, MasksPasswordsWhenPrinting) {
  Settings settings;
  settings.database = "postgres://shop:hunter2@db/shop";
  settings.sink = "amqp://guest:hunter2@mq/";
  for (const Key& key : Keys()) {
    EXPECT_THAT(key.PrintMasked(settings), Not(HasSubstr("hunter2"))) << key.name;
  }
  EXPECT_THAT(FindKey("database")->PrintMasked(settings), HasSubstr("postgres://shop:***@db/shop"));
}

constexpr const char* kRoutes = R"(
database = "postgres://localhost/shop"

[[sink]]
name = "rabbit"
address = "file:rabbit.jsonl"
max_attempts = 3
rate_limit = 100

[[sink]]
name = "hook"
address = "file:hook.jsonl"

[[table]]
name = "orders_outbox"
batch_size = 50
unrouted = "dead"

[[route]]
table = "orders_outbox"
topics = ["orders.*.created.v*", "orders.*.paid.v1"]
sinks = ["rabbit", "hook"]
ordered = true
on_dead = "skip"

[[route]]
table = "public.orders_outbox"
topics = "billing.#"
sinks = "hook"
)";

TEST_F(ConfigTest, RoutesLeadTopicsToSinksWithSettingsOfTheirOwn) {
  const auto config = LoadText(kRoutes);
  ASSERT_OK(config);
  ASSERT_EQ(config->tables.size(), 1u);
  const TableConfig& table = config->tables[0];
  EXPECT_TRUE(table.relays);
  EXPECT_EQ(table.settings.unrouted, message::Unrouted::kDead);
  ASSERT_EQ(table.routes.size(), 3u);
  EXPECT_EQ(table.routes[1].topics, "orders.*.paid.v1");
  EXPECT_TRUE(table.routes[1].ordered);
  EXPECT_FALSE(table.routes[1].waits_for_dead);
  EXPECT_FALSE(table.routes[2].ordered);
  ASSERT_EQ(table.destinations.size(), 2u);
  const Settings& rabbit = table.destinations[0].settings;
  EXPECT_EQ(rabbit.sink, "file:rabbit.jsonl");
  EXPECT_EQ(rabbit.relay.destination, "rabbit");
  EXPECT_EQ(rabbit.relay.retry.attempts_max, 3);
  EXPECT_EQ(rabbit.relay.batch_size, 50u);
  EXPECT_EQ(rabbit.limits.per_second, 100u);
  EXPECT_EQ(table.destinations[1].settings.relay.retry.attempts_max, 20);
}

TEST_F(ConfigTest, NamesEveryMistakeInRoutesAndSinks) {
  const Status status = LoadText(R"(
database = "postgres://localhost/shop"
[[sink]]
name = "rabbit"
adress = "file:x"
[[sink]]
name = "rabbit"
address = "file:x"
[[route]]
table = "orders_outbox"
topics = "Orders.{}"
sinks = ["rabit"]
orderd = true
[[route]]
sinks = ["rabbit"]
)")
                            .error();
  for (const char* problem :
       {":5: sink.adress: unknown key; did you mean 'address'?",
        "outboxd.toml:6: there are two sinks called 'rabbit'; the first is ", "outboxd.toml:3\n",
        "sink 'rabbit' needs an address",
        "there is no [[sink]] called 'rabit'; did you mean 'rabbit'?",
        "route.orderd: unknown key; did you mean 'ordered'?", "[[route]]: needs a table",
        "[[route]]: needs topics", "route.topics: "}) {
    EXPECT_THAT(status.message(), HasSubstr(problem));
  }
}

TEST_F(ConfigTest, RefusesASecondSectionOfATable) {
  const Status status = LoadText(R"(
database = "sqlite:shop.db"
[[table]]
name = "a_outbox"
sink = "null:"
[[table]]
name = "main.a_outbox"
sink = "stdout:"
)")
                            .error();
  EXPECT_THAT(status.message(), HasSubstr("outboxd.toml:6: there are two [[table]] sections for "
                                          "the table 'main.a_outbox'; the first is "));
  EXPECT_TRUE(status.message().ends_with("outboxd.toml:3")) << status.message();

  const Origin origin{Origin::Kind::kFlag, "--route"};
  const Sources flags{.flag_tables = {{"a_outbox", origin, {{"relay.sink", {"null:", origin}}}},
                                      {"a_outbox", origin, {{"relay.sink", {"stdout:", origin}}}}}};
  EXPECT_THAT(Load(flags).error().message(),
              HasSubstr("flag --route: there are two --route flags for the table"));
}

TEST_F(ConfigTest, RefusesAFilterWithoutAPattern) {
  for (const char* topics : {"[]", "\"\"", "[\" \"]"}) {
    const Status status = LoadText(StrCat("[relay]\ntopics = ", topics, "\n")).error();
    EXPECT_THAT(status.message(), HasSubstr("outboxd.toml:2: relay.topics: has no pattern; leave"));
  }
}

TEST_F(ConfigTest, PointsAtTheLineOfARoutesTopicsAndSinks) {
  const Status status = LoadText(R"(
[[sink]]
name = "rabbit"
address = "null:"
[[route]]
table = "orders_outbox"
topics = ["#", "orders.>"]
sinks = [
  "rabbit",
  "rabit"]
)")
                            .error();
  for (const char* problem :
       {"outboxd.toml:7: route.topics: 'orders.>' is not a topic pattern", "orders.*.created.v*",
        "outboxd.toml:8: route.sinks: there is no [[sink]] called 'rabit'; did you mean"}) {
    EXPECT_THAT(status.message(), HasSubstr(problem));
  }
}

TEST_F(ConfigTest, SaysWhenARouteLeadsNowhere) {
  for (const char* nothing : {"[]", "\"\""}) {
    const Status status =
        LoadText(StrCat("[[route]]\ntable = \"orders_outbox\"\ntopics = ", nothing,
                        "\nsinks = ", nothing, "\n"))
            .error();
    EXPECT_THAT(status.message(), HasSubstr("outboxd.toml:3: route.topics: is empty"));
    EXPECT_THAT(status.message(), HasSubstr("outboxd.toml:4: route.sinks: is empty"));
    EXPECT_THAT(status.message(), HasSubstr("the configuration has 2 problems"));
  }
}

TEST_F(ConfigTest, ASinkHasOnlyKeysThatHoldForItAlone) {
  const std::set<std::string_view> table_wide{
      "enabled", "unrouted", "completion", "claim",          "namespace",
      "topics",  "tenant",   "retention",  "dead_retention", "audit_retention"};
  // The page has both lists, the second one with a word on `claim` and `lease`.
  std::ostringstream page;
  page << std::ifstream(OUTBOX_DOCS "/reference/configuration.md").rdbuf();
  const auto part = [text = page.str()](const char* from, const char* to) {
    const std::size_t begin = text.find(from);
    return begin == std::string::npos ? std::string()
                                      : text.substr(begin, text.find(to, begin) - begin);
  };
  const std::string of_sinks = part("These settings make sense in a `[[sink]]`", "The others are");
  const std::string of_tables = part("The others are about the table's messages", "With routes");
  for (const Key& key : Keys()) {
    if (key.table_name.empty() || key.table_name == "sink") continue;
    const std::string message = LoadText(StrCat("[[sink]]\nname = \"a\"\naddress = \"null:\"\n",
                                                key.table_name, " = \"x y\"\n"))
                                    .error()
                                    .message();
    const std::string word = StrCat("`", key.table_name, "`");
    const bool wide = table_wide.contains(key.table_name);
    EXPECT_EQ(of_sinks.find(word) != std::string::npos, !wide) << word;
    if (key.table_name != "claim") {
      EXPECT_EQ(of_tables.find(word) != std::string::npos, wide) << word;
    }
    const std::string refusal = StrCat("outboxd.toml:4: sink.", key.table_name,
                                       ": belongs to the [[table]], for all of its sinks");
    if (wide) {
      EXPECT_THAT(message, HasSubstr(refusal));
    } else {
      EXPECT_THAT(message, Not(HasSubstr("sink."))) << key.table_name;
    }
  }
}

TEST_F(ConfigTest, UnroutedMessagesAreAChoice) {
  const std::string incomplete = R"(
database = "postgres://localhost/shop"
[[sink]]
name = "a"
address = "null:"
[[route]]
table = "orders_outbox"
sinks = ["a"]
topics = )";
  EXPECT_THAT(LoadText(incomplete + "\"orders.#\"").error().message(),
              HasSubstr("its routes do not take every topic; set unrouted"));
  EXPECT_OK(LoadText(incomplete + "\"#\""));
  EXPECT_OK(LoadText(incomplete + "\"orders.#\"", {{"OUTBOX_RELAY_UNROUTED", "drop"}}));
}

TEST_F(ConfigTest, ATableHasASinkOrRoutes) {
  EXPECT_THAT(LoadText(std::string(kRoutes), {{"OUTBOX_RELAY_SINK", "null:"}}).error().message(),
              HasSubstr("has both a sink and routes"));
  EXPECT_THAT(
      LoadText(std::string(kRoutes), {{"OUTBOX_RELAY_CLAIM", "transaction"}}).error().message(),
      HasSubstr("deliveries to several sinks are claimed by lease"));
}

}  // namespace
}  // namespace outbox::config
