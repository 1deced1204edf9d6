// A destination, seen from behind: what the sink conformance suite needs of one. The suite is
// compiled once (sink_suite.cc) and linked by one binary per sink, which defines SinksUnderTest.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "outbox/message.h"

namespace outbox::testing {

struct Arrived {
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// What arrived, and how to break it.
class SinkHarness {
 public:
  virtual ~SinkHarness() = default;

  // The address of the sink under test, with bodies plain.
  virtual std::string uri() const = 0;
  // Waits until at least `count` messages have arrived since the start; all of them, in order.
  virtual std::vector<Arrived> Receive(std::size_t count) = 0;
  // The destination goes away, with every connection to it, and comes back.
  virtual void Break() = 0;
  virtual void Mend() = 0;
  // It keeps its connections and answers nothing. False where that can not be done.
  virtual bool Freeze() { return false; }
  virtual void Thaw() {}
  // Changes a message into one that this destination refuses while it takes others. False where
  // there is no such message.
  virtual bool MakeRefused(Message& message) {
    (void)message;
    return false;
  }
  // An address with the password "hunter2", which is wrong. Empty where there are no passwords.
  virtual std::string uri_with_wrong_password() const { return ""; }
};

struct SinkParam {
  std::string name;
  std::function<std::unique_ptr<SinkHarness>()> make;
};

// The sinks of this binary, each with a harness around a real destination.
std::vector<SinkParam> SinksUnderTest();

}  // namespace outbox::testing
