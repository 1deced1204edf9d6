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
constexpr int kPurgeAll =
    RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING;

int Milliseconds(Deadline deadline, milliseconds most) {
  return static_cast<int>(std::min(deadline.remaining(), most).count());
}

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

KafkaHeaders MakeHeaders(const Headers& headers) {
  KafkaHeaders made(rd_kafka_headers_new(headers.size()));
  for (const auto& [name, value] : headers) {
    rd_kafka_header_add(made.get(), name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  }
  return made;
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

Result<std::unique_ptr<Producer>> Producer::Make(const KafkaOptions& options) {
  std::unique_ptr<Producer> producer(new Producer(options));
  KafkaConf conf(rd_kafka_conf_dup(options.conf.get()));
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
  return ClassifyKafkaError(failure, options_.servers, "");
}

Status Producer::NotReached() const {
  if (last_error_ == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failure({.error = RD_KAFKA_RESP_ERR__TIMED_OUT});
  }
  return ClassifyKafkaError({.error = last_error_}, options_.servers, last_reason_);
}

bool Producer::Answers(milliseconds wait) {
  const rd_kafka_metadata_t* metadata = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client_.get(), 0, nullptr, &metadata, static_cast<int>(wait.count()));
  rd_kafka_poll(client_.get(), 0);
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
    const bool refused = IsRefusedLogin(last_error_);
    const bool away = down_since_ && Clock::now() - start >= kDownPatience;
    if (deadline.passed() || refused || away || broken()) return NotReached();
  }
  return Status::Ok();
}

void Producer::Begin(std::span<Status> results) {
  ++call_;
  results_ = results;
  outstanding_ = 0;
  unsent_.clear();
}

rd_kafka_resp_err_t Producer::Produce(std::size_t index, const KafkaRecord& record) {
  KafkaHeaders headers = MakeHeaders(record.headers);
  std::array<rd_kafka_vu_t, 7> values{};
  std::size_t count = 0;
  values[count].vtype = RD_KAFKA_VTYPE_TOPIC;
  values[count++].u.cstr = record.topic.c_str();
  values[count].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  values[count++].u.i = RD_KAFKA_MSG_F_COPY;
  values[count].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  values[count++].u.i64 = record.timestamp_ms;
  values[count].vtype = RD_KAFKA_VTYPE_OPAQUE;
  values[count++].u.ptr = Ticket(call_, index);
  values[count++] = Memory(RD_KAFKA_VTYPE_VALUE, record.body);
  if (!record.key.empty()) values[count++] = Memory(RD_KAFKA_VTYPE_KEY, record.key);
  values[count].vtype = RD_KAFKA_VTYPE_HEADERS;
  values[count++].u.headers = headers.get();
  const KafkaError error(rd_kafka_produceva(client_.get(), values.data(), count));
  if (error != nullptr) return rd_kafka_error_code(error.get());
  (void)headers.release();  // the message's now
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Producer::Add(std::size_t index, const KafkaRecord& record, Deadline deadline) {
  const Deadline give_up(deadline.at() - Reserve(deadline));
  rd_kafka_resp_err_t error = Produce(index, record);
  while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL && !give_up.passed()) {
    rd_kafka_poll(client_.get(), Milliseconds(give_up, kSlice));
    error = Produce(index, record);
  }
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    fatal_ = fatal_ || error == RD_KAFKA_RESP_ERR__FATAL;
    results_[index] = Failure({.error = error});
    return;
  }
  // What holds when no report ever comes.
  results_[index] = Failure({.error = RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
                             .persisted = RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED});
  ++outstanding_;
}

void Producer::Decide(const rd_kafka_message_t& message) {
  const auto ticket = reinterpret_cast<std::uintptr_t>(message._private);
  const std::size_t index = ticket & ((std::uintptr_t{1} << kIndexBits) - 1);
  if (ticket >> kIndexBits != call_ || index >= results_.size()) return;
  --outstanding_;
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    down_since_.reset();
    results_[index] = Status::Ok();
  } else if (WasNeverSent(message)) {
    unsent_.push_back(index);
  } else {
    results_[index] = Failure({.error = message.err,
                               .persisted = rd_kafka_message_status(&message),
                               .alone = message.len >= options_.batch_bytes});
  }
}

bool Producer::GivenUpAsDown() {
  if (!down_since_) return false;
  if (IsRefusedLogin(last_error_)) return true;
  return Clock::now() - *down_since_ >= kDownPatience && !Answers(kAnswerWait);
}

void Producer::Finish(Deadline deadline) {
  const Deadline give_up(deadline.at() - Reserve(deadline));
  while (outstanding_ > 0 && !give_up.passed()) {
    rd_kafka_flush(client_.get(), Milliseconds(give_up, kSlice));
    if (outstanding_ > 0 && (broken() || GivenUpAsDown())) break;
  }
  if (outstanding_ > 0) Purge(deadline);
  DecideUnsent(deadline);
  ++call_;
  results_ = {};
}

void Producer::Purge(Deadline deadline) {
  const Deadline end = Deadline::After(deadline.remaining() / 2);
  rd_kafka_purge(client_.get(), kPurgeAll);
  while (outstanding_ > 0 && !end.passed()) rd_kafka_poll(client_.get(), Milliseconds(end, kSlice));
}

void Producer::DecideUnsent(Deadline deadline) {
  if (unsent_.empty()) return;
  const bool answers =
      !down_since_ && !broken() && Answers(std::min(deadline.remaining() / 2, kAnswerWait));
  const Status status =
      answers ? Failure({.error = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, .cluster_answers = true})
              : NotReached();
  for (const std::size_t index : unsent_) results_[index] = status;
}

}  // namespace outbox::sink
