#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "cli/wrap.h"
#include "service/auth/mint.h"
#include "service/auth/secret.h"

namespace outbox::cli {
namespace {

constexpr std::chrono::hours kTokenTtlMax{24};
constexpr std::chrono::hours kForcedTtlMax{24 * 366};
// As long as a subject or a permission may be, for the service to take it.
constexpr std::size_t kTokenTextMax = 256;
constexpr std::size_t kPermissionMax = 128;

struct TokenFlags {
  std::string new_secret;
  std::string secret_file;
  std::string secret_env;
  std::string kid;
  std::string tenant;
  std::string subject = "developer";
  std::vector<std::string> permissions;
  bool operator_scope = false;
  std::string issuer = "outboxd";
  std::string audience = "outboxd";
  std::string ttl = "1h";
  bool force = false;
  bool json = false;
};

Status MakeSecret(const TokenFlags& flags) {
  OUTBOX_RETURN_IF_ERROR(service::CreateSecretFile(flags.new_secret));
  if (flags.json) {
    PrintJson(base::JsonObject().Add("secret_file", flags.new_secret).Finish());
  } else {
    PrintNote(base::StrCat("wrote a new secret to ", flags.new_secret));
  }
  return Status::Ok();
}

Result<std::chrono::milliseconds> ReadTtl(const TokenFlags& flags) {
  OUTBOX_ASSIGN_OR_RETURN(const auto ttl, ParseSpan("--ttl", flags.ttl));
  if (ttl < std::chrono::seconds(1)) return Status::Invalid("--ttl: must be at least 1s");
  if (ttl > kForcedTtlMax) return Status::Invalid("--ttl: must be at most 366d");
  if (ttl > kTokenTtlMax && !flags.force) {
    return Status(Status::Invalid("--ttl: is more than 24h, and a token can not be taken back")
                      .WithHint("add --force if that is meant"));
  }
  return ttl;
}

bool IsPlain(std::string_view text, char first, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return c >= first && c <= '~' && c != '"' && c != '\\'; });
}

Status CheckTexts(const TokenFlags& flags) {
  for (const auto& [name, text] :
       {std::pair("--subject", flags.subject), std::pair("--issuer", flags.issuer),
        std::pair("--audience", flags.audience)}) {
    if (!IsPlain(text, ' ', kTokenTextMax)) {
      return Status::Invalid(base::StrCat(name, ": use 1 to ", kTokenTextMax,
                                          " printable characters, no quotes or backslashes"));
    }
  }
  if (!flags.kid.empty() && !IsPlain(flags.kid, '!', kTokenTextMax)) {
    return Status::Invalid(
        base::StrCat("--kid: use at most ", kTokenTextMax, " printable characters, no spaces"));
  }
  for (const std::string& permission : flags.permissions) {
    if (!IsPlain(permission, '!', kPermissionMax)) {
      return Status::Invalid(base::StrCat("--permissions: use names of 1 to ", kPermissionMax,
                                          " printable characters, no spaces"));
    }
  }
  return Status::Ok();
}

Result<service::MintedClaims> ReadClaimFlags(const TokenFlags& flags) {
  OUTBOX_RETURN_IF_ERROR(CheckTexts(flags));
  service::MintedClaims claims{.issuer = flags.issuer,
                               .audience = flags.audience,
                               .subject = flags.subject,
                               .permissions = flags.permissions,
                               .operator_scope = flags.operator_scope,
                               .issued = Now()};
  if (!flags.tenant.empty()) {
    claims.tenant = Uuid::Parse(flags.tenant);
    if (!claims.tenant || claims.tenant->is_nil()) {
      return Status::Invalid("--tenant: is not a UUID, or the nil one");
    }
  } else if (!flags.operator_scope) {
    return Status(
        Status::Invalid("a token for nobody: neither --tenant nor --operator is given")
            .WithHint("--tenant UUID for what a tenant may do, --operator for all tenants"));
  }
  OUTBOX_ASSIGN_OR_RETURN(const auto ttl, ReadTtl(flags));
  claims.expires = claims.issued + ttl;
  return claims;
}

Status RunToken(const TokenFlags& flags) {
  if (!flags.new_secret.empty()) return MakeSecret(flags);
  if (flags.secret_file.empty() == flags.secret_env.empty()) {
    return Status(Status::Invalid("give one of --secret-file and --secret-env")
                      .WithHint("outboxd token --new-secret FILE makes a secret"));
  }
  OUTBOX_ASSIGN_OR_RETURN(const service::MintedClaims claims, ReadClaimFlags(flags));
  OUTBOX_ASSIGN_OR_RETURN(const std::string secret,
                          flags.secret_file.empty()
                              ? service::ReadSecretEnvironment(flags.secret_env)
                              : service::ReadSecretFile(flags.secret_file));
  const std::string token = service::MintToken(claims, secret, flags.kid);
  if (flags.json) {
    PrintJson(base::JsonObject()
                  .Add("token", token)
                  .Add("expires", base::FormatTimestamp(claims.expires))
                  .Finish());
  } else {
    std::cout << token << '\n';
  }
  return Status::Ok();
}

}  // namespace

void AddToken(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("token", "Make a token for the HTTP API, for development, from a secret");
  auto flags = std::make_shared<TokenFlags>();
  auto* make = command->add_option("--new-secret", flags->new_secret,
                                   "Only write a new secret to this file (mode 0600)");
  auto* file = command->add_option("--secret-file", flags->secret_file, "File with the secret");
  auto* variable = command->add_option("--secret-env", flags->secret_env,
                                       "Name of an environment variable with the secret");
  make->excludes(file)->excludes(variable);
  file->excludes(variable);
  command->add_option("--kid", flags->kid, "Name of the secret, if the service gives it one");
  command->add_option("--tenant", flags->tenant, "UUID of the tenant");
  command->add_option("--subject", flags->subject, "Who it is for")->capture_default_str();
  command->add_option("--permissions", flags->permissions, "What the bearer may do: a,b,c")
      ->delimiter(',');
  command->add_flag("--operator", flags->operator_scope, "May look across tenants");
  command->add_option("--issuer", flags->issuer, "Claim iss")->capture_default_str();
  command->add_option("--audience", flags->audience, "Claim aud")->capture_default_str();
  command->add_option("--ttl", flags->ttl, "How long it is good for, at most 24h")
      ->capture_default_str();
  command->add_flag("--force", flags->force, "Allow a longer --ttl");
  AddJsonFlag(*command, flags->json);
  command->callback([&action, flags] { action = [flags] { return RunToken(*flags); }; });
}

}  // namespace outbox::cli
