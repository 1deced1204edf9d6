#include "service/api/whose.h"

namespace outbox::service {

bool SeesAllTenants(const Principal& who) { return who.operator_scope || who.unrestricted; }

Result<store::Scope> WhoseRows(const Request& request, const Principal& who) {
  const auto named = request.query.Find("tenant");
  const bool all = SeesAllTenants(who);
  if (named && !all) {
    return Status::Invalid("tenant: is for operators; a tenant's token says whose rows it sees");
  }
  if (named) {
    const auto tenant = Uuid::Parse(*named);
    if (!tenant) return Status::Invalid("tenant: is not a UUID");
    return store::Scope::Tenant(*tenant);
  }
  if (all) return store::Scope::All();
  if (!who.tenant) return Status::Permanent(Code::kPermission, "this token belongs to no tenant");
  return store::Scope::Tenant(*who.tenant);
}

}  // namespace outbox::service
