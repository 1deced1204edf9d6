// Base64url without padding, as tokens and JSON web keys use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outbox::service {

std::string Base64UrlEncode(std::string_view bytes);

// Takes exactly what Base64UrlEncode writes: no padding, no white space, no "+" and "/", and no set
// bits beyond the last byte. So there is one text for given bytes, and no second spelling of a
// token.
std::optional<std::string> Base64UrlDecode(std::string_view text);

}  // namespace outbox::service
