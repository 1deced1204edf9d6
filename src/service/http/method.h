// Method: the HTTP methods that routes may have. Others are answered with 501.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace outbox::service {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions };

inline constexpr Method kMethods[] = {Method::kGet,    Method::kHead,  Method::kPost,
                                      Method::kPut,    Method::kPatch, Method::kDelete,
                                      Method::kOptions};

// "GET"
std::string_view ToString(Method method) noexcept;
// Case-sensitive, as HTTP has it.
std::optional<Method> ParseMethod(std::string_view text) noexcept;

}  // namespace outbox::service
