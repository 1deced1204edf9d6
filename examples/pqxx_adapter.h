// PqxxExecutor: lets Enqueue write through a libpqxx transaction of yours. Written for
// libpqxx 6.4, Debian 12's; copy and adapt.
//
//   pqxx::work work(connection);
//   PqxxExecutor transaction(work);
//   outbox::Enqueue(transaction, "orders_outbox", {…});
//   work.commit();
//
// Borrows the transaction; both belong to one thread.
#pragma once

#include <exception>
#include <optional>
#include <pqxx/pqxx>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/enqueue.h"

// [snippet adapter]
class PqxxExecutor final : public outbox::Executor {
 public:
  // No pqxx::nontransaction, each of whose statements commits on its own. The connection's
  // client_encoding must be UTF8, as it is by default for a database in UTF8.
  explicit PqxxExecutor(pqxx::dbtransaction& transaction) : transaction_(transaction) {}

  outbox::Dialect dialect() const override { return outbox::Dialect::kPostgres; }

  // A pqxx transaction is open from its construction; once a statement has failed it is aborted.
  outbox::TransactionState transaction_state() const override {
    return failed_ ? outbox::TransactionState::kAborted : outbox::TransactionState::kOpen;
  }

  outbox::Result<std::vector<Row>> Execute(const std::string& sql,
                                           std::span<const Param> params) override {
    std::vector<const char*> values;  // null is NULL
    for (const Param& param : params) values.push_back(param ? param->c_str() : nullptr);
    try {
      return Rows(transaction_.exec_params(sql, pqxx::prepare::make_dynamic_params(values)));
    } catch (const pqxx::sql_error& error) {
      return Failed(error.sqlstate(), error);
    } catch (const pqxx::transaction_rollback& error) {  // no sql_error in libpqxx 6
      return Failed("40000", error);
    } catch (const pqxx::broken_connection& error) {
      return Failed("08000", error);
    } catch (const std::exception& error) {
      return Failed("", error);
    }
  }

 private:
  // The first line only: the next ones may quote the row.
  outbox::Status Failed(std::string_view sqlstate, const std::exception& error) {
    failed_ = true;
    const std::string_view text = error.what();
    return outbox::PostgresFailure(sqlstate, text.substr(0, text.find('\n')));
  }

  static std::vector<Row> Rows(const pqxx::result& result) {
    std::vector<Row> rows;
    for (const auto& row : result) {
      Row& copy = rows.emplace_back();
      for (const auto& field : row) {
        copy.push_back(field.is_null() ? std::nullopt : Param(field.c_str()));
      }
    }
    return rows;
  }

  pqxx::dbtransaction& transaction_;
  bool failed_ = false;
};
// [end]
