#include "service/http/request_id.h"

#include <algorithm>

#include "outbox/uuid.h"

namespace outbox::service {
namespace {

constexpr std::size_t kRequestIdBytesMax = 64;

bool IsRequestIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

std::string RequestId(std::string_view offered) {
  const bool usable = !offered.empty() && offered.size() <= kRequestIdBytesMax &&
                      std::all_of(offered.begin(), offered.end(), IsRequestIdCharacter);
  return usable ? std::string(offered) : Uuid::NewV7().ToString();
}

}  // namespace outbox::service
