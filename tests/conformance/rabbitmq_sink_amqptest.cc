// The sink conformance suite on a real RabbitMQ node, which all tests of this program share.
#include "base/text.h"
#include "tests/conformance/sink_harness.h"
#include "tests/support/rabbitmq.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

const auto* const required = ::testing::AddGlobalTestEnvironment(new RabbitMqRequired);

RabbitMq* Node() {
  static const std::unique_ptr<RabbitMq> node = RabbitMq::Start();
  return node.get();
}

class RabbitHarness final : public SinkHarness {
 public:
  RabbitHarness() {
    static int number = 0;
    name_ = StrCat("conformance-", ++number);
    Connect();
    client_->DeclareExchange(name_);
    client_->DeclareQueue(name_);
    client_->Bind(name_, name_, "orders.#");
  }

  std::string uri() const override { return StrCat(Node()->address(), "?exchange=", name_); }

  std::vector<Arrived> Receive(std::size_t count) override {
    WaitFor([&] {
      while (auto message = client_->Get(name_)) {
        arrived_.push_back({std::move(message->headers), std::move(message->body)});
      }
      return arrived_.size() >= count;
    });
    return arrived_;
  }

  void Break() override {
    client_.reset();
    EXPECT_TRUE(Node()->Settle());
    Node()->Kill();
  }
  void Mend() override {
    ASSERT_TRUE(Node()->StartAgain());
    Connect();
  }
  bool Freeze() override {
    Node()->Freeze();
    return true;
  }
  void Thaw() override { Node()->Thaw(); }
  bool MakeRefused(Message& message) override {
    message.topic = "nowhere.bound";
    return true;
  }
  std::string uri_with_wrong_password() const override {
    return StrCat("amqp://guest:hunter2@", Node()->endpoint(), "/%2F?exchange=", name_);
  }

 private:
  void Connect() { client_ = std::make_unique<RabbitClient>(*Node()); }

  std::string name_;
  std::unique_ptr<RabbitClient> client_;
  std::vector<Arrived> arrived_;
};

std::unique_ptr<SinkHarness> MakeRabbitHarness() {
  if (Node() == nullptr) return nullptr;
  return std::make_unique<RabbitHarness>();
}

}  // namespace

std::vector<SinkParam> SinksUnderTest() { return {{"rabbitmq", MakeRabbitHarness}}; }

}  // namespace outbox::testing
