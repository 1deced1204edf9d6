#include "service/api/docs_page.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"

namespace outbox::service {
namespace {

using base::StrCat;
using Json = nlohmann::ordered_json;

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --line: #8884; --dim: #888; --mark: #2563eb; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
section { border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: 1rem 0; }
h3 { font: 600 1rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
h3 b { color: var(--mark); margin-right: .6rem; }
p { margin: .4rem 0; } small { color: var(--dim); }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
td, th { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
code { font: .9em ui-monospace, monospace; }
)css";

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string Text(const Json& object, const char* name) {
  return object.contains(name) ? Escape(object[name].get<std::string>()) : std::string();
}

// "integer, 1 to 100, default 20"
std::string TypeText(const Json& schema) {
  std::string text = schema.contains("enum")   ? std::string()
                     : schema.contains("type") ? schema["type"].dump()
                                               : std::string("value");
  std::erase(text, '"');
  if (schema.contains("enum")) {
    std::vector<std::string> choices;
    for (const Json& choice : schema["enum"]) choices.push_back(choice.get<std::string>());
    text = base::Join(choices, ", ");
  }
  if (schema.contains("format")) text = schema["format"].get<std::string>();
  if (schema.contains("minimum") && schema.contains("maximum")) {
    text += StrCat(", ", schema["minimum"].dump(), " to ", schema["maximum"].dump());
  }
  if (schema.contains("default")) text += StrCat(", default ", schema["default"].dump());
  return Escape(text);
}

const Json& Resolve(const Json& document, const Json& object) {
  if (!object.contains("$ref")) return object;
  const std::string pointer = object["$ref"].get<std::string>().substr(1);
  return document.at(Json::json_pointer(pointer));
}

std::string OperationHtml(const Json& document, const std::string& method, const std::string& path,
                          const Json& operation) {
  std::string upper = method;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string html = StrCat("<section><h3><b>", upper, "</b>", Escape(path), "</h3><p>",
                            Text(operation, "summary"), "</p>");
  if (operation.contains("description")) {
    html += StrCat("<p><small>", Text(operation, "description"), "</small></p>");
  }
  if (operation.contains("parameters")) {
    html += "<table><tr><th>parameter</th><th>type</th><th>meaning</th></tr>";
    for (const Json& given : operation["parameters"]) {
      const Json& parameter = Resolve(document, given);
      html += StrCat("<tr><td><code>", Text(parameter, "name"), "</code></td><td>",
                     TypeText(parameter["schema"]), "</td><td>", Text(parameter, "description"),
                     "</td></tr>");
    }
    html += "</table>";
  }
  html += "<table><tr><th>answer</th><th>meaning</th></tr>";
  for (const auto& [status, given] : operation["responses"].items()) {
    html += StrCat("<tr><td><code>", Escape(status), "</code></td><td>",
                   Text(Resolve(document, given), "description"), "</td></tr>");
  }
  return html + "</table></section>";
}

}  // namespace

std::string DocsPage(std::string_view openapi) {
  const Json document = Json::parse(openapi);
  const Json& info = document["info"];
  std::string html = StrCat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">",
      "<meta name=\"viewport\" content=\"width=device-width\"><title>", Text(info, "title"),
      "</title><style>", kStyle, "</style></head><body><h1>", Text(info, "title"), "</h1><p>",
      Text(info, "description"), "</p><p><a href=\"/openapi.json\">openapi.json</a></p>");
  for (const Json& tag : document["tags"]) {
    html += StrCat("<h2>", Text(tag, "description"), "</h2>");
    for (const auto& [path, item] : document["paths"].items()) {
      for (const auto& [method, operation] : item.items()) {
        if (operation["tags"][0] != tag["name"]) continue;
        html += OperationHtml(document, method, path, operation);
      }
    }
  }
  return html + "</body></html>\n";
}

}  // namespace outbox::service
