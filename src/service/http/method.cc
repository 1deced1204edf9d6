#include "service/http/method.h"

namespace outbox::service {

std::string_view ToString(Method method) noexcept {
  switch (method) {
    case Method::kGet: return "GET";
    case Method::kHead: return "HEAD";
    case Method::kPost: return "POST";
    case Method::kPut: return "PUT";
    case Method::kPatch: return "PATCH";
    case Method::kDelete: return "DELETE";
    case Method::kOptions: return "OPTIONS";
  }
  return "OTHER";
}

std::optional<Method> ParseMethod(std::string_view text) noexcept {
  for (const Method method : kMethods) {
    if (ToString(method) == text) return method;
  }
  return std::nullopt;
}

}  // namespace outbox::service
