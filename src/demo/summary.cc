#include "demo/summary.h"

#include <cstdio>

#include "base/text.h"

namespace outbox::demo {
namespace {

using base::StrCat;

std::string ElapsedText(std::chrono::milliseconds duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(duration.count()) / 1000);
  return text;
}

std::string Row(std::string_view name, std::uint64_t value, std::string_view remark) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-12.*s %8llu   %.*s\n", static_cast<int>(name.size()),
                name.data(), static_cast<unsigned long long>(value),
                static_cast<int>(remark.size()), remark.data());
  return text;
}

}  // namespace

std::vector<std::string> Summary::Problems() const {
  std::vector<std::string> problems = failures;
  const auto expect_zero = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) problems.push_back(StrCat(count, " ", what));
  };
  if (audit.committed != counts.delivered + counts.dead) {
    problems.push_back(StrCat("committed ", audit.committed, ", delivered ", counts.delivered,
                              ", dead ", counts.dead, ": they do not add up"));
  }
  expect_zero(audit.lost, "committed events were lost");
  expect_zero(audit.phantoms, "events of rolled back orders were delivered");
  expect_zero(audit.attempts_wasted, "attempts were counted though the sink never judged them");
  return problems;
}

std::string Summary::ToText() const {
  std::string text = StrCat("outboxd demo: ", ElapsedText(elapsed), " on ", database, "\n\n");
  text += Row("committed", audit.committed, "orders, each with its event in the same transaction");
  text += Row("rolled back", counts.rolled_back,
              StrCat("orders; events of theirs that arrived: ", audit.phantoms));
  text += Row("delivered", counts.delivered, "distinct events");
  text += Row("dead", counts.dead, "refused for good, kept for an operator");
  text += Row("lost", audit.lost, "committed and never seen");
  text += Row("duplicates", counts.duplicates, "deliveries repeated: at least once, same id");
  text += Row("retried", relay.retried, "after a refusal or a lost answer");
  text += Row("outages", relay.outages,
              StrCat("sink down: ", probes, " probes, attempts it cost: ", audit.attempts_wasted));
  text += '\n';
  const auto problems = Problems();
  if (problems.empty()) {
    return text + StrCat("ok: committed ", audit.committed, " = delivered ", counts.delivered,
                         counts.dead > 0 ? StrCat(" + dead ", counts.dead) : "", ", lost 0\n");
  }
  for (const std::string& problem : problems) text += StrCat("FAILED: ", problem, "\n");
  return text;
}

std::string Summary::ToJson() const {
  const auto problems = Problems();
  std::string list;
  for (const std::string& problem : problems) {
    list += StrCat(list.empty() ? "" : ",", base::JsonQuote(problem));
  }
  return StrCat(R"({"ok":)", problems.empty() ? "true" : "false", R"(,"database":)",
                base::JsonQuote(database), R"(,"elapsed_ms":)", elapsed.count(), R"(,"committed":)",
                audit.committed, R"(,"rolled_back":)", counts.rolled_back, R"(,"delivered":)",
                counts.delivered, R"(,"dead":)", counts.dead, R"(,"lost":)", audit.lost,
                R"(,"phantoms":)", audit.phantoms, R"(,"duplicates":)", counts.duplicates,
                R"(,"retried":)", relay.retried, R"(,"outages":)", relay.outages, R"(,"probes":)",
                probes, R"(,"attempts_wasted":)", audit.attempts_wasted, R"(,"problems":[)", list,
                "]}\n");
}

}  // namespace outbox::demo
