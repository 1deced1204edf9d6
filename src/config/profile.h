// Profiles: named sets of defaults. `default` is the product's own, chosen for speed and safety;
// each of the others behaves like a known outbox, so that a team can move without changing
// behaviour.
//
// A profile is nothing but defaults: whatever a file, the environment or a flag says, wins.
// docs/reference/profiles.md is the table for people.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace outbox::config {

struct Setting {
  std::string_view key;   // "relay.batch_size"
  std::string_view text;  // "50"
};

struct Profile {
  std::string_view name;
  std::string_view summary;
  std::vector<Setting> settings;
  // Keys it has no defaults for: a person must choose.
  std::vector<std::string_view> required = {};
  // Variables that the outbox it follows is configured by. Where nobody chooses a profile and there
  // is no file, any of them chooses this one; see Sources::by_variables.
  std::vector<std::string_view> variables = {};
  // Without a table it runs and delivers nothing; for others that is a mistake.
  bool may_be_idle = false;
};

std::span<const Profile> Profiles();

// Null for a name that is not one.
const Profile* FindProfile(std::string_view name);

// Null for a variable that belongs to no profile.
const Profile* FindProfileByVariable(std::string_view variable);

}  // namespace outbox::config
