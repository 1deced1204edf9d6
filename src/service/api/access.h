// Access: who may call an endpoint. Turns a handler that wants to know who is asking into one that
// a Router takes.
//
//   401 without a token, or with one that is refused; 403 when the token lacks the permission; 429
//   when its holder asks too often.
//
// Threads: any number at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

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

  Access(std::unique_ptr<Authenticator> authenticator, RateLimiterOptions limit)
      : authenticator_(std::move(authenticator)), limiter_(limit) {}

  // For holders of a permission. Operators have every permission.
  Handler Permitted(std::string_view permission, KnownHandler handler);
  // The same, and the token belongs to a tenant.
  Handler OfTenant(std::string_view permission, KnownHandler handler);
  // For operators only. Waits up to `patience` for a key that a token names and nobody knows yet.
  Handler Operators(KnownHandler handler,
                    std::chrono::milliseconds patience = Authenticator::kPatience);

  const Authenticator& authenticator() const noexcept { return *authenticator_; }

 private:
  // No value and `refused` set: the answer.
  std::optional<Principal> Check(const Request& request, Response& refused,
                                 std::chrono::milliseconds patience = Authenticator::kPatience);

  const std::unique_ptr<Authenticator> authenticator_;
  RateLimiter limiter_;
};

}  // namespace outbox::service
