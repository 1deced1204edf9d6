// An application whose handler takes the whole process down when it meets a poison payload.
//
//   crashing_consumer DATABASE TABLE OUTPUT ATTEMPTS_MAX
//
// Appends the id of each message it handled to OUTPUT, one JSON object a line; ends 0 when nothing
// is left to deliver, 1 on failure, and by SIGABRT on poison.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "outbox/outbox.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int output = open(argv[3], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const auto handle = [output](const outbox::Message& message, outbox::Deadline) {
    if (message.payload.find("poison") != std::string::npos) std::abort();
    const std::string line = "{\"id\":\"" + message.id.ToString() + "\"}\n";
    const bool written = write(output, line.data(), line.size()) > 0;
    return written ? outbox::Status::Ok() : outbox::Status::SinkDown("no output");
  };
  outbox::RelayOptions options;
  options.table = argv[2];
  options.batch_size = 20;
  options.window = 40;
  options.poll_max = std::chrono::milliseconds(50);
  options.retry.attempts_max = std::atoi(argv[4]);
  auto relay = outbox::Relay::Start(argv[1], options, outbox::MakeCallbackSink(handle, 4));
  if (!relay.ok()) {
    std::fprintf(stderr, "%s\n", relay.error().ToString().c_str());
    return 1;
  }
  const auto limit = outbox::Deadline::After(std::chrono::seconds(60));
  const bool drained = (*relay)->Drain(limit).ok();
  return drained && (*relay)->Stop().ok() ? 0 : 1;
}
