#include "tests/e2e/support/ledger.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace outbox::testing {

void Ledger::SeeFile(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("id")) See(json["id"]);
  }
}

Verdict Ledger::Judge() const {
  Verdict verdict;
  verdict.events = expected_.size();
  for (const std::string& id : expected_) verdict.lost += seen_.contains(id) ? 0 : 1;
  for (const auto& [id, times] : seen_) {
    verdict.seen += times;
    verdict.duplicated += times - 1;
    verdict.phantom += expected_.contains(id) ? 0 : 1;
  }
  return verdict;
}

void PrintVerdict(std::string_view test, const Verdict& verdict, std::size_t faults,
                  std::size_t bound) {
  std::printf("%.*s: events=%zu faults=%zu lost=%zu phantom=%zu duplicated=%zu bound=%zu\n",
              static_cast<int>(test.size()), test.data(), verdict.events, faults, verdict.lost,
              verdict.phantom, verdict.duplicated, bound);
  std::fflush(stdout);
}

}  // namespace outbox::testing
