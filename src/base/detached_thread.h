// Detached threads, counted: those that nobody joins, because what they call may hang for ever.
//
//   base::Detach([…] { getaddrinfo(…); });
//
// Whoever ends the process must not tear down, as static destructors and exit handlers do, what
// such a thread still uses: while any runs, the program ends with _exit.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>

namespace outbox::base {

class DetachedThreads {
 public:
  static std::size_t running() noexcept { return Count(); }
  // For a thread that is detached while it runs; and when it ends after all.
  static void Add() noexcept { ++Count(); }
  static void Remove() noexcept { --Count(); }

 private:
  static std::atomic<std::size_t>& Count() noexcept {
    static std::atomic<std::size_t> count = 0;
    return count;
  }
};

// Runs `work` on a thread of its own. Throws std::system_error when there is none to be had. `work`
// is destroyed on that thread, while it still counts.
template <typename Work>
void Detach(Work work) {
  struct Counted {
    Counted() { DetachedThreads::Add(); }
    Counted(Counted&& other) noexcept : counts(std::exchange(other.counts, false)) {}
    Counted& operator=(Counted&&) = delete;
    ~Counted() {
      if (counts) DetachedThreads::Remove();
    }
    bool counts = true;
  };
  std::thread([counted = Counted(), work = std::move(work)]() mutable {
    const Counted held(std::move(counted));
    Work here(std::move(work));
    here();
  }).detach();
}

}  // namespace outbox::base
