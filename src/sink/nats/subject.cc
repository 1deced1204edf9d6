#include "sink/nats/subject.h"

#include <strings.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kNameBytesMax = 200;
constexpr std::string_view kServerHeaderPrefix = "Nats-";
constexpr std::array<std::string_view, 3> kServerSubjects{"$JS.", "$SYS.", "_INBOX."};

Status BadSubject(std::string_view subject, std::string_view why) {
  return Status::Invalid(
             StrCat("'", base::CleanError(subject, kNameBytesMax), "' is no subject: ", why))
      .WithHint("the subject is made by subject=, by default of the topic");
}

}  // namespace

Status CheckSubject(std::string_view subject) {
  if (subject.empty()) return BadSubject(subject, "it is empty");
  if (HasBlank(subject)) return BadSubject(subject, "it has a blank or a control character");
  for (const std::string& token : base::Split(subject, '.')) {
    if (token.empty()) return BadSubject(subject, "it has an empty token");
    if (token == "*" || token == ">") return BadSubject(subject, "it has a wildcard");
  }
  for (const std::string_view prefix : kServerSubjects) {
    if (subject.starts_with(prefix)) return BadSubject(subject, "it is the server's own");
  }
  return Status::Ok();
}

bool HasBlank(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

Status CheckHeader(std::string_view name, std::string_view value) {
  const bool printable = std::all_of(name.begin(), name.end(),
                                     [](char c) { return c > ' ' && c < '\x7f' && c != ':'; });
  if (name.empty() || !printable) {
    return Status::Invalid(
        StrCat("NATS can not carry a header named '", base::CleanError(name, kNameBytesMax), "'"));
  }
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
    return Status::Invalid(StrCat("NATS can not carry the header '", name,
                                  "': its value has a line break or a zero byte"));
  }
  return Status::Ok();
}

bool IsServerHeader(std::string_view name) noexcept {
  return name.size() >= kServerHeaderPrefix.size() &&
         strncasecmp(name.data(), kServerHeaderPrefix.data(), kServerHeaderPrefix.size()) == 0;
}

}  // namespace outbox::sink
