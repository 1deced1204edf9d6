#include "service/auth/strict_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace outbox::service {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Looks at the whole text before anything of it is built.
class JsonInspector final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonInspector(const JsonLimits& limits) : limits_(limits) {}

  const char* problem() const { return problem_; }

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(std::int64_t) override { return Count(); }
  bool number_unsigned(std::uint64_t) override { return Count(); }
  bool number_float(double, const std::string&) override { return Count(); }
  bool string(std::string&) override { return Count(); }
  bool binary(Json::binary_t&) override { return Count(); }
  bool start_object(std::size_t) override { return Enter(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool key(std::string& name) override {
    return members_.back().insert(name).second || Fail("has a member twice");
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return Fail("is not JSON");
  }

 private:
  bool Fail(const char* problem) {
    problem_ = problem;
    return false;
  }
  bool Count() { return ++values_ <= limits_.values_max || Fail("has too many values"); }
  bool Enter() {
    members_.emplace_back();
    if (members_.size() > limits_.depth_max) return Fail("is nested too deeply");
    return Count();
  }
  bool Leave() {
    members_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  std::vector<std::set<std::string>> members_;
  std::size_t values_ = 0;
  const char* problem_ = "is not JSON";
};

}  // namespace

Result<Json> ParseStrictJson(std::string_view text, const JsonLimits& limits) {
  // The parser would take a zero byte for the end of the text, and pass over a byte order mark.
  if (text.find('\0') != std::string_view::npos || text.starts_with(kByteOrderMark)) {
    return Status::Invalid("is not JSON");
  }
  JsonInspector inspector(limits);
  if (!Json::sax_parse(text, &inspector)) return Status::Invalid(inspector.problem());
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Status::Invalid("is not a JSON object");
  return json;
}

}  // namespace outbox::service
