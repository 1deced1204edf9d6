// Migrator on SQLite. Opened by Backend::OpenMigrator.
//
// The registry is the table `outbox_migration`. Each Up or Down is one write transaction: a second
// process waits for it, and then finds nothing left to do. MigrateOptions::notify has no meaning
// here: relays see commits without the help of a trigger.
#pragma once

#include <memory>
#include <string>

#include "store/migrator.h"

namespace outbox::store::sqlite {

// See Backend::PrintMigration.
Result<std::string> PrintMigration(const MigrateOptions& options, const PrintOptions& print);

// Up creates the database file when there is none.
std::unique_ptr<Migrator> MakeMigrator(const std::string& path);

}  // namespace outbox::store::sqlite
