// Access: who may call an endpoint. Turns a handler that wants to know who is asking into one that
// a Router takes.
//
//   401 without a token, or with one that is refused; 403 when the token lacks the permission; 429
//   when its subject asks too often, with whichever tokens, or when an address keeps on sending
//   what is refused.
//
// Threads: any number at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/auth/authenticator.h"
#include "service/http/rate_limiter.h"
#include "service/http/router.h"

namespace outbox::service {

namespace permission {
// Of tenants, as their own system grants them.
inline constexpr std::string_view kNotificationsRead = "integrations:notifications:read";
inline constexpr std::string_view kNotificationsWrite = "integrations:notifications:write";
inline constexpr std::string_view kNotificationsDelete = "integrations:notifications:delete";
// The same for the messages of any outbox table.
inline constexpr std::string_view kMessagesRead = "outbox:messages:read";
inline constexpr std::string_view kMessagesWrite = "outbox:messages:write";
inline constexpr std::string_view kMessagesDelete = "outbox:messages:delete";
inline constexpr std::string_view kMessagesEnqueue = "outbox:messages:enqueue";
}  // namespace permission

class Access {
 public:
  using KnownHandler = std::function<Response(const Request&, const Principal&)>;

  // Where authentication is switched off, pages of other origins than these are refused (403).
  Access(std::unique_ptr<Authenticator> authenticator, RateLimiterOptions calls,
         RateLimiterOptions refusals, std::vector<std::string> origins = {})
      : authenticator_(std::move(authenticator)),
        calls_(calls),
        refusals_(refusals),
        origins_(std::move(origins)) {}

  // For holders of a permission. Operators have every permission.
  Handler Permitted(std::string_view permission, KnownHandler handler);
  // The same, and the token belongs to a tenant.
  Handler OfTenant(std::string_view permission, KnownHandler handler);
  // For operators only. Waits up to `patience` for a key that a token names and nobody knows yet.
  Handler Operators(KnownHandler handler,
                    std::chrono::milliseconds patience = Authenticator::kPatience);

  // Before the body of a request is read: the answer to one whose token is missing or refused.
  std::optional<Response> Refusal(const Request& request);
  // Authentication is switched off, and a page of others asks.
  bool IsOfOthers(const Request& request) const;
  // Whether an operator asks. Does not wait for keys.
  bool IsOperator(const Request& request) const;
  // Says later on whether the token of this request would still be accepted: false when it has
  // expired or its key is gone. Does not wait for keys. Not to be called after this Access.
  std::function<bool()> WhetherStillGood(const Request& request) const;

  const Authenticator& authenticator() const noexcept { return *authenticator_; }

 private:
  std::optional<Principal> Identify(const Request& request, Response& refused,
                                    std::chrono::milliseconds patience);
  Response Refused(const Request& request, Response refused);
  // No value and `refused` set: the answer.
  std::optional<Principal> Check(const Request& request, Response& refused,
                                 std::chrono::milliseconds patience = Authenticator::kPatience);

  const std::unique_ptr<Authenticator> authenticator_;
  RateLimiter calls_;     // by subject
  RateLimiter refusals_;  // by address: tokens that are refused have no name to count by
  const std::vector<std::string> origins_;
};

}  // namespace outbox::service
