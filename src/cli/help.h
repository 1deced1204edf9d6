// Help: how CLI11's help texts look. They fit the terminal; elsewhere they are 80 columns wide.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace outbox::cli {

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

}  // namespace outbox::cli
