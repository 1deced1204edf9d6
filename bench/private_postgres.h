// A PostgreSQL server of our own for the length of a run, with the durability settings it ships
// with. The same script starts it that the tests use; it is part of the program.
#pragma once

#include <memory>
#include <string>

#include "outbox/status.h"

namespace outbox::bench {

class PrivatePostgres {
 public:
  // In a subfolder of `folder`. kNotFound when no server is installed.
  static Result<std::unique_ptr<PrivatePostgres>> Start(const std::string& folder);
  // Stops the server; its files go with the folder.
  ~PrivatePostgres();
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  const std::string& url() const noexcept { return url_; }

 private:
  explicit PrivatePostgres(std::string folder);

  const std::string script_;
  const std::string folder_;
  std::string url_;
};

}  // namespace outbox::bench
