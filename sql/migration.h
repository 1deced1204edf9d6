// Migration: one numbered step of a table's schema, as embedded from sql/*/migrations.
#pragma once

#include <string_view>

namespace outbox::sql {

struct Migration {
  int number;
  std::string_view name;
  std::string_view up;
  std::string_view down;
};

}  // namespace outbox::sql
