#include "sink/http/client.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace outbox::sink {
namespace {

// curl has timers of its own; this is only the longest nap.
constexpr std::chrono::milliseconds kPollMax{1000};

Status TooLarge(std::size_t header_bytes) {
  return Status::Invalid(base::StrCat("headers: take ", header_bytes,
                                      " bytes as they are sent, over the limit of ",
                                      kHeaderBytesMax))
      .WithHint(
          "enqueue it with fewer or shorter headers; other characters than ASCII take three "
          "bytes for each of theirs");
}

}  // namespace

Client::Client(const HttpOptions& options, std::size_t slots) : options_(options), slots_(slots) {
  Reconnect();
}

void Client::Reconnect() {
  multi_.reset(curl_multi_init());
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(slots_));
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  usable_ = multi_ != nullptr;
  suspect_ = false;
}

Client::~Client() {
  for (const auto& transfer : in_flight_) {
    curl_multi_remove_handle(multi_.get(), transfer->handle());
  }
}

void Client::Send(const std::function<HttpRequest(std::size_t)>& make, std::span<Status> results,
                  Deadline deadline) {
  down_.reset();
  std::size_t next = 0;
  while (usable_ && !deadline.passed()) {
    if (suspect_ && in_flight_.empty()) Reconnect();
    while (!down_ && !suspect_ && next < results.size() && in_flight_.size() < slots_) {
      HttpRequest request = make(next);
      if (const std::size_t bytes = HeaderBytes(request); bytes > kHeaderBytesMax) {
        results[next] = TooLarge(bytes);
      } else if (!Start(next, std::move(request), deadline)) {
        break;
      }
      ++next;
    }
    if (in_flight_.empty()) break;
    int running = 0;
    usable_ = curl_multi_perform(multi_.get(), &running) == CURLM_OK;
    if (!usable_ || Collect(results)) continue;
    const auto nap = std::min(deadline.remaining(), kPollMax);
    usable_ = curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(nap.count()), nullptr) ==
              CURLM_OK;
  }
  GiveUp(results);
  if (usable_ && suspect_) Reconnect();
  if (next == 0 && !deadline.passed()) return;
  const Status late =
      next == 0
          ? Status(Code::kDeadline, Disposition::kSinkDown, "not sent: no time was left for it")
          : Status::SinkDown(base::StrCat(options_.endpoint.ToString(),
                                          " was too slow for the messages before this one"));
  const Status not_sent = down_.value_or(late);
  std::fill(results.begin() + static_cast<std::ptrdiff_t>(next), results.end(), not_sent);
}

bool Client::Start(std::size_t index, HttpRequest request, Deadline deadline) {
  if (idle_.empty()) idle_.push_back(std::make_unique<Transfer>(options_));
  Transfer& transfer = *idle_.back();
  // A transfer that may last as long as the call is ended by the call. Its own timer could be a
  // moment early, and the moment would be used to start another that can not be finished.
  transfer.Prepare(index, std::move(request),
                   std::min(options_.timeout, deadline.remaining() + kPollMax));
  usable_ = curl_multi_add_handle(multi_.get(), transfer.handle()) == CURLM_OK;
  if (!usable_) return false;
  in_flight_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  return true;
}

bool Client::Collect(std::span<Status> results) {
  bool any = false;
  int queued = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &queued)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    const auto found =
        std::find_if(in_flight_.begin(), in_flight_.end(),
                     [&](const auto& candidate) { return candidate.get() == transfer; });
    Settle(*transfer, code, results);
    idle_.push_back(std::move(*found));
    *found = std::move(in_flight_.back());
    in_flight_.pop_back();
    any = true;
  }
  return any;
}

void Client::Settle(Transfer& transfer, CURLcode code, std::span<Status> results) {
  Status& result = results[transfer.index()];
  result = transfer.Finish(code);
  curl_multi_remove_handle(multi_.get(), transfer.handle());
  if (code == CURLE_OPERATION_TIMEDOUT && options_.multiplexed()) suspect_ = true;
  if (result.disposition() == Disposition::kSinkDown) down_ = transfer.FinishForOthers();
}

void Client::GiveUp(std::span<Status> results) {
  for (auto& transfer : in_flight_) {
    Settle(*transfer, CURLE_OPERATION_TIMEDOUT, results);
    idle_.push_back(std::move(transfer));
  }
  in_flight_.clear();
}

}  // namespace outbox::sink
