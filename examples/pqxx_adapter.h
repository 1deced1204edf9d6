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
#include <vector>

#include "outbox/enqueue.h"

// [snippet adapter]
class PqxxExecutor final : public outbox::Executor {
 public:
  explicit PqxxExecutor(pqxx::transaction_base& transaction) : transaction_(transaction) {}

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
    } catch (const pqxx::broken_connection& error) {
      failed_ = true;
      return outbox::Status::Retry(outbox::Code::kUnavailable, error.what());
    } catch (const pqxx::sql_error& error) {
      failed_ = true;
      return outbox::Status::Permanent(outbox::Code::kInternal, error.what())
          .WithNative(error.sqlstate());
    } catch (const std::exception& error) {
      failed_ = true;
      return outbox::Status::Permanent(outbox::Code::kInternal, error.what());
    }
  }

 private:
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

  pqxx::transaction_base& transaction_;
  bool failed_ = false;
};
// [end]
