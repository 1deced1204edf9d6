#include "tests/conformance/sink_harness.h"
#include "tests/support/mock_kafka.h"

namespace outbox::testing {
namespace {

class KafkaHarness final : public SinkHarness {
 public:
  std::string uri() const override { return kafka_.uri(); }

  std::vector<Arrived> Receive(std::size_t count) override {
    std::vector<Arrived> all;
    for (const KafkaArrived& arrived : kafka_.Receive(count)) {
      all.push_back(
          {.headers = {arrived.headers.begin(), arrived.headers.end()}, .body = arrived.body});
    }
    return all;
  }
  void Break() override { kafka_.Break(); }
  void Mend() override { kafka_.Mend(); }
  bool Freeze() override {
    kafka_.SetRoundTrip(5000);
    return true;
  }
  void Thaw() override { kafka_.SetRoundTrip(0); }
  bool MakeRefused(Message& message) override {
    message.payload = "\"" + std::string(2'000'000, 'x') + "\"";
    return true;
  }

 private:
  MockKafka kafka_;
};

}  // namespace

std::vector<SinkParam> SinksUnderTest() {
  return {{"kafka", [] { return std::make_unique<KafkaHarness>(); }}};
}

}  // namespace outbox::testing
