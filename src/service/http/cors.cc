#include "service/http/cors.h"

#include <algorithm>

#include "service/http/router.h"

namespace outbox::service {

bool Cors::Lists(std::string_view origin) const noexcept {
  return std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

bool Cors::IsPreflight(Method method, const Headers& request) const noexcept {
  return !origins_.empty() && method == Method::kOptions && !request.Find("Origin").empty() &&
         !request.Find("Access-Control-Request-Method").empty();
}

void Cors::AllowPreflight(const std::vector<Method>& methods, const Headers& request,
                          std::vector<std::pair<std::string, std::string>>& fields) const {
  if (!Lists(request.Find("Origin"))) return;
  fields.emplace_back("Access-Control-Allow-Methods", AllowText(methods));
  fields.emplace_back("Access-Control-Allow-Headers",
                      "Authorization, Content-Type, Last-Event-ID, X-Request-Id");
  fields.emplace_back("Access-Control-Max-Age", "600");
}

void Cors::Allow(const Headers& request,
                 std::vector<std::pair<std::string, std::string>>& fields) const {
  if (origins_.empty()) return;
  fields.emplace_back("Vary", "Origin");
  const std::string_view origin = request.Find("Origin");
  if (!Lists(origin)) return;
  fields.emplace_back("Access-Control-Allow-Origin", origin);
  fields.emplace_back("Access-Control-Expose-Headers", "Retry-After, X-Request-Id");
}

}  // namespace outbox::service
