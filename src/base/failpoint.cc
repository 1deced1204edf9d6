#include "base/failpoint.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace outbox::base {
namespace {

constexpr int kExitCode = 137;

struct Armed {
  std::string name;
  std::atomic<int> left{1};

  Armed() {
    const char* value = std::getenv("OUTBOX_FAILPOINT");
    if (value == nullptr) return;
    name = value;
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      left = std::atoi(name.c_str() + colon + 1);
      name.resize(colon);
    }
  }
};

}  // namespace

void Failpoint(std::string_view name) {
  static Armed& armed = *new Armed;
  if (armed.name.empty() || armed.name != name) return;
  if (armed.left.fetch_sub(1) == 1) _exit(kExitCode);
}

}  // namespace outbox::base
