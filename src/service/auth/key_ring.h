// KeyRing: the keys of all origins, and which of them a token is to be checked with.
//
// A kid selects by being equal, and by nothing else: it is never a path, a query or a pattern. A
// token without one is fine when only one key has its algorithm.
//
// Threads: constant once made; Find from any number at once.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "outbox/status.h"
#include "service/auth/key_set.h"
#include "service/auth/token_header.h"

namespace outbox::service {

class KeyRing {
 public:
  explicit KeyRing(std::vector<std::unique_ptr<KeySource>> sources)
      : sources_(std::move(sources)) {}

  // kPermission: there is no such key, or it is for another algorithm. kUnavailable: it is not
  // known yet, since an origin has never answered. Waits, up to `patience`, only when the token
  // asks for an unknown kid.
  Result<std::shared_ptr<const VerificationKey>> Find(const TokenHeader& header,
                                                      std::chrono::milliseconds patience) const;

  // Every origin has given keys at least once.
  bool Complete() const;

 private:
  using KeyPointer = std::shared_ptr<const VerificationKey>;
  using KeySets = std::vector<std::shared_ptr<const KeySet>>;

  KeySets Sets() const;
  static Result<KeyPointer> Select(const KeySets& sets, const TokenHeader& header);

  std::vector<std::unique_ptr<KeySource>> sources_;
};

}  // namespace outbox::service
