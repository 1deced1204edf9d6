#include "sink/net/tls_options.h"

#include "base/text.h"
#include "sink/net/tls_files.h"

namespace outbox::sink {

using base::StrCat;

TlsOptions ReadTlsOptions(OptionReader& options, std::string_view prefix,
                          const std::string& passphrase) {
  const auto named = [&](std::string_view option) { return StrCat(prefix, option); };
  TlsOptions tls{.verify = options.Flag(named("tls_verify"), true),
                 .ca_file = options.Text(named("tls_ca"), ""),
                 .cert_file = options.Text(named("tls_cert"), ""),
                 .key_file = options.Text(named("tls_key"), ""),
                 .passphrase = passphrase};
  if (!tls.key_file.empty() && tls.cert_file.empty()) {
    options.AddProblem(named("tls_key"), StrCat("needs ", named("tls_cert")));
    tls.key_file.clear();
  }
  if (tls.key_file.empty()) tls.key_file = tls.cert_file;
  for (const TlsFileProblem& problem : FindTlsFileProblems(tls)) {
    options.AddProblem(named(problem.option), problem.what, problem.remedy);
  }
  return tls;
}

Status CheckTlsFiles(const TlsOptions& options) {
  const auto problems = FindTlsFileProblems(options);
  if (problems.empty()) return Status::Ok();
  const TlsFileProblem& first = problems.front();
  return Status(Code::kInvalidArgument, Disposition::kSinkDown,
                StrCat(first.option, ": ", first.what))
      .WithHint(first.remedy);
}

}  // namespace outbox::sink
