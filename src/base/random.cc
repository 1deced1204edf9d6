#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace outbox::base {

std::uint64_t RandomBits() {
  // A small buffer per thread: one system call for many ids.
  constexpr std::size_t kCount = 32;
  thread_local std::uint64_t buffer[kCount];
  thread_local std::size_t left = 0;
  if (left == 0) {
    OUTBOX_CHECK(getrandom(buffer, sizeof buffer, 0) == static_cast<ssize_t>(sizeof buffer));
    left = kCount;
  }
  return buffer[--left];
}

}  // namespace outbox::base
