// TextTemplate: a destination's name made of a message's fields: "orders.{tenant_id}.{event_type}".
//
// Fields: {topic} {event_type} {event_version} {key} {tenant_id} {namespace} {aggregate_type}
// {aggregate_id} {table} {id}. "{{" and "}}" stand for themselves.
//
// Threads: constant once parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::sink {

class TextTemplate {
 public:
  // kInvalidArgument names an unknown field, and the nearest that is known.
  static Result<TextTemplate> Parse(std::string_view text);

  // A field without a value is empty text.
  std::string Render(const Message& message) const;
  // With "x" for every field: shows at the start whether the text between fields can be part of a
  // name at all.
  std::string Sample() const;

 private:
  using Field = void (*)(const Message&, std::string&);  // appends to the text
  struct Part {
    std::string literal;
    Field field = nullptr;  // after the literal; none in the last part
  };

  std::vector<Part> parts_;
};

}  // namespace outbox::sink
