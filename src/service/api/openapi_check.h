// For tests: whether an answer is what the OpenAPI document says about it. Knows the keywords that
// the document uses, and says so when it meets another.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "outbox/uuid.h"

namespace outbox::service {

class OpenApiCheck {
 public:
  using Json = nlohmann::json;

  explicit OpenApiCheck(Json document) : document_(std::move(document)) {}

  // "GET /api/v1/tables/{table}/stats" for a request; empty when it is not documented. Literal
  // paths go before those with parameters, as in the router.
  std::string Operation(const std::string& method, const std::string& target) const {
    const std::string path = target.substr(0, target.find('?'));
    std::string with_parameters;
    for (const auto& [pattern, item] : document_.at("paths").items()) {
      if (!item.contains(Lower(method))) continue;
      if (pattern == path) return base::StrCat(method, " ", pattern);
      const std::regex expression(std::regex_replace(pattern, std::regex(R"(\{[^}]*\})"), "[^/]+"));
      if (std::regex_match(path, expression)) with_parameters = base::StrCat(method, " ", pattern);
    }
    return with_parameters;
  }

  std::set<std::string> Operations() const {
    std::set<std::string> operations;
    for (const auto& [path, item] : document_.at("paths").items()) {
      for (const auto& [method, operation] : item.items()) {
        if (method != "parameters") operations.insert(base::StrCat(Upper(method), " ", path));
      }
    }
    return operations;
  }

  // The statuses that any operation has.
  std::set<int> Statuses() const {
    std::set<int> statuses;
    for (const auto& [path, item] : document_.at("paths").items()) {
      for (const auto& [method, operation] : item.items()) {
        if (method == "parameters") continue;
        for (const auto& [status, response] : operation.at("responses").items()) {
          statuses.insert(std::stoi(status));
        }
      }
    }
    return statuses;
  }

  // What is wrong with an answer to `operation`; empty when nothing is.
  std::vector<std::string> Problems(const std::string& operation, int status,
                                    const std::string& content_type,
                                    const std::string& body) const {
    const std::size_t space = operation.find(' ');
    const Json& responses = document_.at("paths")
                                .at(operation.substr(space + 1))
                                .at(Lower(operation.substr(0, space)))
                                .at("responses");
    if (!responses.contains(std::to_string(status))) {
      return {base::StrCat("status ", status, " is not documented")};
    }
    const Json& response = Resolve(responses.at(std::to_string(status)));
    if (!response.contains("content")) {
      return body.empty() ? std::vector<std::string>()
                          : std::vector<std::string>{"there is a body, and none is documented"};
    }
    const std::string type = content_type.substr(0, content_type.find(';'));
    if (!response.at("content").contains(type)) {
      return {base::StrCat("content type '", type, "' is not documented")};
    }
    if (!type.ends_with("json")) return {};
    const Json value = Json::parse(body, nullptr, false);
    if (value.is_discarded()) return {"the body is not JSON"};
    std::vector<std::string> problems;
    Validate(response.at("content").at(type).at("schema"), value, "body", problems);
    return problems;
  }

  // The same for an answer of the server itself, such as 405: it is a problem.
  std::vector<std::string> ProblemProblems(const std::string& content_type,
                                           const std::string& body) const {
    if (content_type != "application/problem+json") return {"is not a problem: " + content_type};
    const Json value = Json::parse(body, nullptr, false);
    std::vector<std::string> problems;
    Validate(document_.at("components").at("schemas").at("Problem"), value, "body", problems);
    return problems;
  }

 private:
  static std::string Lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  static std::string Upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }

  const Json& Resolve(const Json& node) const {
    if (!node.contains("$ref")) return node;
    return document_.at(Json::json_pointer(node.at("$ref").get<std::string>().substr(1)));
  }

  static bool HasType(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    return type == "null" && value.is_null();
  }

  static bool HasFormat(const std::string& text, const std::string& format) {
    static const std::regex kTime(
        R"(\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d+)?(Z|[+-]\d\d:\d\d))");
    if (format == "date-time") return std::regex_match(text, kTime);
    return format == "uuid" && Uuid::Parse(text).has_value();
  }

  void Validate(const Json& unresolved, const Json& value, const std::string& place,
                std::vector<std::string>& problems) const {
    const Json& schema = Resolve(unresolved);
    const auto wrong = [&](const auto&... why) {
      problems.push_back(base::StrCat(place, ": ", why...));
    };
    for (const auto& [keyword, rule] : schema.items()) {
      if (keyword == "type") {
        const Json types = rule.is_array() ? rule : Json::array({rule});
        bool fits = false;
        for (const Json& type : types) fits = fits || HasType(value, type.get<std::string>());
        if (!fits) wrong("is not ", rule.dump());
      } else if (keyword == "required") {
        for (const Json& name : rule) {
          if (value.is_object() && !value.contains(name.get<std::string>())) {
            wrong("lacks ", name.get<std::string>());
          }
        }
      } else if (keyword == "enum") {
        if (std::find(rule.begin(), rule.end(), value) == rule.end()) wrong("is not in the enum");
      } else if (keyword == "items") {
        if (!value.is_array()) continue;
        for (std::size_t i = 0; i < value.size(); ++i) {
          Validate(rule, value[i], base::StrCat(place, "[", i, "]"), problems);
        }
      } else if (keyword == "properties") {
        for (const auto& [name, child] : rule.items()) {
          if (!value.is_object() || !value.contains(name)) continue;
          Validate(child, value.at(name), base::StrCat(place, ".", name), problems);
        }
      } else if (keyword == "additionalProperties") {
        if (rule != false) wrong("additionalProperties is more than false");
        if (!value.is_object()) continue;
        for (const auto& [name, child] : value.items()) {
          if (!schema.at("properties").contains(name)) wrong("has ", name);
        }
      } else if (keyword == "format") {
        const std::string format = rule.get<std::string>();
        if (format != "date-time" && format != "uuid") wrong("unknown format ", format);
        if (value.is_string() && !HasFormat(value.get<std::string>(), format)) {
          wrong("is no ", format);
        }
      } else if (keyword != "description") {
        wrong("the keyword ", keyword, " is not known here");
      }
    }
  }

  const Json document_;
};

}  // namespace outbox::service
