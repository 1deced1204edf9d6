#include "sink/net/resolve.h"

#include <netdb.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>

#include "base/detached_thread.h"
#include "base/handle.h"
#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using AddressList = base::UniqueHandle<addrinfo, freeaddrinfo>;

struct Lookup {
  int error = 0;
  std::vector<Address> addresses;
};

Lookup LookUp(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  Lookup lookup;
  lookup.error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (lookup.error != 0) return lookup;
  const AddressList list(found);
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    Address address{.length = entry->ai_addrlen};
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    lookup.addresses.push_back(address);
  }
  return lookup;
}

// Shared with a resolver that may outlive the call that waits for it.
struct Pending {
  std::mutex mutex;
  std::condition_variable done_changed;
  bool done = false;
  Lookup lookup;
};

}  // namespace

std::string Address::ToString() const {
  char host[NI_MAXHOST] = "?";
  (void)getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host, sizeof host, nullptr,
                    0, NI_NUMERICHOST);
  return host;
}

Result<std::vector<Address>> Resolve(const Endpoint& endpoint, Deadline deadline) {
  const std::string port = std::to_string(endpoint.port);
  if (Lookup numeric = LookUp(endpoint.host, port, AI_NUMERICHOST); numeric.error == 0) {
    return std::move(numeric.addresses);
  }
  const auto pending = std::make_shared<Pending>();
  try {
    base::Detach([pending, host = endpoint.host, port] {
      Lookup lookup = LookUp(host, port, 0);
      const std::lock_guard lock(pending->mutex);
      pending->lookup = std::move(lookup);
      pending->done = true;
      pending->done_changed.notify_all();
    });
  } catch (const std::system_error& error) {
    return Status::SinkDown(StrCat("resolving ", endpoint.host, ": ", error.what()));
  }
  std::unique_lock lock(pending->mutex);
  if (!pending->done_changed.wait_until(lock, deadline.at(), [&] { return pending->done; })) {
    return Status(Code::kDeadline, Disposition::kSinkDown,
                  StrCat("resolving ", endpoint.host, ": no answer in time"));
  }
  if (pending->lookup.error != 0) {
    return Status::SinkDown(
        StrCat("resolving ", endpoint.host, ": ", gai_strerror(pending->lookup.error)));
  }
  return std::move(pending->lookup.addresses);
}

}  // namespace outbox::sink
