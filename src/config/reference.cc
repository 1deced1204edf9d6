#include "config/reference.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "config/key.h"
#include "config/profile.h"

namespace outbox::config {
namespace {

using base::StrCat;

std::string Code(std::string_view text) { return text.empty() ? "" : StrCat("`", text, "`"); }

// A bar would end the cell.
std::string Escaped(std::string_view text) { return base::Join(base::Split(text, '|'), "\\|"); }

// What the profile itself says; "set it" where a person must, "–" where it has no opinion.
std::string Cell(const Profile& profile, std::string_view key) {
  for (const Setting& setting : profile.settings) {
    if (setting.key == key) return Code(setting.text);
  }
  const bool required =
      std::find(profile.required.begin(), profile.required.end(), key) != profile.required.end();
  return required ? "*set it*" : "–";
}

std::string DefaultCell(const Key& key) {
  if (key.name == "relay.poll_interval") return "`10ms` to `100ms`";
  return Code(key.print(Settings{}));
}

bool AnyProfileSets(std::string_view key) {
  return std::any_of(Profiles().begin(), Profiles().end(),
                     [&](const Profile& profile) { return Cell(profile, key) != "–"; });
}

}  // namespace

std::string KeyReference() {
  std::string out =
      "| key | in `[[table]]` | environment | type | default | meaning "
      "|\n|---|---|---|---|---|---|\n";
  const Settings defaults;
  for (const Key& key : Keys()) {
    out += StrCat("| `", key.name, "` | ", Code(key.table_name), " | `", key.environment, "` | ",
                  Escaped(key.type), " | ", Code(key.print(defaults)), " | ", key.help, " |\n");
  }
  return out;
}

std::string ProfileReference() {
  std::string header = "| key |";
  std::string rule = "|---|";
  for (const Profile& profile : Profiles()) {
    header += StrCat(" ", profile.name, " |");
    rule += "---|";
  }
  std::string out = StrCat(header, "\n", rule, "\n");
  for (const Key& key : Keys()) {
    if (!AnyProfileSets(key.name)) continue;
    out += StrCat("| `", key.name, "` |");
    for (const Profile& profile : Profiles()) {
      out +=
          StrCat(" ", profile.name == "default" ? DefaultCell(key) : Cell(profile, key.name), " |");
    }
    out += "\n";
  }
  return out;
}

}  // namespace outbox::config
