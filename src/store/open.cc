#include "base/mask_address.h"
#include "base/text.h"
#include "store/backend.h"
#if OUTBOX_WITH_POSTGRES
#include "store/postgres/backend.h"
#endif
#if OUTBOX_WITH_SQLITE
#include "store/sqlite/backend.h"
#endif

namespace outbox::store {
namespace {

constexpr std::string_view kHint =
    "give postgres://user@host/database, a libpq DSN (host=… dbname=…), or sqlite:PATH";

bool LooksLikePostgres(std::string_view address) {
  return address.starts_with("postgres://") || address.starts_with("postgresql://") ||
         (address.find("://") == std::string_view::npos &&
          address.find('=') != std::string_view::npos);
}

[[maybe_unused]] Status NotBuilt(std::string_view database) {
  return Status::Invalid(base::StrCat("db: this build has no support for ", database));
}

}  // namespace

Result<std::unique_ptr<Backend>> OpenBackend(const std::string& address) {
  if (address.empty()) {
    return Status::Invalid("db: no database is given").WithHint(std::string(kHint));
  }
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.starts_with(kSqlite)) {
    const std::string path = address.substr(kSqlite.size());
    if (path.empty())
      return Status::Invalid("db: sqlite: has no path").WithHint(std::string(kHint));
#if OUTBOX_WITH_SQLITE
    return OpenSqlite(path);
#else
    return NotBuilt("SQLite");
#endif
  }
  if (LooksLikePostgres(address)) {
#if OUTBOX_WITH_POSTGRES
    return postgres::OpenPostgres(address);
#else
    return NotBuilt("PostgreSQL");
#endif
  }
  return Status::Invalid(base::StrCat("db: '", base::Truncate(base::MaskAddress(address), 120),
                                      "' is not a database address"))
      .WithHint(std::string(kHint));
}

}  // namespace outbox::store
