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
  void (*append)(const Message&, std::string&);
};

constexpr std::array<NamedField, 10> kFields{{
    {"topic", [](const Message& m, std::string& text) { text += m.topic; }},
    {"event_type", [](const Message& m, std::string& text) { text += m.event_type; }},
    {"event_version",
     [](const Message& m, std::string& text) { text += std::to_string(m.event_version); }},
    {"key", [](const Message& m, std::string& text) { text += m.key; }},
    {"tenant_id",
     [](const Message& m, std::string& text) {
       if (m.tenant_id) text += m.tenant_id->ToString();
     }},
    {"namespace", [](const Message& m, std::string& text) { text += m.name_space; }},
    {"aggregate_type", [](const Message& m, std::string& text) { text += m.aggregate_type; }},
    {"aggregate_id", [](const Message& m, std::string& text) { text += m.aggregate_id; }},
    {"table", [](const Message& m, std::string& text) { text += m.table; }},
    {"id", [](const Message& m, std::string& text) { text += m.id.ToString(); }},
}};

Status UnknownField(std::string_view name) {
  std::vector<std::string> known;
  known.reserve(kFields.size());
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
    parsed.parts_.push_back({std::exchange(literal, {}), field->append});
    i = end;
  }
  parsed.parts_.push_back({std::move(literal)});
  return parsed;
}

std::string TextTemplate::Render(const Message& message) const {
  std::string text;
  for (const Part& part : parts_) {
    text += part.literal;
    if (part.field != nullptr) part.field(message, text);
  }
  return text;
}

std::string TextTemplate::Sample() const {
  std::string text;
  for (const Part& part : parts_) {
    text += part.literal;
    if (part.field != nullptr) text += 'x';
  }
  return text;
}

}  // namespace outbox::sink
