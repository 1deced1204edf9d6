// Address: where a PostgreSQL database is, as libpq wants to hear it, and our own settings in it.
//
// Ours is `prepare=auto|off`, taken out before libpq sees the rest. Keepalives and TCP timeouts get
// values that notice a dead server within a minute, unless the address gives its own.
//
// Threads: immutable after Parse; share it freely.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/status.h"

namespace outbox::store::postgres {

class Address {
 public:
  // `postgres://…`, `postgresql://…` or "host=… dbname=…". kInvalidArgument says what is wrong,
  // and quotes no value.
  static Result<Address> Parse(const std::string& text);

  // Keyword and value pairs for PQconnectStartParams.
  const std::vector<std::pair<std::string, std::string>>& parameters() const { return parameters_; }
  // False when the address says `prepare=off`: no named prepared statements.
  bool prepare() const noexcept { return prepare_; }
  // "host:port/database", or the service that decides it; never user or password.
  std::string description() const;
  // True for unix sockets and loopback addresses; with several hosts, when all of them are. Never
  // for what a service file decides.
  bool local() const;

 private:
  // The address's value, or "".
  std::string Given(std::string_view keyword) const;
  // The address's value, or libpq's own default (environment included), or "".
  std::string Effective(const std::string& keyword) const;

  std::vector<std::pair<std::string, std::string>> parameters_;
  bool prepare_ = true;
};

}  // namespace outbox::store::postgres
