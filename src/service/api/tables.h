// Tables: the outbox tables that the API shows, and the database sessions to ask them with.
//
// A handler borrows a session for the time of its call; idle ones are kept: one for each table, and
// a few more. How many are borrowed at once is bounded by the server's workers.
//
// Threads: any number at once; a borrowed session is used by one.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "service/api/steady_store.h"
#include "store/backend.h"

namespace outbox::service {

class Tables {
 public:
  // Gives the session back when it goes, unless it is broken.
  class Session {
   public:
    Session(Tables& tables, std::string table, std::unique_ptr<SteadyStore> store)
        : tables_(tables), table_(std::move(table)), store_(std::move(store)) {}
    Session(Session&&) noexcept = default;
    Session& operator=(Session&&) = delete;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
      if (store_ != nullptr) tables_.GiveBack(table_, std::move(store_));
    }

    store::InspectStore* operator->() const noexcept { return store_.get(); }
    store::InspectStore& operator*() const noexcept { return *store_; }

   private:
    Tables& tables_;
    std::string table_;
    std::unique_ptr<SteadyStore> store_;
  };

  // `backend` outlives it.
  Tables(store::Backend& backend, std::vector<std::string> names);

  // As they are shown: "public.orders_outbox".
  const std::vector<std::string>& names() const noexcept { return names_; }
  // kNotFound for a table that is not one of them; other failures are ours (store_error.h).
  Result<Session> Borrow(std::string_view table, Deadline deadline);
  bool Has(std::string_view table) const;
  std::size_t idle() const;

  store::Backend& backend() const noexcept { return backend_; }

 private:
  static constexpr std::size_t kMoreIdleMax = 4;  // than one for each table

  Result<std::unique_ptr<store::InspectStore>> OpenAnew(const std::string& table,
                                                        Deadline deadline);
  void GiveBack(const std::string& table, std::unique_ptr<SteadyStore> store);

  store::Backend& backend_;
  const std::vector<std::string> names_;

  std::size_t IdleLocked() const;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::vector<std::unique_ptr<SteadyStore>>, std::less<>> idle_;
};

}  // namespace outbox::service
