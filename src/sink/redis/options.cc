#include "sink/redis/options.h"

#include <charconv>
#include <limits>

#include "sink/body_option.h"
#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

constexpr int kPort = 6379;
constexpr int kDbMax = 16383;
constexpr std::size_t kGroupMax = 1000;
constexpr std::size_t kMaxlenMax = std::size_t{1} << 40;

int ReadDb(const std::string& path, OptionReader& options) {
  if (path.empty()) return 0;
  int db = -1;
  const char* const end = path.data() + path.size();
  const auto [stopped, error] = std::from_chars(path.data(), end, db);
  if (error != std::errc() || stopped != end || db < 0 || db > kDbMax) {
    options.AddProblem("", "the database after the host is not a number");
  }
  return db;
}

}  // namespace

Result<RedisOptions> RedisOptions::Read(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(const Authority authority, ParseAuthority(uri, kPort));
  OptionReader options(uri);
  RedisOptions read;
  read.endpoints = authority.endpoints;
  read.user = authority.user;
  read.db = ReadDb(authority.path, options);
  read.password = options.Secret("password");
  if (!read.password.empty() && !authority.password.empty()) {
    options.AddProblem("password", "is in the address already");
  }
  if (read.password.empty()) read.password = authority.password;
  if (!read.user.empty() && read.password.empty()) {
    options.AddProblem("password", "is missing for this user");
  }
  if (uri.scheme == "rediss") {
    read.tls = ReadTlsOptions(options);
    read.tls->instead = "write redis:";
  }

  read.stream = options.Template("stream", "{topic}");
  if (read.stream.Sample().empty()) options.AddProblem("stream", "is empty");
  // No field of an empty message looks like that of the sample.
  read.same_stream = read.stream.Sample() == read.stream.Render({});
  const std::size_t approximate = options.Number("maxlen", 0, 1, kMaxlenMax);
  const std::size_t exact = options.Number("maxlen_exact", 0, 1, kMaxlenMax);
  if (approximate > 0 && exact > 0) {
    options.AddProblem("maxlen", "give one of maxlen and maxlen_exact");
  }
  read.maxlen = exact > 0 ? exact : approximate;
  read.maxlen_exact = exact > 0;
  read.group = options.Number("group", read.group, 1, kGroupMax);
  using std::chrono::milliseconds;
  read.dedupe =
      options.Duration("dedupe", milliseconds(0), milliseconds(0), std::chrono::hours(24 * 365));
  read.body = ReadBody(options);
  OUTBOX_RETURN_IF_ERROR(options.Finish());
  return read;
}

}  // namespace outbox::sink
