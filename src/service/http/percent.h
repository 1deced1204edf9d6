// Percent-encoding as URLs have it, read strictly.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::service {

// Nothing when an escape is broken, or when what comes out has control characters or is not UTF-8.
// Outside of escapes only visible ASCII is taken.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space);

// "/a/b%20c" -> {"a", "b c"}; "/" -> {}; a slash at the end is an empty last segment. Nothing when
// `path` does not begin with a slash, can not be decoded, or goes up or stays with "..", ".".
std::optional<std::vector<std::string>> SplitPath(std::string_view path);

}  // namespace outbox::service
