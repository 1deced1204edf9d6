// RelayStore and Claim: what the relay needs of a database, and nothing else.
//
// A claim is an object. It holds messages nobody else may deliver now; each is settled once, with
// one outcome. Lease claims and transaction claims are implementations of that one idea, and the
// relay can not tell them apart.
//
// Threads: one thread calls Next and the leadership methods; one (possibly different) thread calls
// Settle and Extend of all claims. Watch's callback comes from a thread of the store's own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/options.h"
#include "outbox/status.h"
#include "store/refused_rows.h"

namespace outbox::store {

// What became of one message of a claim.
struct Outcome {
  enum class Kind : std::uint8_t {
    kDelivered,  // kept or deleted, as the store's retention says
    kRetry,      // pending again, available retry_in from now by the database's clock
    kDead,
    // Pending again and the attempt is not counted: at once, or retry_in from now (postponed).
    kReleased,
  };
  std::uint32_t index = 0;  // into Claim::messages()
  Kind kind = Kind::kReleased;
  std::chrono::milliseconds retry_in{0};
  // For kRetry, kDead and what is postponed: last_error, cut and cleaned by the relay already.
  std::string error;
  // For kReleased: nobody has tried the message. Where the claim itself wrote nothing, its row is
  // left as it is, so that a row which refuses every change can be given back.
  bool untouched = false;
  // What the sink's answer asked for; with `error` for the history of attempts, also of a
  // kReleased.
  Disposition error_class = Disposition::kNone;

  bool postponed() const { return kind == Kind::kReleased && retry_in.count() > 0; }
};

struct SettleReport {
  // Indexes of the messages that were no longer ours; their outcome was not recorded.
  std::vector<std::uint32_t> lost;
};

class Claim {
 public:
  // Destroyed with messages unsettled: a transaction claim is rolled back, a lease left to expire.
  virtual ~Claim() = default;

  // May be called from any thread; the first call may have to read them first.
  virtual std::span<const Message> messages() const = 0;
  // What is known without reading them: how many, and whether the attempt before was cut off for
  // any.
  virtual std::size_t size() const { return messages().size(); }
  virtual bool any_in_doubt() const {
    return std::ranges::any_of(messages(), [](const Message& m) { return m.in_doubt; });
  }

  // Messages this claim found with all attempts used up (their relay died during the last one) and
  // turned dead. Already recorded; for counting and telling.
  virtual std::span<const Message> exhausted() const { return {}; }

  // Records outcomes for some of the messages; each message at most once. In one statement.
  // kRetry or kInDoubt: nothing is known to have been recorded; call again with the same outcomes
  // (messages that were recorded after all are then reported lost). kPermanent: nothing was
  // recorded, and the same outcomes will not be; by lease, some of them may. A transaction claim is
  // void then, its rows are free again.
  virtual Result<SettleReport> Settle(std::span<const Outcome> outcomes, Deadline deadline) = 0;

  // Makes the lease of the messages not settled yet last `lease` from now.
  // Returns the indexes of those that are no longer ours. A transaction claim that fails to answer
  // in time is lost with its connection.
  virtual Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds lease,
                                                    Deadline deadline) = 0;
};

struct ClaimRequest {
  std::size_t limit = 1;
  std::chrono::milliseconds lease{0};
  // Rows with this many attempts behind them are turned dead instead of being claimed.
  std::optional<int> attempts_max;
  // Look at everything that is due, also where an earlier claim has just looked: messages were
  // given back.
  bool from_start = false;
  // Leave messages alone whose lease has run out: the database was away, and their relays get a
  // moment to say that they are there.
  bool spare_expired = false;
};

// A wake-up source; destroying it stops the callbacks.
class Watch {
 public:
  virtual ~Watch() = default;
};

// Until when a relay surely leads, by this machine's steady clock: max() where it does until it
// lets go or dies. None: another one does.
using Leadership = std::optional<std::chrono::steady_clock::time_point>;

struct RelayStoreTraits {
  // Claims that may be open at once. 1 where a claim holds the database's only write lock.
  std::size_t claims_max = 64;
  // False where the outcomes of a claim are written together, by the commit that ends it
  // (transaction claims).
  bool leases = true;
  // True where a claim ends by itself some time after its lease, unless it is extended.
  bool expires = true;
  // True where WatchForWork costs producers nothing, so that it is always worth using.
  bool watch_is_free = false;
};

class RelayStore {
 public:
  virtual ~RelayStore() = default;

  virtual RelayStoreTraits traits() const noexcept = 0;

  // Claims up to `limit` messages that are due, oldest first. An empty claim means nothing was
  // found this time; a short one does not prove that nothing is left. After a lost connection the
  // next call reconnects.
  virtual Result<std::unique_ptr<Claim>> Next(const ClaimRequest& request, Deadline deadline) = 0;

  // The rows that Next has left out since the last call, because the database refuses to change
  // them. They are tried again later.
  virtual std::vector<RefusedRow> TakeRefused() { return {}; }

  // Single-active mode: acquires, confirms or renews the lead of the table. Call before each Next
  // and in good time before the lead ends. A failure changes nothing: a lead that was given lasts
  // until its end.
  virtual Result<Leadership> TryLead(Deadline deadline) = 0;
  virtual void StopLeading() noexcept = 0;

  // True when no message is left that is due, leased or waiting for a retry.
  virtual Result<bool> Drained(Deadline deadline) = 0;

  // Calls `on_work`, perhaps spuriously, soon after messages were committed. Fails, with a message
  // for people, when the signal's self-test failed; polling then has to do.
  virtual Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                                      Deadline deadline) = 0;
};

// What a backend needs to open a RelayStore; the rest of RelayOptions is the relay's business.
struct RelayStoreOptions {
  std::string table;
  std::string relay_id;
  // For how long the lead is given in single-active mode.
  std::chrono::milliseconds lease{std::chrono::seconds(8)};
  ClaimMode claim_mode = ClaimMode::kLease;
  RelayFilter filter;
  // When not empty: claim the deliveries to this destination, by lease; filter does not apply.
  std::string destination;
  Completion completion = Completion::kAll;
  bool keep_delivered = true;
  bool async_ack = false;
  AttemptHistory attempt_history = AttemptHistory::kOff;
  // Of a message that was split: the errors of its deliveries, together.
  std::size_t last_error_bytes_max = 2048;
};

}  // namespace outbox::store
