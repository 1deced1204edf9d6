// Hiding what lets one in: passwords in URLs, and the values of well-known secret settings.
//
// For texts that came from elsewhere and may have any length: each function looks at a text once,
// from its front to its end, whatever is in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace outbox::base {

// "amqp://user:hunter2@host" becomes "amqp://user:***@host", also when the password has a '/' or
// '@'.
std::string HideUrlPasswords(std::string_view text);

enum class SettingForm : std::uint8_t {
  kAssigned,         // password=…
  kAssignedOrNamed,  // password: … too, and the values of Authorization headers
};

// "password=hunter2 host=x" becomes "password=*** host=x". Names are known in any case and as the
// end of longer ones; a value in quotes is hidden as a whole.
std::string HideSecretSettings(std::string_view text, SettingForm form);

}  // namespace outbox::base
