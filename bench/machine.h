// What a reader must know of the machine to make sense of a rate.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace outbox::bench {

// CPU, memory, kernel, load, and what a durable write costs in `folder`.
std::vector<std::pair<std::string, std::string>> DescribeMachine(const std::string& folder);

// "0.52 0.71 0.80": the load averages now.
std::string LoadAverage();

// How long all processors together have been busy since the machine started, whoever used them.
std::chrono::duration<double> BusyTime();

}  // namespace outbox::bench
