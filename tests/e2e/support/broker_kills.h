// BrokerKills: a broker that dies again and again while a relay delivers to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tests/e2e/support/stage.h"
#include "tests/support/server.h"

namespace outbox::testing {

class BrokerKills {
 public:
  struct Plan {
    std::string sink;  // for --sink
    std::size_t kills = 20;
    // Messages of one batch: what a kill leaves without an answer, at most.
    std::size_t batch = 50;
    // Whether a kill may tear a write to the broker's file in two.
    bool tears_writes = true;
  };

  BrokerKills(Stage& stage, Server& broker, Plan plan)
      : stage_(stage), broker_(broker), plan_(std::move(plan)) {}

  // Kills the broker with SIGKILL while a relay delivers to it and a producer adds more, each time
  // after a random number of further deliveries. Before the broker comes back, the relay's log must
  // show that it has noticed; many messages wait for it then, so that the next kill finds the relay
  // at work.
  //
  // Ends when everything is delivered. Then the broker dies once more, without the relay, and comes
  // back: what it holds now is what it had stored. A failure is fatal to the test, which therefore
  // calls this in ASSERT_NO_FATAL_FAILURE.
  void Run();

  // How many messages all kills together can have left without an answer.
  std::size_t in_doubt_max() const { return plan_.kills * plan_.batch; }

  // Prints the account and expects that kills have met messages in flight, that nothing is lost or
  // comes from nowhere, and that no more than `duplicated_max` are repeated.
  void ExpectNothingLost(std::string_view test, const Verdict& verdict,
                         std::size_t duplicated_max) const;

 private:
  std::unique_ptr<Process> StartRelay() const;
  bool ProduceBacklog();
  void Kill();
  // Kills, and waits until the relay has noticed.
  void KillOnce(const Process& relay);

  Stage& stage_;
  Server& broker_;
  const Plan plan_;
  std::size_t met_in_flight_ = 0;  // kills that left messages without an answer
};

}  // namespace outbox::testing
