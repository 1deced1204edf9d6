// Stage: the database the demo plays on, with the shop's table and its outbox table; removed at the
// end unless it is to be kept.
//
// Threads: build and strike it on one thread; the accessors may be used from any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "message/table_name.h"
#include "outbox/status.h"
#include "store/backend.h"

namespace outbox::demo {

class Stage {
 public:
  // On `database`, in tables of a name of their own; when it is empty, in a SQLite file in a new
  // temporary folder.
  static Result<std::unique_ptr<Stage>> Build(const std::string& database);
  // Removes whatever was made and not kept.
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Leaves everything in place when destroyed.
  void Keep() { keep_ = true; }

  const std::string& database() const { return database_; }
  const std::string& outbox_table() const { return outbox_table_; }
  const message::TableName& orders_table() const { return orders_table_; }
  // "SQLite /tmp/outbox-demo.x/shop.db": for people.
  std::string description() const;

  Result<std::unique_ptr<store::Session>> OpenSession();
  // The events of all orders that were committed.
  Result<std::vector<Uuid>> ListOrderEvents();

 private:
  Stage(std::string database, std::string folder, std::unique_ptr<store::Backend> backend,
        message::TableName orders_table, std::string outbox_table);

  Status CreateTables();
  Status DropTables();

  const std::string database_;
  const std::string folder_;  // empty when the database is not ours
  const std::unique_ptr<store::Backend> backend_;
  const message::TableName orders_table_;
  const std::string outbox_table_;
  bool orders_created_ = false;
  bool keep_ = false;
};

}  // namespace outbox::demo
