// The version of the library and of the program; they are always the same.
#pragma once

#include <string_view>

#define OUTBOX_VERSION_MAJOR 0
#define OUTBOX_VERSION_MINOR 1
#define OUTBOX_VERSION_PATCH 0
#define OUTBOX_VERSION_STRING "0.1.0"

namespace outbox {

// Of the library that was linked, which may differ from the header's.
std::string_view Version() noexcept;

}  // namespace outbox
