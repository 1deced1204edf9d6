// What becomes of a call when the session with the database is lost.
#include "service/api/steady_store.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

// Counts its calls, and answers each with the same.
class SessionStub final : public store::InspectStore {
 public:
  SessionStub(Status answer, int& calls) : answer_(std::move(answer)), calls_(calls) {}

  Result<store::ListPage> List(const store::Scope&, const store::ListFilter&, Deadline) override {
    return Answer(store::ListPage{});
  }
  Result<store::NumberedPage> ListNumbered(const store::Scope&, const store::ListFilter&,
                                           std::size_t, Deadline) override {
    return Answer(store::NumberedPage{});
  }
  Result<std::optional<store::StoredMessage>> Get(const store::Scope&, const Uuid&,
                                                  Deadline) override {
    return Answer(std::optional<store::StoredMessage>());
  }
  Result<store::TableStats> Stats(const store::Scope&, bool, Deadline) override {
    return Answer(store::TableStats{});
  }
  Result<std::vector<store::Attempt>> Attempts(const store::Scope&, const Uuid&,
                                               Deadline) override {
    return Answer(std::vector<store::Attempt>());
  }
  Result<store::RepairResult> RetryOne(const store::Scope&, const Uuid&, const store::Audit*,
                                       Deadline) override {
    return Answer(store::RepairResult{});
  }
  Result<store::RepairResult> DeleteOne(const store::Scope&, const Uuid&, const store::Audit*,
                                        Deadline) override {
    return Answer(store::RepairResult{});
  }
  Result<std::size_t> Retry(const store::Scope&, const store::RepairTarget&, bool, std::size_t,
                            Deadline) override {
    return Answer(std::size_t{1});
  }
  Result<std::size_t> Delete(const store::Scope&, const store::RepairTarget&, bool, std::size_t,
                             Deadline) override {
    return Answer(std::size_t{1});
  }

 private:
  template <typename T>
  Result<T> Answer(T value) {
    ++calls_;
    if (!answer_.ok()) return answer_;
    return value;
  }

  const Status answer_;
  int& calls_;
};

const Status kLostSession = Status::InDoubt(Code::kUnavailable, "the connection was lost");
const store::Scope kEverybody = store::Scope::All();
const Deadline kFar = Deadline::After(std::chrono::hours(1));

// A store whose session answers with `first`, and any new one with `then`.
struct SteadyCase {
  explicit SteadyCase(const Status& first, const Status& then = Status::Ok())
      : store(std::make_unique<SessionStub>(first, calls), [this, then](Deadline) {
          ++opened;
          return Result<std::unique_ptr<store::InspectStore>>(
              std::make_unique<SessionStub>(then, calls));
        }) {}

  int calls = 0;
  int opened = 0;
  SteadyStore store;
};

TEST(SteadyStore, ReadsAreDoneAgainInANewSession) {
  const std::vector<std::function<Status(SteadyStore&)>> reads{
      [](auto& store) { return store.List(kEverybody, {}, kFar).error(); },
      [](auto& store) { return store.ListNumbered(kEverybody, {}, 1, kFar).error(); },
      [](auto& store) { return store.Get(kEverybody, {}, kFar).error(); },
      [](auto& store) { return store.Stats(kEverybody, false, kFar).error(); },
      [](auto& store) { return store.Attempts(kEverybody, {}, kFar).error(); },
      [](auto& store) { return store.Retry(kEverybody, {}, true, 1, kFar).error(); },
      [](auto& store) { return store.Delete(kEverybody, {}, true, 1, kFar).error(); }};
  for (const auto& read : reads) {
    SteadyCase lost(kLostSession);
    EXPECT_OK(read(lost.store));
    EXPECT_EQ(lost.opened, 1);
    EXPECT_EQ(lost.calls, 2);
    EXPECT_FALSE(lost.store.broken()) << "the new session may be kept";
  }
}

TEST(SteadyStore, ChangesAreNeverRepeated) {
  const std::vector<std::function<Status(SteadyStore&)>> changes{
      [](auto& store) { return store.RetryOne(kEverybody, {}, nullptr, kFar).error(); },
      [](auto& store) { return store.DeleteOne(kEverybody, {}, nullptr, kFar).error(); },
      [](auto& store) { return store.Retry(kEverybody, {}, false, 1, kFar).error(); },
      [](auto& store) { return store.Delete(kEverybody, {}, false, 1, kFar).error(); }};
  for (const auto& change : changes) {
    SteadyCase lost(kLostSession);
    EXPECT_EQ(change(lost.store).code(), Code::kUnavailable);
    EXPECT_EQ(lost.calls, 1);
    EXPECT_EQ(lost.opened, 0);
    EXPECT_TRUE(lost.store.broken());
  }
}

TEST(SteadyStore, TriesOnceAndNotAfterTheDeadline) {
  SteadyCase twice(kLostSession, kLostSession);
  EXPECT_THAT(twice.store.Stats(kEverybody, false, kFar), HasCode(Code::kUnavailable));
  EXPECT_EQ(twice.calls, 2);
  EXPECT_TRUE(twice.store.broken());
  SteadyCase late(kLostSession);
  EXPECT_THAT(late.store.Stats(kEverybody, false, Deadline::After({})),
              HasCode(Code::kUnavailable));
  EXPECT_EQ(late.opened, 0);
}

TEST(SteadyStore, OtherFailuresAreAnswers) {
  for (const Code code : {Code::kInvalidArgument, Code::kNotFound, Code::kConflict}) {
    SteadyCase refused(Status::Permanent(code, "no"));
    EXPECT_FALSE(refused.store.Stats(kEverybody, false, kFar).ok());
    EXPECT_EQ(refused.opened, 0);
    EXPECT_FALSE(refused.store.broken());
  }
  SteadyCase slow(Status::Retry(Code::kDeadline, "too slow"));
  EXPECT_THAT(slow.store.Stats(kEverybody, false, kFar), HasCode(Code::kDeadline));
  EXPECT_EQ(slow.opened, 0) << "there is no time for more";
  EXPECT_TRUE(slow.store.broken());
}

TEST(SteadyStore, AFailureOfTheDatabaseIsNotTheClients) {
  const auto told = [](const Status& error) {
    const auto asked = SteadyCase(error).store.Stats(kEverybody, false, kFar);
    EXPECT_EQ(asked.error().message(), error.message());
    return asked.error().code();
  };
  // A cursor that is none.
  EXPECT_EQ(told(Status::Invalid("after: is not a position")), Code::kInvalidArgument);
  // A role without rights, a table that was renamed, a column that is gone.
  for (const Code code : {Code::kPermission, Code::kNotFound, Code::kSchema}) {
    EXPECT_EQ(told(Status::Permanent(code, "no").WithNative("42000")), Code::kInternal);
  }
  // A deadlock.
  EXPECT_EQ(told(Status::Retry(Code::kConflict, "no").WithNative("40P01")), Code::kUnavailable);
  // Control tables that were never made: the operators' API explains them.
  EXPECT_EQ(told(Status::Permanent(Code::kSchema, "no")), Code::kSchema);
}

}  // namespace
}  // namespace outbox::service
