// What is wrong with a configuration whose values were all understood: values out of range, values
// that contradict each other, and what is missing.
#pragma once

#include <string_view>

#include "config/config.h"

namespace outbox::config {

// Each begins with the place where the value was set, or where the table was named.
Problems ProblemsOf(const Config& config);

// Where a key's value came from; of a key that sets others, where theirs did.
Origin FindOrigin(const Resolved& resolved, std::string_view key);

}  // namespace outbox::config
