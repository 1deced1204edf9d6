#include "service/api/actor.h"

#include "base/json_object.h"
#include "base/text.h"

namespace outbox::service {
namespace {

constexpr std::size_t kActorBytesMax = 255;

}  // namespace

std::string ActorOf(const Principal& who) {
  return who.subject.empty() ? "anonymous" : base::CleanError(who.subject, kActorBytesMax);
}

std::optional<store::Audit> AuditOfOperator(const Request& request, const Principal& who,
                                            const Uuid& id) {
  if (!who.operator_scope) return std::nullopt;
  return store::Audit{.actor = ActorOf(who),
                      .request_id = request.id,
                      .filter = base::JsonObject().Add("id", id.ToString()).Finish(),
                      .matched = 1};
}

}  // namespace outbox::service
