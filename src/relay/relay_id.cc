#include "relay/relay_id.h"

#include <unistd.h>

#include <cstdio>

#include "base/random.h"
#include "base/text.h"
#include "outbox/version.h"

namespace outbox::relay {
namespace {

std::string HostName() {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  return base::CleanError(host, 40);
}

}  // namespace

std::string MakeRelayId() {
  char random[9];
  std::snprintf(random, sizeof random, "%08x", static_cast<unsigned>(base::RandomBits()));
  return base::StrCat(HostName(), ":", getpid(), ":", std::string_view(random));
}

store::ProcessInfo ThisProcess() {
  return {
      .id = MakeRelayId(), .host = HostName(), .pid = getpid(), .version = std::string(Version())};
}

}  // namespace outbox::relay
