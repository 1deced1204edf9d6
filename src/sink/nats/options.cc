#include "sink/nats/options.h"

#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

constexpr int kPort = 4222;
constexpr std::size_t kWindowMax = 10'000;

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
  read.token = options.Secret("token");
  read.creds_file = options.Text("creds", "");
  read.nkey_file = options.Text("nkey", "");
  if (!read.user.empty() + !read.token.empty() + !read.creds_file.empty() +
          !read.nkey_file.empty() >
      1) {
    options.AddProblem("", "give one of user and password, token, creds, and nkey");
  }
  if (uri.scheme == "natss") {
    read.tls = ReadTlsOptions(options);
    if (!read.tls->cert_file.empty() && read.tls->key_file.empty()) {
      read.tls->key_file = read.tls->cert_file;
    }
  }

  read.subject = options.Template("subject", "{topic}");
  read.stream = options.Text("stream", "");
  read.window = options.Number("window", read.window, 1, kWindowMax);
  using message::BodyFormat;
  read.body = options.Choice("body", BodyFormat::kPlain,
                             {{"plain", BodyFormat::kPlain},
                              {"envelope", BodyFormat::kEnvelope},
                              {"cloudevents", BodyFormat::kCloudEvents}});
  OUTBOX_RETURN_IF_ERROR(options.Finish());
  return read;
}

}  // namespace outbox::sink
