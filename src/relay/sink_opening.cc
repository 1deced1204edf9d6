#include "relay/sink_opening.h"

#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "base/detached_thread.h"
#include "base/text.h"

namespace outbox::relay {
namespace {

// An Open gets this long past its deadline to come back by itself.
constexpr std::chrono::seconds kOpenGrace{1};

}  // namespace

Status OpenNow(Sink& sink, Deadline deadline) {
  try {
    return sink.Open(deadline);
  } catch (const std::exception& exception) {
    return Status::SinkDown(base::StrCat("the sink threw: ", exception.what()));
  } catch (...) {
    return Status::SinkDown("the sink threw something that is not a std::exception");
  }
}

SinkOpening::SinkOpening(std::shared_ptr<Sink> sink, Deadline deadline) : deadline_(deadline) {
  std::promise<Status> promise;
  result_ = promise.get_future().share();
  try {
    base::Detach([sink = std::move(sink), deadline, promise = std::move(promise)]() mutable {
      Status status = OpenNow(*sink, deadline);
      // The last of the sink may go here, but not after somebody knows of the end.
      sink.reset();
      promise.set_value(std::move(status));
    });
  } catch (const std::system_error& error) {
    std::promise<Status> failed;
    result_ = failed.get_future().share();
    failed.set_value(
        Status::SinkDown(base::StrCat("can not start a thread to open the sink: ", error.what())));
  }
}

bool SinkOpening::EndsBy(Deadline deadline) const {
  return !result_.valid() || result_.wait_until(deadline.at()) == std::future_status::ready;
}

Status SinkOpening::Await() const {
  if (!EndsBy(Deadline(deadline_.at() + kOpenGrace)))
    return Status::SinkDown(std::string(kOpensStill));
  return result_.valid() ? result_.get() : Status::Ok();
}

}  // namespace outbox::relay
