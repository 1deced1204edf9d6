#include "store/postgres/address.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "base/text.h"
#include "store/postgres/handles.h"

namespace outbox::store::postgres {
namespace {

// Binary parameters and payloads are UTF-8. A server that vanished without a word is given up
// after 30 s + 3 * 10 s while idle, and after 30 s with data under way.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kDefaults{{
    {"fallback_application_name", "outboxd"},
    {"keepalives_idle", "30"},
    {"keepalives_interval", "10"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "30000"},
}};

bool IsUrl(std::string_view text) {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

// Removes `prepare=VALUE` from `text`; returns VALUE, or "" when it is not there.
std::string TakePrepare(std::string& text) {
  static const std::regex kInUrl(R"(([?&])prepare=([^&]*)(&|$))");
  static const std::regex kInDsn(R"((^|\s)prepare\s*=\s*'?(\w+)'?(\s|$))");
  const bool url = IsUrl(text);
  std::smatch match;
  if (!std::regex_search(text, match, url ? kInUrl : kInDsn)) return "";
  const std::string value = match[2];
  // "?prepare=off&x=1" becomes "?x=1", "&prepare=off&x=1" becomes "&x=1".
  const std::string kept = match[3].length() > 0 ? match[1].str() : "";
  text = match.prefix().str() + kept + match.suffix().str();
  return value;
}

bool IsLoopback(const std::string& host) {
  return host.empty() || host[0] == '/' || host[0] == '@' || host == "localhost" ||
         host.starts_with("127.") || host == "::1";
}

}  // namespace

Result<Address> Address::Parse(const std::string& text) {
  std::string conninfo = text;
  const std::string prepare = TakePrepare(conninfo);
  if (!prepare.empty() && prepare != "auto" && prepare != "off") {
    return Status::Invalid(base::StrCat("database address: prepare is '",
                                        base::CleanError(prepare, 40), "', not auto or off"));
  }
  char* error = nullptr;
  const ConninfoHandle options(PQconninfoParse(conninfo.c_str(), &error));
  if (options == nullptr) {
    const std::string reason = error != nullptr ? error : "out of memory";
    PQfreemem(error);
    return Status::Invalid(
               base::StrCat("database address: ", base::CleanError(base::Trim(reason), 200)))
        .WithHint("write postgres://user@host:port/database or \"host=… dbname=…\"");
  }
  Address address;
  address.prepare_ = prepare != "off";
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) address.parameters_.emplace_back(option->keyword, option->val);
  }
  for (const auto& standard : kDefaults) {
    const bool given =
        std::any_of(address.parameters_.begin(), address.parameters_.end(),
                    [&](const auto& parameter) { return parameter.first == standard.first; });
    if (!given) address.parameters_.emplace_back(standard.first, standard.second);
  }
  std::erase_if(address.parameters_,
                [](const auto& parameter) { return parameter.first == "client_encoding"; });
  address.parameters_.emplace_back("client_encoding", "UTF8");
  return address;
}

std::string Address::Effective(const std::string& keyword) const {
  for (const auto& [name, value] : parameters_) {
    if (name == keyword) return value;
  }
  const ConninfoHandle defaults(PQconndefaults());
  for (const PQconninfoOption* option = defaults.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == keyword && option->val != nullptr) return option->val;
  }
  return "";
}

std::string Address::description() const {
  const std::string host = Effective("host").empty() ? Effective("hostaddr") : Effective("host");
  const std::string database =
      Effective("dbname").empty() ? Effective("user") : Effective("dbname");
  return base::StrCat(host.empty() ? "local socket" : host, ":", Effective("port"), "/", database);
}

bool Address::local() const {
  const std::string hosts =
      Effective("hostaddr").empty() ? Effective("host") : Effective("hostaddr");
  const auto all = base::Split(hosts, ',');
  return std::all_of(all.begin(), all.end(), IsLoopback);
}

}  // namespace outbox::store::postgres
