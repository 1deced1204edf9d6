#include "service/api/new_message.h"

#include "message/message_line.h"
#include "service/http/json_body.h"

namespace outbox::service {

Result<NewMessage> ReadNewMessage(std::string_view body, const store::Scope& scope) {
  OUTBOX_RETURN_IF_ERROR(ParseJson(body).error());
  OUTBOX_ASSIGN_OR_RETURN(NewMessage message, message::ParseMessageLine(body));
  if (!scope.tenant()) return message;
  if (message.tenant_id && *message.tenant_id != *scope.tenant()) {
    return Status::Invalid("tenant_id: is not the tenant this request is made for");
  }
  message.tenant_id = scope.tenant();
  return message;
}

}  // namespace outbox::service
