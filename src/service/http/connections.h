// Connections: those that are open, how many there may be, and the word to end them.
//
// When there is no room, the connection that has waited longest for its client is closed for the
// new one: between requests, before its first, in the middle of a header, or of an answer that is
// not taken. One whose request is worked on is never closed so, nor is an event stream. A client
// who does nothing thus keeps nobody out, however many connections he has.
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
  virtual void MakeRoom() = 0;   // close now, or after the answer when a request is worked on
};

class Connections {
 private:
  struct Entry;

 public:
  // So many connections that have been told to make room may still be there, beyond the maximum.
  static constexpr std::size_t kLeavingMax = 32;

  // The right to be open; gives it back when destroyed.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket();
    void Register(std::weak_ptr<Stoppable> connection);
    // From now on it waits for its client, or no longer does.
    void SetWaiting(bool waiting);

   private:
    friend class Connections;
    Ticket(Connections* owner, std::list<Entry>::iterator entry) : owner_(owner), entry_(entry) {}

    Connections* owner_;
    std::list<Entry>::iterator entry_;
  };

  // `per_client_max` 0: no such limit.
  Connections(std::size_t max, std::size_t per_client_max)
      : max_(max), per_client_max_(per_client_max) {}

  // Nothing when there are too many, in all or of this client (client_address.h), and none of them
  // waits.
  std::optional<Ticket> Admit(const std::string& client);

  void BeginStop();
  void Abort();
  // True when none is left.
  bool WaitUntilNone(Deadline deadline);

  std::size_t count() const;
  std::size_t refused() const;    // for want of room
  std::size_t displaced() const;  // told to make room

 private:
  using Waiting = std::list<Entry*>;  // longest first

  struct Client {
    std::size_t open = 0;  // without those that leave
    Waiting waiting;
  };
  struct Entry {
    std::map<std::string, Client>::iterator client;
    std::weak_ptr<Stoppable> connection = {};
    bool waiting = false;
    bool leaving = false;
    Waiting::iterator in_all = {};     // where it waits
    Waiting::iterator in_client = {};  // where it waits
  };

  template <typename Call>
  void ForEach(Call call);
  // REQUIRES for all: mutex_ is held.
  void Unwait(Entry& entry);
  // Tells the first of `waiting` to make room; null when there is none, or too many leave already.
  std::shared_ptr<Stoppable> Displace(const Waiting& waiting);
  void Leave(const Entry& entry);

  const std::size_t max_;
  const std::size_t per_client_max_;

  mutable std::mutex mutex_;
  std::condition_variable none_;
  std::list<Entry> open_;
  Waiting waiting_;
  std::map<std::string, Client> clients_;
  std::size_t leaving_ = 0;
  std::size_t refused_ = 0;
  std::size_t displaced_ = 0;
};

}  // namespace outbox::service
