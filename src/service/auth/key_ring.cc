#include "service/auth/key_ring.h"

#include <algorithm>

#include "outbox/deadline.h"
#include "service/auth/refusal.h"

namespace outbox::service {
namespace {

bool AnyMissing(const std::vector<std::shared_ptr<const KeySet>>& sets) {
  return std::any_of(sets.begin(), sets.end(), [](const auto& set) { return set == nullptr; });
}

}  // namespace

Result<KeyRing::KeyPointer> KeyRing::Find(const TokenHeader& header,
                                          std::chrono::milliseconds patience) const {
  KeySets sets = Sets();
  auto key = Select(sets, header);
  // Null: unknown. Newer keys may have it; a token without a kid could be anybody's.
  if (key.ok() && *key == nullptr && (!header.kid.empty() || AnyMissing(sets))) {
    const Deadline deadline = Deadline::After(patience);
    for (const auto& source : sources_) source->Refresh(deadline.remaining());
    sets = Sets();
    key = Select(sets, header);
  }
  if (!key.ok() || *key != nullptr) return key;
  if (AnyMissing(sets)) {
    return Status::Retry(Code::kUnavailable,
                         "the keys that tokens are checked with are not known yet");
  }
  return RefuseToken(header.kid.empty() ? "no key is for the algorithm of the token"
                                        : "the key of the token is unknown");
}

bool KeyRing::Complete() const { return !AnyMissing(Sets()); }

KeyRing::KeySets KeyRing::Sets() const {
  KeySets sets;
  for (const auto& source : sources_) sets.push_back(source->Keys());
  return sets;
}

Result<KeyRing::KeyPointer> KeyRing::Select(const KeySets& sets, const TokenHeader& header) {
  KeyPointer found;
  bool other_algorithm = false;
  for (const auto& set : sets) {
    if (set == nullptr) continue;
    for (const VerificationKey& key : *set) {
      if (!header.kid.empty() && key.kid() != header.kid) continue;
      if (key.algorithm() != header.algorithm) {
        other_algorithm = true;
        continue;
      }
      if (found == nullptr) {
        found = KeyPointer(set, &key);
      } else if (header.kid.empty()) {
        return RefuseToken("the token does not say which key it is signed with");
      }
    }
  }
  if (found == nullptr && other_algorithm && !header.kid.empty()) {
    return RefuseToken("the algorithm of the token is not the one of its key");
  }
  return found;
}

}  // namespace outbox::service
