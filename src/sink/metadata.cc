#include "sink/metadata.h"

namespace outbox::sink {

Headers DeliveryHeaders(const Message& message) {
  Headers headers;
  headers.reserve(message.headers.size() + 12);
  VisitDeliveryHeaders(message, [&](std::string_view name, std::string_view value) {
    headers.emplace_back(name, value);
  });
  return headers;
}

}  // namespace outbox::sink
