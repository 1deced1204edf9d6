// Standard input and output, whose failures the streams of the language keep to themselves.
#pragma once

#include "outbox/status.h"

namespace outbox::cli {

// Call it first of all, and once. std::cout remembers from now on why it could not be written to.
// The places of streams that we were started without are taken, so that no database or socket gets
// their number and is read as input or written to as output; using such a stream fails.
void TakeStandardStreams();

// The other end of the pipe on standard output has been closed.
bool ReaderGone() noexcept;

// Writes out what standard output holds. A failure when something could not be written, now or
// before; a reader that went away has read what it wanted, which is no failure. Main thread.
Status FlushOutput();

// What ended std::cin: a failure unless it was its end. Call it right after the read.
Status InputEnd();

}  // namespace outbox::cli
