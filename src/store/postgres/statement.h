// Statement: the text of one query for one table, and the name it is prepared under.
#pragma once

#include <string>
#include <string_view>

#include "message/table_name.h"

namespace outbox::store::postgres {

struct Statement {
  // A query from sql/postgres/queries, written for `table`.
  Statement(const message::TableName& table, std::string_view sql,
            std::string_view failpoint_name = {});
  // A query that names no table of ours.
  explicit Statement(std::string_view sql);

  std::string text;
  // Made from the text: behind a pooler that shares server sessions, a name can then never stand
  // for somebody else's statement.
  std::string name;
  // Passed when the statement has been sent and its answer not been read (base/failpoint.h).
  std::string_view failpoint;
};

}  // namespace outbox::store::postgres
