// Preloaded, it makes the end of a process take its time, after the exit handlers of what the
// program links have run: whoever still runs then is found out.
#include <unistd.h>

__attribute__((destructor)) static void EndLate(void) {
  static const char kText[] = "late exit\n";
  if (write(STDERR_FILENO, kText, sizeof kText - 1) > 0) usleep(1500 * 1000);
}
