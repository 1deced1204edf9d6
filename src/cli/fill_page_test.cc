#include "cli/fill_page.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/matchers.h"

namespace outbox::cli {
namespace {

// Has a message in every `every`-th part, and `parts` parts.
class SparseStore final : public store::InspectStore {
 public:
  SparseStore(int parts, int every) : parts_(parts), every_(every) {}

  Result<store::ListPage> List(const store::Scope&, const store::ListFilter& filter,
                               Deadline) override {
    ++calls_;
    const int part = filter.after.empty() ? 1 : std::stoi(filter.after) + 1;
    store::ListPage page;
    if (part % every_ == 0) page.rows.emplace_back();
    if (part < parts_) page.next = std::to_string(part);
    return page;
  }
  int calls() const { return calls_; }

  Result<store::NumberedPage> ListNumbered(const store::Scope&, const store::ListFilter&,
                                           std::size_t, Deadline) override {
    return store::NumberedPage{};
  }
  Result<std::optional<store::StoredMessage>> Get(const store::Scope&, const Uuid&,
                                                  Deadline) override {
    return std::optional<store::StoredMessage>();
  }
  Result<std::vector<store::Attempt>> Attempts(const store::Scope&, const Uuid&,
                                               Deadline) override {
    return std::vector<store::Attempt>();
  }
  Result<store::TableStats> Stats(const store::Scope&, bool, Deadline) override {
    return store::TableStats{};
  }
  Result<store::RepairResult> RetryOne(const store::Scope&, const Uuid&, const store::Audit*,
                                       Deadline) override {
    return store::RepairResult{};
  }
  Result<store::RepairResult> DeleteOne(const store::Scope&, const Uuid&, const store::Audit*,
                                        Deadline) override {
    return store::RepairResult{};
  }
  Result<std::size_t> Retry(const store::Scope&, const store::RepairTarget&, bool, std::size_t,
                            Deadline) override {
    return std::size_t{0};
  }
  Result<std::size_t> Delete(const store::Scope&, const store::RepairTarget&, bool, std::size_t,
                             Deadline) override {
    return std::size_t{0};
  }

 private:
  const int parts_;
  const int every_;
  int calls_ = 0;
};

Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

TEST(FillPage, TakesAsManyPartsAsThePageNeeds) {
  SparseStore store(100, 3);
  const auto filled = FillPage(store, store::Scope::All(), {.limit = 4}, Soon());
  ASSERT_OK(filled);
  EXPECT_TRUE(filled->whole);
  EXPECT_EQ(filled->page.rows.size(), 4U);
  EXPECT_EQ(filled->page.next, "12");
  EXPECT_EQ(store.calls(), 12);
}

TEST(FillPage, EndsWithTheList) {
  SparseStore store(5, 2);
  const auto filled = FillPage(store, store::Scope::All(), {.limit = 50}, Soon());
  ASSERT_OK(filled);
  EXPECT_TRUE(filled->whole);
  EXPECT_EQ(filled->page.rows.size(), 2U);
  EXPECT_EQ(filled->page.next, "");
}

TEST(FillPage, GivesUpAfterABoundedNumberOfPartsAndSaysWhereToGoOn) {
  SparseStore store(300, 250);
  store::ListFilter filter{.limit = 50};
  int pages = 0;
  std::size_t rows = 0;
  do {
    const int before = store.calls();
    const auto filled = FillPage(store, store::Scope::All(), filter, Soon());
    ASSERT_OK(filled);
    EXPECT_LE(store.calls() - before, kPartsMax);
    EXPECT_EQ(filled->whole, filled->page.next.empty());
    rows += filled->page.rows.size();
    filter.after = filled->page.next;
    ++pages;
  } while (!filter.after.empty());
  EXPECT_EQ(rows, 1U) << "nothing is passed over";
  EXPECT_EQ(pages, 10);
}

}  // namespace
}  // namespace outbox::cli
