// The program's commands, as its own help lists them, and how to run them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace outbox::testing {

using Words = std::vector<std::string>;

inline Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Finished RunOutboxd(const Words& arguments, const std::map<std::string, std::string>& environment);

std::string HelpOf(const Words& command);

// Every command but `help`: {"stats"}, {"migrate", "up"}, …
std::vector<Words> AllCommands();

}  // namespace outbox::testing
