#include "store/schema_check.h"

#include "base/text.h"

namespace outbox::store {

using base::StrCat;

std::string MigrateHint(std::string_view table) {
  return StrCat("run: outboxd migrate up --table ", table);
}

Status RequireOurs(const TableSchema& schema, std::string_view table) {
  if (schema.exists && schema.version == 0) {
    return Status::Permanent(Code::kSchema,
                             StrCat("table ", table, " exists but is not an outbox table"))
        .WithHint("choose another name; outboxd leaves tables alone that it did not create");
  }
  if (schema.version > schema.version_latest) {
    return Status::Permanent(Code::kSchema, StrCat("table ", table, " has schema version ",
                                                   schema.version, ", newer than the ",
                                                   schema.version_latest, " this program knows"))
        .WithHint("use the release of outboxd that migrated the table, or a newer one");
  }
  return Status::Ok();
}

Status RequireCurrent(const TableSchema& schema, std::string_view table) {
  OUTBOX_RETURN_IF_ERROR(RequireOurs(schema, table));
  if (schema.version < schema.version_latest) {
    return Status::Permanent(Code::kSchema, StrCat("table ", table, " has schema version ",
                                                   schema.version, ", older than the ",
                                                   schema.version_latest, " this program needs"))
        .WithHint(MigrateHint(table));
  }
  return Status::Ok();
}

}  // namespace outbox::store
