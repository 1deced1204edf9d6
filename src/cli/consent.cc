#include "cli/consent.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "cli/terminal.h"

namespace outbox::cli {

using base::StrCat;

Status RequireLocal(const store::Backend& backend, bool allow_remote) {
  const char* variable = std::getenv("OUTBOX_ALLOW_REMOTE");
  const bool allowed = allow_remote || (variable != nullptr && variable == std::string_view("1"));
  if (allowed || backend.local()) return Status::Ok();
  return Status::Permanent(Code::kPermission,
                           StrCat(backend.description(), " is not on this machine"))
      .WithHint("if you mean it, give --allow-remote or set OUTBOX_ALLOW_REMOTE=1");
}

Status AskFirst(const std::string& change, bool yes, const std::string& hint) {
  if (yes) return Status::Ok();
  if (!IsTerminal(STDIN_FILENO)) {
    return Status::Invalid(StrCat("would ", change, ", and nobody is here to ask")).WithHint(hint);
  }
  return Confirm(StrCat(change, "?")) ? Status::Ok()
                                      : Status::Permanent(Code::kCancelled, "nothing was changed");
}

}  // namespace outbox::cli
