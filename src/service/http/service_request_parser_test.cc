#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/http/malformed_requests.h"
#include "service/http/request_parser.h"

namespace outbox::service {
namespace {

using State = RequestParser::State;
using ::testing::HasSubstr;

struct Parsed {
  State state;
  RequestHead head;
  std::string body;
  int refused = 0;
  std::string rest;
};

// Fed in pieces of `step` bytes, as a slow connection would.
Parsed ParseBytes(std::string_view bytes, Limits limits = {}, std::size_t step = SIZE_MAX) {
  RequestParser parser(limits);
  std::string buffer;
  while (!bytes.empty() || !buffer.empty()) {
    const std::string_view piece = bytes.substr(0, step);
    buffer += piece;
    bytes.remove_prefix(piece.size());
    while (parser.state() == State::kHead || parser.state() == State::kBody) {
      const std::size_t used = parser.Put(buffer);
      buffer.erase(0, used);
      if (used == 0) break;
    }
    if (parser.state() == State::kDone || parser.state() == State::kFailed || bytes.empty()) break;
  }
  Parsed parsed{
      .state = parser.state(), .head = parser.head(), .rest = buffer + std::string(bytes)};
  if (parser.state() == State::kDone) parsed.body = parser.TakeBody();
  if (parser.state() == State::kFailed) parsed.refused = parser.refusal().status;
  return parsed;
}

constexpr std::string_view kPost =
    "POST /a/b%20c?x=1&y=%C3%A9+z HTTP/1.1\r\nHost: h\r\nX-A: one\r\nContent-Length: "
    "5\r\n\r\nhelloGET";
constexpr std::string_view kChunked =
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: t\r\nX-Request-Id: late\r\n\r\nGET";

class RequestParserSteps : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RequestParserSteps, AWholeRequestComesOutAndTheRestStays) {
  const Parsed parsed = ParseBytes(kPost, {}, GetParam());
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.head.method, Method::kPost);
  EXPECT_EQ(parsed.head.path, "/a/b%20c");
  EXPECT_EQ(parsed.head.segments, (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(parsed.head.query.Find("x"), "1");
  EXPECT_EQ(parsed.head.query.Find("y"), "é z");
  EXPECT_EQ(parsed.head.headers.Find("x-a"), "one");
  EXPECT_TRUE(parsed.head.keep_alive);
  EXPECT_EQ(parsed.body, "hello");
  EXPECT_EQ(parsed.rest, "GET");
}

TEST_P(RequestParserSteps, ChunksAreJoinedAndTrailersDropped) {
  const Parsed parsed = ParseBytes(kChunked, {}, GetParam());
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.body, "hello");
  EXPECT_EQ(parsed.rest, "GET");
  EXPECT_EQ(parsed.head.headers.Find("X-Request-Id"), "");
}

// The parser behind this one aborts the process when it sees less than all of a last chunk twice.
TEST_P(RequestParserSteps, AnEmptyChunkedBodyMayComeInAnyPieces) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string last :
       {"0\r\n\r\n", "00\r\n\r\n", "0000000\r\n\r\n", "0;a\r\n\r\n", "0\r\nA: b\r\n\r\n"}) {
    const Parsed parsed = ParseBytes(head + last + "GET", {}, GetParam());
    EXPECT_EQ(parsed.state, State::kDone) << last;
    EXPECT_EQ(parsed.body, "") << last;
    EXPECT_EQ(parsed.rest, "GET") << last;
    const Parsed cut = ParseBytes(head + last.substr(0, last.size() - 1), {}, GetParam());
    EXPECT_EQ(cut.state, State::kBody) << last;
  }
}

TEST_P(RequestParserSteps, ZerosInAChunkAreNotItsEnd) {
  const Parsed parsed = ParseBytes(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\n000\r\n1\r\n0\r\n01\r\n0\r\n0\r\n\r\n",
      {}, GetParam());
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.body, "00000");
}

INSTANTIATE_TEST_SUITE_P(Pieces, RequestParserSteps, ::testing::Values(1, 2, 3, 7, 4096));

TEST(RequestParser, AHeaderIsCountedAsAWholeHoweverItComes) {
  // Line by line: each fits, all together do not.
  std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\n";
  const std::string line = "X-Filler: " + std::string(88, 'f') + "\r\n";
  Limits limits{.header_bytes_max = 4096, .header_fields_max = 1000};
  for (int i = 0; i < 60; ++i) bytes += line;
  EXPECT_EQ(ParseBytes(bytes + "\r\n", limits, line.size()).refused, 431);
  EXPECT_EQ(ParseBytes(bytes + "\r\n", limits).refused, 431);
  EXPECT_EQ(ParseBytes(bytes, limits, 1).refused, 431);
  limits.header_bytes_max = 8192;
  EXPECT_EQ(ParseBytes(bytes + "\r\n", limits, line.size()).state, State::kDone);
}

TEST(RequestParser, LimitsHaveTheirOwnAnswers) {
  const Limits limits{.header_bytes_max = 2048,
                      .header_fields_max = 3,
                      .target_bytes_max = 64,
                      .body_bytes_max = 10,
                      .query_parameters_max = 2};
  const std::string host = " HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(ParseBytes("GET /" + std::string(63, 'a') + host + "\r\n", limits).state, State::kDone);
  EXPECT_EQ(ParseBytes("GET /" + std::string(64, 'a') + host + "\r\n", limits).refused, 414);
  EXPECT_EQ(ParseBytes("GET /" + std::string(5000, 'a'), limits).refused, 414);
  EXPECT_EQ(ParseBytes("GET /" + host + "A: 1\r\nB: 2\r\n\r\n", limits).state, State::kDone);
  EXPECT_EQ(ParseBytes("GET /" + host + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits).refused, 431);
  EXPECT_EQ(ParseBytes("GET /?a&b" + host + "\r\n", limits).state, State::kDone);
  EXPECT_EQ(ParseBytes("GET /?a&b&c" + host + "\r\n", limits).refused, 400);
  EXPECT_EQ(ParseBytes("POST /" + host + "Content-Length: 10\r\n\r\n0123456789", limits).state,
            State::kDone);
  EXPECT_EQ(ParseBytes("POST /" + host + "Content-Length: 11\r\n\r\n", limits).refused, 413);
  EXPECT_EQ(
      ParseBytes("POST /" + host + "Content-Length: 99999999999999999999\r\n\r\n", limits).refused,
      400);
  const std::string chunked = "POST /" + host + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(ParseBytes(chunked + "a\r\n0123456789\r\n0\r\n\r\n", limits).state, State::kDone);
  EXPECT_EQ(ParseBytes(chunked + "b\r\n", limits).refused, 413);
  EXPECT_EQ(ParseBytes(chunked + "6\r\n012345\r\n5\r\n", limits).refused, 413);
  EXPECT_EQ(ParseBytes(chunked + "FFFFFFFFFFFFFFFF\r\n", limits).refused, 413);
  EXPECT_EQ(ParseBytes(chunked + "1;" + std::string(4000, 'e'), limits).refused, 400);
  EXPECT_EQ(ParseBytes(chunked + "0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits).refused, 431);
}

// Near what is refused: nobody reads these in two ways.
TEST(RequestParser, OddRequestsWithOneMeaningComeThrough) {
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string& bytes :
       {post + "Content-Length: 0\r\n\r\n", post + "Content-Length:\t0\t \r\n\r\n",
        post + "Content-Length:0\r\nX:\r\nY: \r\nZ:  a  \r\n\r\n",
        post + "tRANSFER-eNCODING: CHUNKED\r\n\r\n0\r\n\r\n", post + "X: \xc3\xa9 \ta, b\r\n\r\n",
        std::string("GET / HTTP/1.1\r\nHost: a-b.example:8080\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost:\r\n\r\n")}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{5}, bytes.size()}) {
      EXPECT_EQ(ParseBytes(bytes, {}, step).state, State::kDone) << bytes << " by " << step;
    }
  }
}

TEST(RequestParser, MalformedRequestsNeverComeThrough) {
  for (const Malformed& malformed : MalformedRequests()) {
    for (const std::size_t step : {std::size_t{1}, SIZE_MAX}) {
      EXPECT_NE(ParseBytes(malformed.bytes, {}, step).state, State::kDone) << malformed.why;
    }
  }
}

TEST(RequestParser, TargetsMayBeAbsolute) {
  const Parsed parsed = ParseBytes("GET http://h:80/a?b=c HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.head.path, "/a");
  EXPECT_EQ(parsed.head.query.Find("b"), "c");
  EXPECT_EQ(ParseBytes("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n").head.path, "/");
}

TEST(RequestParser, KeepAliveIsAsTheVersionsHaveIt) {
  EXPECT_TRUE(ParseBytes("GET / HTTP/1.1\r\nHost: h\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(
      ParseBytes("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(ParseBytes("GET / HTTP/1.0\r\n\r\n").head.keep_alive);
  EXPECT_TRUE(ParseBytes("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").head.keep_alive);
}

TEST(RequestParser, WhatIsNotKnownIsNotImplemented) {
  EXPECT_EQ(ParseBytes("BREW / HTTP/1.1\r\nHost: h\r\n\r\n").refused, 501);
  EXPECT_EQ(ParseBytes("TRACE / HTTP/1.1\r\nHost: h\r\n\r\n").refused, 501);
  EXPECT_EQ(ParseBytes("get / HTTP/1.1\r\nHost: h\r\n\r\n").refused, 501);
  EXPECT_EQ(
      ParseBytes("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n").refused,
      501);
  EXPECT_EQ(ParseBytes("POST / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n").refused, 417);
}

}  // namespace
}  // namespace outbox::service
