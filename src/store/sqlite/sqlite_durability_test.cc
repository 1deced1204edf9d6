// Which commits of a relay wait for the disk, as SQLite's file layer sees them.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <tuple>

#include "store/sqlite/test_database.h"

namespace outbox::store::sqlite {
namespace {

// SQLite's own file layer, with the syncs counted. Installed while it lives.
class CountedSyncs {
 public:
  CountedSyncs() : real_(sqlite3_vfs_find(nullptr)), counted_(*real_) {
    instance = this;
    counted_.zName = "counted-syncs";
    counted_.xOpen = &CountedSyncs::Open;
    sqlite3_vfs_register(&counted_, 1);
  }
  ~CountedSyncs() {
    sqlite3_vfs_unregister(&counted_);
    sqlite3_vfs_register(real_, 1);
    instance = nullptr;
  }
  CountedSyncs(const CountedSyncs&) = delete;
  CountedSyncs& operator=(const CountedSyncs&) = delete;

  int During(const std::function<void()>& work) {
    const int before = syncs_;
    work();
    return syncs_ - before;
  }

 private:
  static int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    const int code = instance->real_->xOpen(instance->real_, name, file, flags, out);
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0) return code;
    instance->methods_ = *file->pMethods;
    instance->sync_ = file->pMethods->xSync;
    instance->methods_.xSync = &CountedSyncs::Sync;
    file->pMethods = &instance->methods_;
    return code;
  }
  static int Sync(sqlite3_file* file, int flags) {
    ++instance->syncs_;
    return instance->sync_(file, flags);
  }

  static inline CountedSyncs* instance = nullptr;
  sqlite3_vfs* const real_;
  sqlite3_vfs counted_;
  sqlite3_io_methods methods_{};
  int (*sync_)(sqlite3_file*, int) = nullptr;
  std::atomic<int> syncs_ = 0;
};

class SqliteDurability : public ::testing::TestWithParam<std::tuple<ClaimMode, bool>> {};

TEST_P(SqliteDurability, OnlyAnAckWaitsForTheDiskAndNotWhenToldOtherwise) {
  const auto [mode, async_ack] = GetParam();
  CountedSyncs syncs;
  TestDatabase database;
  // The last to leave would end the log, and the first entry of a new one is always synced.
  const auto stays = database.Connect();
  EXPECT_GT(syncs.During([&] { EXPECT_OK(database.Enqueue(1)); }), 0) << "an enqueue is durable";
  const auto relay = database.OpenRelay({.claim_mode = mode, .async_ack = async_ack});
  std::unique_ptr<Claim> claim;
  EXPECT_EQ(syncs.During([&] { claim = Next(*relay); }), 0);
  ASSERT_EQ(claim->size(), 1U);
  const int settled = syncs.During([&] { EXPECT_OK(claim->Settle(AllDelivered(*claim), Soon())); });
  EXPECT_EQ(settled > 0, !async_ack);
  EXPECT_EQ(database.Count("delivered"), 1);
}

INSTANTIATE_TEST_SUITE_P(On, SqliteDurability,
                         ::testing::Combine(::testing::Values(ClaimMode::kLease,
                                                              ClaimMode::kTransaction),
                                            ::testing::Bool()),
                         [](const auto& parameter) {
                           return std::string(ToString(std::get<0>(parameter.param))) +
                                  (std::get<1>(parameter.param) ? "_async" : "");
                         });

}  // namespace
}  // namespace outbox::store::sqlite
