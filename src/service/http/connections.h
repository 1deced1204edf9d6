// Connections: those that are open, how many there may be, and the word to end them.
//
// Threads: any number at once. Outlives every Ticket.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "outbox/deadline.h"

namespace outbox::service {

// What a connection is to whoever stops the server. Called on any thread; returns at once.
class Stoppable {
 public:
  virtual ~Stoppable() = default;
  virtual void BeginStop() = 0;  // finish the request, then close
  virtual void Abort() = 0;      // close now
};

class Connections {
 public:
  // The right to be open; gives it back when destroyed.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket();
    void Register(std::weak_ptr<Stoppable> connection);

   private:
    friend class Connections;
    using Entry = std::list<std::weak_ptr<Stoppable>>::iterator;
    Ticket(Connections* owner, std::string address, Entry entry);

    Connections* owner_;
    std::string address_;
    Entry entry_;
  };

  // `per_address_max` 0: no such limit.
  Connections(std::size_t max, std::size_t per_address_max)
      : max_(max), per_address_max_(per_address_max) {}

  // Nothing when there are too many, in all or from this address.
  std::optional<Ticket> Admit(const std::string& address);

  void BeginStop();
  void Abort();
  // True when none is left.
  bool WaitUntilNone(Deadline deadline);

  std::size_t count() const;
  std::size_t refused() const;

 private:
  template <typename Call>
  void ForEach(Call call);

  const std::size_t max_;
  const std::size_t per_address_max_;

  mutable std::mutex mutex_;
  std::condition_variable none_;
  std::list<std::weak_ptr<Stoppable>> open_;
  std::map<std::string, std::size_t> per_address_;
  std::size_t refused_ = 0;
};

}  // namespace outbox::service
