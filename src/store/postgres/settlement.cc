#include "store/postgres/settlement.h"

namespace outbox::store::postgres {

std::int16_t KindNumber(Outcome::Kind kind) noexcept {
  switch (kind) {
    case Outcome::Kind::kDelivered: return 0;
    case Outcome::Kind::kRetry: return 1;
    case Outcome::Kind::kDead: return 2;
    case Outcome::Kind::kReleased: return 3;
  }
  return 3;
}

Settlement::Settlement(std::span<const Outcome> outcomes, std::span<const Message> messages,
                       std::span<const ClaimedRow> rows) {
  for (const Outcome& outcome : outcomes) {
    tids.push_back(rows[outcome.index].tid);
    ids.push_back(messages[outcome.index].id);
    kinds.push_back(KindNumber(outcome.kind));
    retry_ms.push_back(outcome.retry_in.count());
    errors.push_back(outcome.error);
  }
}

Params Settlement::ByTid() const {
  Params params;
  params.TidArray(tids).Int2Array(kinds).Int8Array(retry_ms).TextArray(errors);
  return params;
}

Params Settlement::ById() const {
  Params params;
  params.UuidArray(ids).Int2Array(kinds).Int8Array(retry_ms).TextArray(errors);
  return params;
}

std::vector<std::string> ErrorClasses(std::span<const Outcome> outcomes) {
  std::vector<std::string> classes;
  classes.reserve(outcomes.size());
  for (const Outcome& outcome : outcomes) {
    const bool none = outcome.error_class == Disposition::kNone;
    classes.emplace_back(none ? "" : ToString(outcome.error_class));
  }
  return classes;
}

}  // namespace outbox::store::postgres
