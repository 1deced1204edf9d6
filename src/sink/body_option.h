// The option `body`: what of a message travels as the body. All words of all sinks are here, and
// each means the same in every sink that has it.
//
//   plain        the payload alone
//   envelope     the payload and its metadata as one JSON object
//   cloudevents  a CloudEvent in structured mode
//   binary       a CloudEvent in binary mode: the payload, attributes as headers. HTTP only
//   structured   another word for cloudevents. HTTP only
#pragma once

#include "message/envelope.h"
#include "sink/option_reader.h"

namespace outbox::sink {

struct BodyOption {
  message::BodyFormat format = message::BodyFormat::kPlain;
  bool binary = false;
};

// `body` of a bus, plain unless given.
message::BodyFormat ReadBody(OptionReader& reader);
// `outbox.body` of a webhook, a structured CloudEvent unless given.
BodyOption ReadWebhookBody(OptionReader& reader);

}  // namespace outbox::sink
