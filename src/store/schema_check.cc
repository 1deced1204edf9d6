#include "store/schema_check.h"

#include <algorithm>

#include "base/text.h"

namespace outbox::store {

using base::StrCat;

namespace {

constexpr std::size_t kShownMax = 10;

// A schema that names share would make all of them look alike.
std::string_view WithoutSchema(std::string_view table) {
  return table.substr(table.rfind('.') + 1);
}

}  // namespace

Result<int> CheckRange(const PrintOptions& print, int latest) {
  const int to = print.to.value_or(latest);
  if (print.from >= 0 && print.from < to && to <= latest) return to;
  return Status::Invalid(StrCat("no migration leads from version ", print.from, " to ", to))
      .WithHint(StrCat("versions are 0 (no table yet) to ", latest));
}

std::string MigrateHint(std::string_view table) {
  return StrCat("run: outboxd migrate up --table ", table);
}

std::string AbsentHint(std::string_view table, const Result<std::vector<std::string>>& known,
                       std::string_view missing_schema) {
  const std::string create = missing_schema.empty()
                                 ? MigrateHint(table)
                                 : StrCat("there is no schema ", missing_schema, ": CREATE SCHEMA ",
                                          missing_schema, ", then ", MigrateHint(table));
  if (!known.ok() || known->empty()) return create;
  if (std::ranges::find(*known, table) != known->end()) {
    return StrCat("it was dropped or renamed without outboxd: outboxd migrate up --table ", table,
                  " makes it anew, outboxd migrate down --table ", table, " forgets it");
  }
  std::vector<std::string> names;
  for (const std::string& each : *known) names.emplace_back(WithoutSchema(each));
  const auto nearest = std::ranges::find(names, base::Nearest(WithoutSchema(table), names));
  if (nearest != names.end()) {
    const std::string& meant = (*known)[static_cast<std::size_t>(nearest - names.begin())];
    return missing_schema.empty() ? StrCat("did you mean ", meant, "?")
                                  : StrCat(create, "; or did you mean ", meant, "?");
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(known->size(), kShownMax));
  return StrCat("outbox tables: ", base::Join({known->begin(), known->begin() + shown}, ", "),
                known->size() > kShownMax ? ", …" : "", "; to create this one, ", create);
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
  if (schema.has_holds) {
    return Status::Permanent(Code::kSchema,
                             "this database has pauses of an older version, which this program "
                             "would not heed")
        .WithHint(StrCat(MigrateHint(table), "; it keeps them"));
  }
  return Status::Ok();
}

}  // namespace outbox::store
