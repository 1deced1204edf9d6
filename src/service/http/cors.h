// Cors: which pages of other origins may call. Credentials are bearer tokens, never cookies, so
// Access-Control-Allow-Credentials is never sent.
//
// Immutable: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/http/headers.h"
#include "service/http/method.h"

namespace outbox::service {

class Cors {
 public:
  explicit Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // An OPTIONS by which a browser asks whether it may.
  bool IsPreflight(Method method, const Headers& request) const noexcept;
  // Fields for the answer to such a question; without a listed origin none of them permits
  // anything.
  void AllowPreflight(const std::vector<Method>& methods, const Headers& request,
                      std::vector<std::pair<std::string, std::string>>& fields) const;
  // Fields for any answer.
  void Allow(const Headers& request,
             std::vector<std::pair<std::string, std::string>>& fields) const;

 private:
  bool Lists(std::string_view origin) const noexcept;

  const std::vector<std::string> origins_;
};

}  // namespace outbox::service
