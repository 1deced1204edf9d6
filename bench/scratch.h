// Scratch: a database made for the run, with one outbox table and one business table in it.
//
// Threads: one at a time; `address` and `table` are constant.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::bench {

class Scratch {
 public:
  // Destroying it drops the database.
  virtual ~Scratch() = default;

  virtual std::string_view store() const noexcept = 0;  // "PostgreSQL", "SQLite"
  const std::string& address() const noexcept { return address_; }
  const std::string& table() const noexcept { return table_; }

  // Empties the table, adds `waiting` messages that are due, and lets the database come to rest, so
  // that every measurement begins in the same state.
  virtual Status Fill(std::size_t waiting) = 0;

  // Whether commits notify relays that listen. Without effect on SQLite.
  Status SetNotify(bool notify) const { return Migrate(table_, notify); }
  // Creates `table` with the program's own migrations.
  Status Migrate(const std::string& table, bool notify = false) const;

 protected:
  explicit Scratch(std::string address);

 private:
  const std::string address_;
  const std::string table_;
};

// On the server at `address`, which must allow CREATE DATABASE.
Result<std::unique_ptr<Scratch>> MakePostgresScratch(const std::string& address);

// A file in `folder`.
Result<std::unique_ptr<Scratch>> MakeSqliteScratch(const std::string& folder);

// `address` with another database name.
std::string WithDatabase(const std::string& address, const std::string& database);

}  // namespace outbox::bench
