// A relay whose own clock is an hour off. On PostgreSQL only the server's clock decides about
// leases. (SQLite has no server: there the clock of the machine that all relays share is the
// database's.)
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "tests/e2e/support/blocked_pipe.h"
#include "tests/e2e/support/producer.h"
#include "tests/e2e/support/stage.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

std::string FaketimeLibrary() {
  for (const auto& folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"}) {
    const std::string path = StrCat(folder, "/faketime/libfaketime.so.1");
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

// The wall clock is moved; the monotonic one is left alone, as a wrong clock leaves it.
ProcessOptions Skewed(const std::string& offset) {
  if (offset.empty()) return {};
  return {.environment = {{"LD_PRELOAD", FaketimeLibrary()},
                          {"FAKETIME", offset},
                          {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
                          {"DONT_FAKE_MONOTONIC", "1"}}};
}

struct Clocks {
  const char* name;
  const char* holder;  // who has the lease
  const char* other;   // who would like to
};

class ClockSkew : public ::testing::TestWithParam<Clocks> {};
INSTANTIATE_TEST_SUITE_P(Of, ClockSkew,
                         ::testing::Values(Clocks{"HolderFast", "+1h", ""},
                                           Clocks{"HolderSlow", "-1h", ""},
                                           Clocks{"OtherFast", "", "+1h"},
                                           Clocks{"OtherSlow", "", "-1h"}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(ClockSkew, NeitherBreaksALeaseNorKeepsOneForEver) {
  OUTBOX_REQUIRE_POSTGRES();
  if (FaketimeLibrary().empty()) GTEST_SKIP() << "libfaketime is not installed: run 'make deps'";
  const auto stage = Stage::Make(Dialect::kPostgres);
  ASSERT_NE(stage, nullptr);
  ASSERT_TRUE(Produce(stage->sql(),
                      {.per_transaction = 20, .rollback_percent = 0, .payload_bytes = 1000}, 1));
  BlockedPipe pipe(stage->folder() + "/pipe");
  const auto holder = stage->StartRelay("holder", {"--lease", "6s", "--sink", pipe.sink()},
                                        Skewed(GetParam().holder));
  ASSERT_TRUE(WaitFor([&] { return pipe.Reached(); })) << holder->Errors();
  const auto other = stage->StartRelay("other", {"--lease", "6s"}, Skewed(GetParam().other));
  ASSERT_TRUE(WaitFor([&] { return other->Errors().find("relay running") != std::string::npos; }))
      << other->Errors();
  // While the other one looks, the lease is extended again and again.
  const auto lease_end = [&] {
    return stage->sql().Number(
        StrCat("SELECT (extract(epoch FROM min(locked_until)) * 1000)::bigint FROM ", kTable));
  };
  for (int extended = 0; extended < 3; ++extended) {
    const std::int64_t end = lease_end();
    ASSERT_TRUE(WaitFor([&] { return lease_end() > end; })) << holder->Errors();
  }
  EXPECT_EQ(stage->Delivered(), 0u) << "a lease that its holder keeps alive was taken over";
  EXPECT_EQ(stage->Count("processing"), 20);

  holder->Kill();
  EXPECT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << other->Errors();
  const Verdict verdict = stage->Judge();
  PrintVerdict(GetParam().name, verdict, 1, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

}  // namespace
}  // namespace outbox::testing
