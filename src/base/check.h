// OUTBOX_CHECK: stops the process on a bug, in release builds too. Never for operating errors.
#pragma once

#include <cstdio>
#include <cstdlib>

#define OUTBOX_CHECK(condition)                                                          \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
