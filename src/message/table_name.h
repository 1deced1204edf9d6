// TableName: a checked, quotable name of an outbox table.
//
// The only way from text to SQL identifiers. Names are lower-case letters, digits and underscores,
// so that quoting never changes what they mean; they are quoted all the same.
#pragma once

#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::message {

class TableName {
 public:
  // 63 is PostgreSQL's limit; the rest is room for the names of indexes and constraints.
  static constexpr std::size_t kNameBytesMax = 48;

  // "orders_outbox" or "sales.orders_outbox". Without a schema it is `default_schema`: "public" on
  // PostgreSQL, "main" on SQLite.
  static Result<TableName> Parse(std::string_view text, std::string_view default_schema);

  const std::string& schema() const noexcept { return schema_; }
  const std::string& name() const noexcept { return name_; }
  // sales.orders_outbox: for people, labels and Message::table.
  std::string Display() const { return schema_ + "." + name_; }
  // "sales"."orders_outbox": for SQL.
  std::string Quoted() const { return "\"" + schema_ + "\".\"" + name_ + "\""; }

  // sales.orders_outbox_delivery: the table of its deliveries.
  TableName Deliveries() const { return TableName(schema_, name_ + "_delivery", name_); }

  // sales.orders_outbox_attempt: the table of the attempts at its messages. The deliveries' own are
  // there too.
  TableName Attempts() const { return TableName(schema_, messages_ + "_attempt", messages_); }

  // Replaces {{table}} by Quoted(), {{delivery}} and {{attempt}} by those of Deliveries() and
  // Attempts(), {{schema}} by the quoted schema, {{name}} by the bare name (to be written inside
  // quotes) and {{display}} by Display() (to be written inside a string literal).
  std::string Render(std::string_view sql) const;

 private:
  TableName(std::string schema, std::string name, std::string messages)
      : schema_(std::move(schema)), name_(std::move(name)), messages_(std::move(messages)) {}

  std::string schema_;
  std::string name_;
  std::string messages_;  // the name of the table whose messages it is about
};

}  // namespace outbox::message
