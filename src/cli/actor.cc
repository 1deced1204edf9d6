#include "cli/actor.h"

#include <pwd.h>
#include <unistd.h>

#include "base/text.h"

namespace outbox::cli {

std::string OsActor() {
  char buffer[4096];
  passwd entry{};
  passwd* found = nullptr;
  std::string user = base::StrCat("uid ", getuid());
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) {
    user = found->pw_name;
  }
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  return base::CleanError(base::StrCat(user, "@", std::string_view(host)), 255);
}

}  // namespace outbox::cli
