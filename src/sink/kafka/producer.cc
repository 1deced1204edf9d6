#include "sink/kafka/producer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace outbox::sink {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// How long a wait inside librdkafka may last before we look around.
constexpr milliseconds kSlice = 100ms;
constexpr milliseconds kAnswerWait = 500ms;
// Brokers that refused a connection may be restarting: librdkafka tries again within this.
constexpr milliseconds kDownPatience = 1500ms;
constexpr unsigned kIndexBits = 32;
constexpr int kPurgeQueue = RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING;
constexpr int kPurgeAll = kPurgeQueue | RD_KAFKA_PURGE_F_INFLIGHT;

// The part of a call's time that is kept for taking back what was not sent.
milliseconds Reserve(Deadline deadline) {
  return std::clamp<milliseconds>(deadline.remaining() / 5, 50ms, 1000ms);
}

void* Ticket(std::uint32_t call, std::size_t index) {
  const std::uintptr_t ticket = (std::uintptr_t{call} << kIndexBits) | index;
  return reinterpret_cast<void*>(ticket);  // NOLINT: never followed
}

bool WasNeverSent(const rd_kafka_message_t& message) {
  if (rd_kafka_message_status(&message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED) return false;
  return message.err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
         message.err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
}

bool IsRefusedLogin(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
         error == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED || error == RD_KAFKA_RESP_ERR__SSL;
}

rd_kafka_vu_t Memory(rd_kafka_vtype_t type, std::string_view bytes) {
  rd_kafka_vu_t value{};
  value.vtype = type;
  value.u.mem.ptr = const_cast<char*>(bytes.data());  // NOLINT: librdkafka copies it
  value.u.mem.size = bytes.size();
  return value;
}

}  // namespace

static_assert(sizeof(void*) == 8, "a ticket has a call and an index");

Result<std::unique_ptr<Producer>> Producer::Make(std::shared_ptr<const KafkaOptions> shared,
                                                 Use use) {
  const KafkaOptions& options = *shared;
  std::unique_ptr<Producer> producer(new Producer(std::move(shared)));
  KafkaConf conf(rd_kafka_conf_dup(options.conf.get()));
  if (use == Use::kAlone) {
    rd_kafka_conf_set(conf.get(), "max.in.flight.requests.per.connection", "1", nullptr, 0);
  }
  std::array<char, 512> error{};
  rd_kafka_conf_set(conf.get(), "bootstrap.servers", options.servers.c_str(), nullptr, 0);
  rd_kafka_conf_set_opaque(conf.get(), producer.get());
  rd_kafka_conf_set_dr_msg_cb(conf.get(), &Producer::OnReport);
  rd_kafka_conf_set_error_cb(conf.get(), &Producer::OnError);
  rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
  producer->client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), error.data(), error.size()));
  if (producer->client_ == nullptr) {
    return Status::SinkDown(
        base::StrCat("kafka at ", options.servers, ": no producer: ", error.data()));
  }
  (void)conf.release();  // the client's now
  return producer;
}

Producer::~Producer() {
  if (client_ != nullptr) rd_kafka_purge(client_.get(), kPurgeAll);
}

bool Producer::broken() const noexcept {
  std::array<char, 1> unused{};
  return fatal_ || rd_kafka_fatal_error(client_.get(), unused.data(), unused.size()) !=
                       RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Producer::OnReport(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
  static_cast<Producer*>(self)->Decide(*message);
}

void Producer::OnError(rd_kafka_t* client, int error, const char* reason, void* self) {
  Producer& producer = *static_cast<Producer*>(self);
  const auto code = static_cast<rd_kafka_resp_err_t>(error);
  const std::lock_guard lock(producer.mutex_);
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    if (!producer.down_since_) producer.down_since_ = Clock::now();
    return;
  }
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    std::array<char, 512> text{};
    producer.last_error_ = rd_kafka_fatal_error(client, text.data(), text.size());
    producer.last_reason_ = text.data();
    producer.fatal_ = true;
    return;
  }
  // The reason for a refused login must not be hidden by the closing of that connection.
  if (IsRefusedLogin(producer.last_error_) && !IsRefusedLogin(code)) return;
  producer.last_error_ = code;
  producer.last_reason_ = reason;
}

Status Producer::Failure(KafkaFailure failure) const {
  return ClassifyKafkaError(failure, options_->servers, "");
}

Status Producer::NotReached() const {
  if (last_error_ == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failure({.error = RD_KAFKA_RESP_ERR__TIMED_OUT});
  }
  return ClassifyKafkaError({.error = last_error_}, options_->servers, last_reason_);
}

bool Producer::needs_reaching() const {
  const std::lock_guard lock(mutex_);
  return !reached_ || down_since_.has_value();
}

void Producer::Poll(Lock& lock, milliseconds wait, const Call* own) {
  if (polling_) {
    polled_.wait_for(lock, wait);
    return;
  }
  polling_ = true;
  lock.unlock();
  rd_kafka_poll(client_.get(), static_cast<int>(wait.count()));
  lock.lock();
  polling_ = false;
  const bool ended = std::exchange(call_ended_, false);
  if (ended || own == nullptr) polled_.notify_all();
}

bool Producer::Answers(milliseconds wait) {
  const rd_kafka_metadata_t* metadata = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client_.get(), 0, nullptr, &metadata, static_cast<int>(wait.count()));
  Lock lock(mutex_);
  Poll(lock, milliseconds::zero());
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  rd_kafka_metadata_destroy(metadata);
  if (!fatal_) last_error_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  down_since_.reset();
  reached_ = true;
  return true;
}

Status Producer::Reach(Deadline deadline) {
  const Clock::time_point start = Clock::now();
  while (!Answers(std::min(deadline.remaining(), kAnswerWait))) {
    const std::lock_guard lock(mutex_);
    const bool refused = IsRefusedLogin(last_error_);
    const bool away = down_since_ && Clock::now() - start >= kDownPatience;
    if (deadline.passed() || refused || away || broken()) return NotReached();
  }
  return Status::Ok();
}

std::unique_ptr<Producer::Call> Producer::Begin(std::span<Status> results, bool alone) {
  std::unique_ptr<Call> call(new Call(*this));
  const std::lock_guard lock(mutex_);
  call->number = ++last_call_;
  call->results = results;
  call->alone = alone;
  call->open.assign(results.size(), 0);
  calls_[call->number] = call.get();
  return call;
}

rd_kafka_resp_err_t Producer::Produce(const Call& call, std::size_t index, KafkaRecord& record) {
  std::array<rd_kafka_vu_t, 7> values{};
  std::size_t count = 0;
  values[count].vtype = RD_KAFKA_VTYPE_TOPIC;
  values[count++].u.cstr = record.topic.c_str();
  values[count].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  values[count++].u.i = RD_KAFKA_MSG_F_COPY;
  values[count].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  values[count++].u.i64 = record.timestamp_ms;
  values[count].vtype = RD_KAFKA_VTYPE_OPAQUE;
  values[count++].u.ptr = Ticket(call.number, index);
  values[count++] = Memory(RD_KAFKA_VTYPE_VALUE, record.body);
  if (!record.key.empty()) values[count++] = Memory(RD_KAFKA_VTYPE_KEY, record.key);
  values[count].vtype = RD_KAFKA_VTYPE_HEADERS;
  values[count++].u.headers = record.headers.get();
  const KafkaError error(rd_kafka_produceva(client_.get(), values.data(), count));
  if (error != nullptr) return rd_kafka_error_code(error.get());
  (void)record.headers.release();  // the message's now
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Producer::Add(Call& call, std::size_t index, KafkaRecord record, Deadline deadline) {
  // Before it is handed over: a report may come at once.
  call.open[index] = 1;
  ++call.outstanding;
  rd_kafka_resp_err_t error = Produce(call, index, record);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const Deadline give_up(deadline.at() - Reserve(deadline));
  Lock lock(mutex_);
  while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL && !give_up.passed()) {
    Poll(lock, std::min(give_up.remaining(), kSlice));
    error = Produce(call, index, record);
  }
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  if (error == RD_KAFKA_RESP_ERR__FATAL) fatal_ = true;
  call.results[index] = Failure({.error = error});
  call.Close(index);
}

void Producer::Decide(const rd_kafka_message_t& message) {
  const auto ticket = reinterpret_cast<std::uintptr_t>(message._private);
  const std::size_t index = ticket & ((std::uintptr_t{1} << kIndexBits) - 1);
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(static_cast<std::uint32_t>(ticket >> kIndexBits));
  if (found == calls_.end()) return;
  Call& call = *found->second;
  call.Close(index);
  if (call.outstanding == 0) call_ended_ = true;
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    down_since_.reset();
    call.results[index] = Status::Ok();
  } else if (WasNeverSent(message)) {
    const bool purged = message.err == RD_KAFKA_RESP_ERR__PURGE_QUEUE;
    (purged && !call.gave_up ? call.left.taken_along : call.left.unsent).push_back(index);
  } else {
    const bool alone = call.alone || message.len >= options_->batch_bytes;
    if (!alone && IsRefusedRequest(message.err)) call.left.refused_together.push_back(index);
    call.results[index] = Failure(
        {.error = message.err, .persisted = rd_kafka_message_status(&message), .alone = alone});
  }
}

bool Producer::GivenUpAsDown() {
  {
    const std::lock_guard lock(mutex_);
    if (!down_since_) return false;
    if (IsRefusedLogin(last_error_)) return true;
    if (Clock::now() - *down_since_ < kDownPatience) return false;
  }
  return !Answers(kAnswerWait);
}

Producer::Leftover Producer::Finish(Call& call, Deadline deadline) {
  const Deadline give_up(deadline.at() - Reserve(deadline));
  Lock lock(mutex_);
  while (call.outstanding > 0 && !give_up.passed()) {
    Poll(lock, std::min(give_up.remaining(), kSlice), &call);
    if (call.outstanding == 0) break;
    lock.unlock();
    const bool pointless = broken() || GivenUpAsDown();
    lock.lock();
    if (pointless) break;
  }
  if (call.outstanding > 0) {
    call.gave_up = true;
    lock.unlock();
    Purge(call, deadline);
    lock.lock();
  }
  calls_.erase(call.number);
  lock.unlock();
  DecideUnreported(call);
  DecideUnsent(call, deadline);
  std::sort(call.left.refused_together.begin(), call.left.refused_together.end());
  std::sort(call.left.taken_along.begin(), call.left.taken_along.end());
  return std::move(call.left);
}

void Producer::Purge(Call& call, Deadline deadline) {
  const Deadline end = Deadline::After(deadline.remaining() / 2);
  Lock lock(mutex_);
  const bool others = std::any_of(calls_.begin(), calls_.end(),
                                  [](const auto& other) { return !other.second->gave_up; });
  lock.unlock();
  rd_kafka_purge(client_.get(), others ? kPurgeQueue : kPurgeAll);
  lock.lock();
  while (call.outstanding > 0 && !end.passed()) Poll(lock, std::min(end.remaining(), kSlice));
}

void Producer::DecideUnreported(Call& call) const {
  if (call.outstanding == 0) return;
  const Status status = Failure({.error = RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
                                 .persisted = RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED});
  for (std::size_t i = 0; i < call.open.size(); ++i) {
    if (call.open[i] != 0) call.results[i] = status;
  }
}

void Producer::DecideUnsent(Call& call, Deadline deadline) {
  if (broken()) {
    // They wait for those before them, which this producer can not finish.
    call.left.unsent.insert(call.left.unsent.end(), call.left.taken_along.begin(),
                            call.left.taken_along.end());
    call.left.taken_along.clear();
  }
  for (const std::size_t index : call.left.taken_along) {
    call.results[index] = Status::NotAttempted();
  }
  if (call.left.unsent.empty()) return;
  const bool answers =
      !needs_reaching() && !broken() && Answers(std::min(deadline.remaining() / 2, kAnswerWait));
  const std::lock_guard lock(mutex_);
  const Status unsent =
      answers ? Failure({.error = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, .cluster_answers = true})
              : NotReached();
  for (const std::size_t index : call.left.unsent) call.results[index] = unsent;
}

}  // namespace outbox::sink
