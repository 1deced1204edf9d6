#include "sink/body_option.h"

namespace outbox::sink {

using message::BodyFormat;

message::BodyFormat ReadBody(OptionReader& reader) {
  return reader.Choice("body", BodyFormat::kPlain,
                       {{"plain", BodyFormat::kPlain},
                        {"envelope", BodyFormat::kEnvelope},
                        {"cloudevents", BodyFormat::kCloudEvents}});
}

BodyOption ReadWebhookBody(OptionReader& reader) {
  constexpr BodyOption kCloudEvent{.format = BodyFormat::kCloudEvents};
  return reader.Choice("outbox.body", kCloudEvent,
                       {{"plain", BodyOption{.format = BodyFormat::kPlain}},
                        {"envelope", BodyOption{.format = BodyFormat::kEnvelope}},
                        {"cloudevents", kCloudEvent},
                        {"binary", BodyOption{.format = BodyFormat::kPlain, .binary = true}},
                        {"structured", kCloudEvent}});
}

}  // namespace outbox::sink
