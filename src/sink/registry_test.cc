#include "sink/registry.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SinkUri, IsTakenApart) {
  const auto uri = SinkUri::Parse("File:/tmp/a%20b.jsonl?fsync=never&x=%26");
  ASSERT_OK(uri);
  EXPECT_EQ(uri->scheme, "file");
  EXPECT_EQ(uri->target, "/tmp/a%20b.jsonl");
  const std::vector<std::pair<std::string, std::string>> options{{"fsync", "never"}, {"x", "&"}};
  EXPECT_EQ(uri->options, options);
}

TEST(SinkUri, DecodesOnlyWholeEscapes) {
  EXPECT_EQ(PercentDecode("a%41%4"), "aA%4");
  EXPECT_EQ(PercentDecode("100%zz%"), "100%zz%");
}

TEST(SinkRegistry, MakesEverySinkItLists) {
  EXPECT_EQ(OpenSink("stdout:").value()->name(), "stdout");
  EXPECT_EQ(OpenSink("null:").value()->name(), "null");
  EXPECT_EQ(OpenSink("file:out.jsonl").value()->name(), "file");
  EXPECT_EQ(OpenSink("amqp://h/?exchange=x").value()->name(), "rabbitmq");
  EXPECT_EQ(OpenSink("amqps://h/?exchange=x").value()->name(), "rabbitmq");
  EXPECT_EQ(OpenSink("http://hooks.example/x").value()->name(), "http");
  EXPECT_EQ(OpenSink("https://hooks.example/x?a=1&wait").value()->name(), "http");
}

TEST(SinkRegistry, NamesTheNearestSchemeAndListsTheRest) {
  const Status status = OpenSink("stduot:").error();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'stduot:'"));
  EXPECT_THAT(status.hint(), HasSubstr("did you mean 'stdout:'?"));
  EXPECT_THAT(status.hint(), HasSubstr("file:PATH"));
}

TEST(SinkRegistry, NeverRepeatsAPasswordInItsErrors) {
  for (const char* uri : {"gopher://user:hunter2@host/", "hunter2", "file:x?hunter2", ":hunter2"}) {
    const Status status = OpenSink(uri).error();
    EXPECT_FALSE(status.ok()) << uri;
    EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
  }
}

TEST(SinkRegistry, RefusesWhatASinkDoesNotTake) {
  for (const char* uri : {"stdout:x", "null:x", "null:?a=b", "file:", "file://host/x",
                          "file:x?fsnyc=always", "file:x?fsync=perhaps"}) {
    EXPECT_THAT(OpenSink(uri), HasCode(Code::kInvalidArgument)) << uri;
  }
  EXPECT_THAT(OpenSink("file:x?fsnyc=always").error().message(),
              HasSubstr("did you mean 'fsync'?"));
}

}  // namespace
}  // namespace outbox::sink
