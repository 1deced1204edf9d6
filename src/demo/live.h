// The live demo: draws a show on the terminal and obeys the keys until it is asked to quit, then
// lets the relay deliver what is left.
#pragma once

#include <string>
#include <vector>

#include "demo/show.h"
#include "demo/terminal.h"

namespace outbox::demo {

// Returns what went wrong on the way.
std::vector<std::string> RunLive(Show& show, Terminal& terminal);

}  // namespace outbox::demo
