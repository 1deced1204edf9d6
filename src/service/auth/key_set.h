// KeySet: keys of one origin, at one moment. KeySource: an origin whose keys may change.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "service/auth/verification_key.h"

namespace outbox::service {

// More than this many keys of one origin are not kept.
inline constexpr std::size_t kKeysMax = 64;

// Constant once shared. No two keys have the same algorithm and kid, except that several may have
// none.
using KeySet = std::vector<VerificationKey>;

// Threads: any number at once.
class KeySource {
 public:
  virtual ~KeySource() = default;

  // The newest keys known; null when there have been none yet. Never waits for a network.
  virtual std::shared_ptr<const KeySet> Keys() = 0;

  // A token asks for a key that Keys() does not have: looks for newer ones, within `patience`.
  virtual void Refresh(std::chrono::milliseconds patience) = 0;
};

// Keys that do not change.
class FixedKeys final : public KeySource {
 public:
  explicit FixedKeys(KeySet keys) : keys_(std::make_shared<const KeySet>(std::move(keys))) {}

  std::shared_ptr<const KeySet> Keys() override { return keys_; }
  void Refresh(std::chrono::milliseconds) override {}

 private:
  const std::shared_ptr<const KeySet> keys_;
};

}  // namespace outbox::service
