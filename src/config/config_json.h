// The effective configuration, value by value with its origin; secrets are masked.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/key.h"

namespace outbox::config {

// Where the value of a key came from, for people.
std::string OriginOf(const Resolved& resolved, std::string_view key);

// Calls `each` with a key, its value and its origin: all keys, or those a table may have of its
// own.
void ForEachSetting(const Resolved& resolved, bool table_keys,
                    const std::function<void(const Key&, const std::string& value,
                                             const std::string& origin)>& each);

// {"settings":[{"key":…,"value":…,"origin":…}],"tables":[…]}
std::string ToJson(const Config& config);

}  // namespace outbox::config
