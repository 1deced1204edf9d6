// The script: the same show without a terminal. Orders flow, the sink breaks, is mended, refuses,
// recovers; the relay is restarted. Each step states what must hold and checks it.
#pragma once

#include <string>
#include <vector>

#include "demo/show.h"

namespace outbox::demo {

// Takes about twelve seconds. Progress goes to standard output unless `quiet`. Returns the steps
// that did not do what they must.
std::vector<std::string> RunScript(Show& show, bool quiet);

}  // namespace outbox::demo
