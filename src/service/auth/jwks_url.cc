#include "service/auth/jwks_url.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "service/auth/jwks.h"

namespace outbox::service {
namespace {

constexpr std::uint32_t kDoublingsMax = 10;

}  // namespace

JwksUrl::JwksUrl(JwksUrlOptions options, const Notice& notice, std::chrono::milliseconds patience)
    : options_(std::move(options)),
      fetch_(options_.url, options_.ca),
      failure_(notice),
      skipped_(notice) {
  Lock lock(mutex_);
  thread_ = std::thread([this] { Run(); });
  WaitForFetch(lock, patience);
}

JwksUrl::~JwksUrl() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  fetch_.Stop();
  changed_.notify_all();
  fetched_.notify_all();
  thread_.join();
}

std::shared_ptr<const KeySet> JwksUrl::Keys() {
  const Lock lock(mutex_);
  return keys_;
}

void JwksUrl::Refresh(std::chrono::milliseconds patience) {
  Lock lock(mutex_);
  if (!fetching_) {
    wanted_ = true;
    changed_.notify_all();
    if (Clock::now() < NextFetch()) return;
  }
  if (waiters_ < options_.waiters_max) WaitForFetch(lock, patience);
}

void JwksUrl::WaitForFetch(Lock& lock, std::chrono::milliseconds patience) {
  const std::uint64_t before = fetches_;
  ++waiters_;
  fetched_.wait_for(lock, patience, [&] { return fetches_ != before || stopping_; });
  --waiters_;
}

JwksUrl::Clock::time_point JwksUrl::NextFetch() const {
  if (fetches_ == 0) return Clock::time_point::min();
  if (wanted_) return started_at_ + options_.floor;
  if (failures_ == 0) return started_at_ + std::max(options_.interval, options_.floor);
  const auto pause = options_.floor * (1U << std::min(failures_ - 1, kDoublingsMax));
  return started_at_ +
         std::clamp(pause, options_.floor, std::max(options_.interval, options_.floor));
}

void JwksUrl::Run() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (const auto next = NextFetch(); Clock::now() < next) {
      changed_.wait_until(lock, next);
      continue;
    }
    wanted_ = false;
    fetching_ = true;
    started_at_ = Clock::now();
    lock.unlock();
    auto keys = Fetch();
    lock.lock();
    fetching_ = false;
    ++fetches_;
    failures_ = keys.ok() ? 0 : failures_ + 1;
    if (keys.ok()) keys_ = std::make_shared<const KeySet>(*std::move(keys));
    fetched_.notify_all();
  }
}

Result<KeySet> JwksUrl::Fetch() {
  const std::string what = base::StrCat("keys of ", fetch_.host());
  auto text = fetch_.Get(options_.timeout);
  auto jwks = text.ok() ? ParseJwks(*text, JwksOrigin::kRemote) : Result<Jwks>(text.error());
  // A set of nothing would lock everybody out, and is what a server gives that is being set up.
  if (jwks.ok() && jwks->keys.empty()) jwks = Status::Invalid("has no key that can be used here");
  if (!jwks.ok()) {
    if (jwks.error().code() == Code::kCancelled) return jwks.error();
    const std::string why =
        text.ok() ? base::StrCat("the answer ", jwks.error().message()) : jwks.error().message();
    failure_.Set(base::StrCat(what, " can not be fetched: ", why, "; those known stay in use"));
    return jwks.error();
  }
  failure_.Set("");
  skipped_.Set(jwks->skipped.empty()
                   ? ""
                   : base::StrCat(what, ": left out ", base::Join(jwks->skipped, "; ")));
  return std::move(jwks->keys);
}

}  // namespace outbox::service
