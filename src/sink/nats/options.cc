#include "sink/nats/options.h"

#include "sink/body_option.h"
#include "sink/nats/subject.h"
#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

constexpr int kPort = 4222;
constexpr std::size_t kWindowMax = 10'000;

TextTemplate ReadSubject(OptionReader& options) {
  TextTemplate subject = options.Template("subject", "{topic}");
  const std::string sample = subject.Sample();
  // What could not be parsed is empty, and named already.
  const bool parsed = !sample.empty() || options.Text("subject", "").empty();
  if (const Status checked = CheckSubject(sample); parsed && !checked.ok()) {
    options.AddProblem("subject", checked.message());
  }
  return subject;
}

}  // namespace

Result<NatsOptions> NatsOptions::Read(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(const Authority authority, ParseAuthority(uri, kPort));
  OptionReader options(uri);
  NatsOptions read;
  read.endpoints = authority.endpoints;
  if (!authority.path.empty()) {
    options.AddProblem("", "nothing may follow the host; name the stream with stream=NAME");
  }
  read.user = authority.user;
  read.password = options.Secret("password");
  if (!read.password.empty() && !authority.password.empty()) {
    options.AddProblem("password", "is in the address already");
  }
  if (read.password.empty()) read.password = authority.password;
  if (!read.password.empty() && read.user.empty()) {
    options.AddProblem("password", "is of no user: write nats://USER@HOST");
  }
  read.token = options.Secret("token");
  read.creds_file = options.NotEmpty("creds");
  read.nkey_file = options.NotEmpty("nkey");
  if (!read.user.empty() + !read.token.empty() + !read.creds_file.empty() +
          !read.nkey_file.empty() >
      1) {
    options.AddProblem("", "give one of user and password, token, creds, and nkey");
  }
  if (uri.scheme == "natss") read.tls = ReadTlsOptions(options);

  read.subject = ReadSubject(options);
  read.stream = options.Text("stream", "");
  read.id_suffix = options.Text("id_suffix", "");
  if (HasBlank(read.id_suffix)) {
    options.AddProblem("id_suffix", "has a blank or a control character");
  }
  read.window = options.Number("window", read.window, 1, kWindowMax);
  read.body = ReadBody(options);
  OUTBOX_RETURN_IF_ERROR(options.Finish());
  return read;
}

}  // namespace outbox::sink
