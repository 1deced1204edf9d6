#include "message/table_name.h"

#include <algorithm>

#include "base/text.h"

namespace outbox::message {
namespace {

bool IsIdentifier(std::string_view text) noexcept {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= TableName::kNameBytesMax && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

Result<TableName> TableName::Parse(std::string_view text, std::string_view default_schema) {
  const std::size_t dot = text.find('.');
  const bool qualified = dot != std::string_view::npos;
  const std::string_view schema = qualified ? text.substr(0, dot) : default_schema;
  const std::string_view name = qualified ? text.substr(dot + 1) : text;
  if (!IsIdentifier(schema) || !IsIdentifier(name)) {
    return Status::Invalid(
               base::StrCat("table: '", base::CleanError(text, 80), "' is not a valid table name"))
        .WithHint(
            base::StrCat("use name or schema.name of lower-case letters, digits and _, at most ",
                         kNameBytesMax, " characters each"));
  }
  return TableName(std::string(schema), std::string(name), std::string(name));
}

std::string TableName::Render(std::string_view sql) const {
  std::string out(sql);
  ReplaceAll(out, "{{table}}", Quoted());
  ReplaceAll(out, "{{delivery}}", Deliveries().Quoted());
  ReplaceAll(out, "{{attempt}}", Attempts().Quoted());
  ReplaceAll(out, "{{schema}}", "\"" + schema_ + "\"");
  ReplaceAll(out, "{{name}}", name_);
  ReplaceAll(out, "{{display}}", Display());
  return out;
}

}  // namespace outbox::message
