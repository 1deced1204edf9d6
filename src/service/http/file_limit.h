// RaiseFileLimit: room for as many open files and connections as are wanted.
//
// Threads: any, but it changes the process: once, at the start.
#pragma once

#include <cstddef>

namespace outbox::service {

// Raises the process's soft limit of open files to `wanted`, as far as its hard limit lets it;
// never lowers it. Returns what it is then.
std::size_t RaiseFileLimit(std::size_t wanted);

}  // namespace outbox::service
