// The reference of settings and profiles, as Markdown tables made from the tables the program uses.
// docs/reference/ contains them word for word; a test compares.
#pragma once

#include <string>

namespace outbox::config {

std::string KeyReference();
std::string ProfileReference();

}  // namespace outbox::config
