#include "base/random.h"

#include <pthread.h>
#include <sys/random.h>

#include "base/check.h"

namespace outbox::base {
namespace {

// A small buffer per thread: one system call for many ids.
constexpr std::size_t kRandomBuffered = 32;
thread_local std::uint64_t random_buffer[kRandomBuffered];
thread_local std::size_t random_left = 0;

// A child process must not go on with its parent's bits: the two would make the same ids.
const int kForgetAtFork = pthread_atfork(nullptr, nullptr, [] { random_left = 0; });

}  // namespace

std::uint64_t RandomBits() {
  if (random_left == 0) {
    OUTBOX_CHECK(kForgetAtFork == 0);
    OUTBOX_CHECK(getrandom(random_buffer, sizeof random_buffer, 0) ==
                 static_cast<ssize_t>(sizeof random_buffer));
    random_left = kRandomBuffered;
  }
  return random_buffer[--random_left];
}

}  // namespace outbox::base
