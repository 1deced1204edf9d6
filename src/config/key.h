// Key: one setting, described once. The table of keys drives the configuration file, the
// environment, the relay's command line flags, `outboxd config`, the reference and the suggestions
// for misspelt names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "outbox/status.h"

namespace outbox::config {

struct Key {
  std::string_view name;         // in the file: "relay.batch_size"
  std::string_view environment;  // "OUTBOX_RELAY_BATCH_SIZE"
  std::string_view table_name;   // in a [[table]], and as --flag of `relay`; empty: not there
  std::string_view help;
  std::string_view type;
  // Of an address: the text without what lets one in. Null: it is shown as it is.
  std::string (*mask)(std::string_view text) = nullptr;

  Status (*set)(Settings& settings, std::string_view text);
  // The text to set it to the same again; empty when it has no value of its own.
  std::string (*print)(const Settings& settings);

  // "--batch-size"; empty without a table_name.
  std::string flag() const;
  // As print, with passwords masked.
  std::string PrintMasked(const Settings& settings) const;
};

// In the order in which they are applied and printed.
std::span<const Key> Keys();

const Key* FindKey(std::string_view name);
const Key* FindTableKey(std::string_view table_name);

// Setting it sets these instead (poll_interval: poll_min and poll_max); empty for most keys.
std::vector<std::string_view> KeysSetBy(std::string_view name);

}  // namespace outbox::config
