#include "sink/net/stream.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "tests/support/matchers.h"
#include "tests/support/reserved_port.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;

Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }
Deadline AtOnce() { return Deadline::After(std::chrono::milliseconds(50)); }

// Listens on the loopback; the test accepts by hand.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_.fd(), generic, length), 0);
    EXPECT_EQ(listen(socket_.fd(), 8), 0);
    EXPECT_EQ(getsockname(socket_.fd(), generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  Endpoint endpoint(const std::string& host = "127.0.0.1") const { return {host, port_}; }
  Socket Accept() const { return Socket(accept(socket_.fd(), nullptr, nullptr)); }

 private:
  Socket socket_;
  int port_ = 0;
};

TEST(Stream, CarriesBytesBothWays) {
  const Listener listener;
  auto stream = Stream::Connect(listener.endpoint(), {}, Soon());
  ASSERT_OK(stream);
  const Socket peer = listener.Accept();
  const auto written = stream->Write("hello", Soon());
  EXPECT_OK(written.status);
  EXPECT_EQ(written.bytes, 5u);
  std::array<char, 16> buffer{};
  EXPECT_EQ(recv(peer.fd(), buffer.data(), buffer.size(), 0), 5);
  EXPECT_EQ(send(peer.fd(), "yes", 3, 0), 3);
  const auto got = stream->Read(buffer, Soon());
  ASSERT_OK(got);
  EXPECT_EQ(std::string(buffer.data(), *got), "yes");
}

TEST(Stream, TellsItsSteps) {
  const Listener listener;
  std::vector<std::string> steps;
  ASSERT_OK(Stream::Connect(listener.endpoint("localhost"), {}, Soon(), [&](const auto& step) {
    if (step.ok) steps.emplace_back(step.name);
  }));
  EXPECT_THAT(steps, ::testing::ElementsAre("resolve", "connect"));
}

TEST(Stream, ARefusedConnectionNamesTheServer) {
  const testing::ReservedPort nobodys;
  const int port = nobodys.number();
  const Status status = Stream::Connect({"127.0.0.1", port}, {}, Soon()).error();
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(status.message(), HasSubstr("refused"));
}

TEST(Stream, AnUnknownHostIsASinkThatIsDown) {
  const Status status = Stream::Connect({"no-such-host.invalid", 1}, {}, Soon()).error();
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.message(), HasSubstr("no-such-host.invalid"));
}

TEST(Stream, ReadingAndWritingEndByTheirDeadline) {
  const Listener listener;
  auto stream = Stream::Connect(listener.endpoint(), {}, Soon());
  ASSERT_OK(stream);
  std::array<char, 16> buffer{};
  EXPECT_THAT(stream->Read(buffer, AtOnce()), HasCode(Code::kDeadline));
  // Nobody reads: what the system buffers is taken, the rest is not.
  const std::string much(std::size_t{64} << 20, 'x');
  const auto written = stream->Write(much, AtOnce());
  EXPECT_THAT(written.status, HasCode(Code::kDeadline));
  EXPECT_GT(written.bytes, 0u);
  EXPECT_LT(written.bytes, much.size());
}

TEST(Stream, NoticesThatThePeerHasGone) {
  const Listener listener;
  auto stream = Stream::Connect(listener.endpoint(), {}, Soon());
  ASSERT_OK(stream);
  {
    const Socket peer = listener.Accept();
    EXPECT_FALSE(stream->HungUp());
  }
  EXPECT_TRUE(testing::WaitFor([&] { return stream->HungUp(); }));
  std::array<char, 16> buffer{};
  const Status status = stream->Read(buffer, Soon()).error();
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.message(), HasSubstr("closed"));
}

TEST(Stream, AHandshakeThatIsNotAnsweredEndsByItsDeadline) {
  const Listener listener;
  EXPECT_THAT(Stream::Connect(listener.endpoint(), TlsOptions{}, AtOnce()),
              HasCode(Code::kDeadline));
}

TEST(Stream, NamesATlsFileThatIsNoGood) {
  const Listener listener;
  const testing::TempFolder folder;
  std::ofstream(folder.File("ca.pem")) << "nonsense";
  const Status status =
      Stream::Connect(listener.endpoint(), TlsOptions{.ca_file = folder.File("ca.pem")}, Soon())
          .error();
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.message(),
              HasSubstr("tls_ca: " + folder.File("ca.pem") + " has no certificate"));
}

}  // namespace
}  // namespace outbox::sink
