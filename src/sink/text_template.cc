#include "sink/text_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

struct NamedField {
  std::string_view name;
  std::string (*read)(const Message&);
};

constexpr std::array<NamedField, 10> kFields{{
    {"topic", [](const Message& m) { return m.topic; }},
    {"event_type", [](const Message& m) { return m.event_type; }},
    {"event_version", [](const Message& m) { return std::to_string(m.event_version); }},
    {"key", [](const Message& m) { return m.key; }},
    {"tenant_id", [](const Message& m) { return m.tenant_id ? m.tenant_id->ToString() : ""; }},
    {"namespace", [](const Message& m) { return m.name_space; }},
    {"aggregate_type", [](const Message& m) { return m.aggregate_type; }},
    {"aggregate_id", [](const Message& m) { return m.aggregate_id; }},
    {"table", [](const Message& m) { return m.table; }},
    {"id", [](const Message& m) { return m.id.ToString(); }},
}};

Status UnknownField(std::string_view name) {
  std::vector<std::string> known;
  for (const NamedField& field : kFields) known.emplace_back(field.name);
  const std::string_view nearest = base::Nearest(name, known);
  return Status::Invalid(StrCat("there is no field {", name, "}"))
      .WithHint(nearest.empty() ? StrCat("fields: {", base::Join(known, "} {"), "}")
                                : StrCat("did you mean {", nearest, "}?"));
}

}  // namespace

Result<TextTemplate> TextTemplate::Parse(std::string_view text) {
  TextTemplate parsed;
  std::string literal;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && text.substr(i + 1, 1) == text.substr(i, 1)) {
      literal += c;
      ++i;
      continue;
    }
    if (c == '}') return Status::Invalid("a '}' closes nothing").WithHint("write }} for one");
    if (c != '{') {
      literal += c;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (end == std::string_view::npos) {
      return Status::Invalid("a '{' is not closed").WithHint("write {{ for one");
    }
    const std::string_view name = text.substr(i + 1, end - i - 1);
    const auto* field = std::find_if(kFields.begin(), kFields.end(),
                                     [&](const NamedField& known) { return known.name == name; });
    if (field == kFields.end()) return UnknownField(name);
    parsed.parts_.push_back({std::exchange(literal, {}), field->read});
    i = end;
  }
  parsed.parts_.push_back({std::move(literal)});
  return parsed;
}

std::string TextTemplate::Render(const Message& message) const {
  std::string text;
  for (const Part& part : parts_) {
    text += part.literal;
    if (part.field != nullptr) text += part.field(message);
  }
  return text;
}

}  // namespace outbox::sink
