#include "sink/file/file_sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/turn.h"
#include "sink/file/last_line.h"
#include "sink/file/line_writer.h"
#include "sink/option_reader.h"
#include "sink/sent_observer.h"

namespace outbox::sink {
namespace {

// Events may be confidential: nobody but the owner and its group reads them by default.
constexpr mode_t kMode = 0640;
constexpr std::chrono::milliseconds kLockLook{1};

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  bool open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// The sinks that write to one file share its lock; one that cuts a line off has it alone. Where
// files can not be locked, nobody cuts.
class FileLock {
 public:
  // Waits for one that cuts, which takes a moment.
  FileLock(int fd, Deadline deadline) : fd_(fd) {
    while (!(shared_ = flock(fd_, LOCK_SH | LOCK_NB) == 0) && errno == EWOULDBLOCK) {
      if ((late_ = deadline.passed())) return;
      std::this_thread::sleep_for(kLockLook);
    }
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (shared_) flock(fd_, LOCK_UN);
  }
  bool late() const { return late_; }
  // False when another has it. Ours may be lost then.
  bool TakeAlone() const { return shared_ && flock(fd_, LOCK_EX | LOCK_NB) == 0; }

 private:
  const int fd_;
  bool shared_ = false;
  bool late_ = false;
};

class FileSink final : public Sink {
 public:
  FileSink(std::string path, bool fsync, SyncFile sync)
      : path_(std::move(path)), fsync_(fsync), sync_(sync) {}

  std::string_view name() const noexcept override { return "file"; }
  SinkTraits traits() const noexcept override { return {.batch_max = 1000, .concurrency = 1}; }

  Status Open(Deadline deadline) override {
    const std::unique_lock turn(turn_, deadline.at());
    return turn ? OpenFile(deadline) : StillBusy(path_);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    const std::unique_lock turn(turn_, deadline.at());
    const Status ready = turn ? EnsureOpen(deadline) : StillBusy(path_);
    if (!ready.ok()) {
      std::fill(results.begin(), results.end(), ready);
      return;
    }
    Write(batch, results, deadline);
  }

  void Close(Deadline deadline) noexcept override {
    const std::unique_lock turn(turn_, deadline.at());
    if (turn) file_ = Descriptor();
  }

 private:
  Status EnsureOpen(Deadline deadline) {
    return file_.open() && !Replaced() ? Status::Ok() : OpenFile(deadline);
  }

  void Write(std::span<const Message> batch, std::span<Status> results, Deadline deadline) {
    const FileLock lock(regular_ ? file_.get() : -1, deadline);
    if (lock.late()) {
      std::fill(results.begin(), results.end(), Locked());
      return;
    }
    const LineWriter::Written written = writer_.Write(file_.get(), path_, batch, deadline);
    const auto split = results.begin() + static_cast<std::ptrdiff_t>(written.lines);
    std::fill(results.begin(), split, Status::Ok());
    std::fill(split, results.end(), written.status);
    if (written.status.ok()) SentObserver::Tell();
    // After a failure the kernel may have dropped the pages, or not.
    const Status synced = written.lines > 0 ? Sync(file_.get()) : Status::Ok();
    unsynced_ = !synced.ok();
    if (unsynced_) {
      std::fill(results.begin(), split,
                Status::InDoubt(synced.code(),
                                base::StrCat("written, but not confirmed: ", synced.message()))
                    .WithHint(synced.hint()));
      std::fill(split, results.end(), synced);
    }
    if (regular_ && written.torn_bytes > 0) CutOff(lock, static_cast<off_t>(written.torn_bytes));
    // A reader that is slow must not see the end of its pipe.
    const bool failed = !written.status.ok() && written.status.code() != Code::kDeadline;
    if (failed || unsynced_) file_ = Descriptor();
  }

  Status Sync(int fd) const {
    if (!regular_ || !fsync_ || sync_(fd) == 0) return Status::Ok();
    return ClassifyFileError("syncing", path_, errno);
  }

  Status OpenFile(Deadline deadline) {
    // Without O_NONBLOCK opening a pipe that nobody reads would wait for ever.
    Descriptor file(
        open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kMode));
    if (!file.open()) return ClassifyFileError("opening", path_, errno);
    struct stat info {};
    if (fstat(file.get(), &info) != 0) return ClassifyFileError("opening", path_, errno);
    regular_ = S_ISREG(info.st_mode);
    // A disk that still fails costs no more messages an attempt.
    if (unsynced_) OUTBOX_RETURN_IF_ERROR(Sync(file.get()));
    unsynced_ = false;
    // Only the writer knows what a pipe has got.
    if (regular_) OUTBOX_RETURN_IF_ERROR(MendTail(file.get(), deadline));
    // The name of a new file must survive a power failure as well as its contents.
    if (regular_ && info.st_size == 0 && fsync_) OUTBOX_RETURN_IF_ERROR(SyncFolder());
    device_ = info.st_dev;
    inode_ = info.st_ino;
    file_ = std::move(file);
    return Status::Ok();
  }

  bool Replaced() const {
    struct stat info {};
    if (!regular_) return false;
    return stat(path_.c_str(), &info) != 0 || info.st_dev != device_ || info.st_ino != inode_;
  }

  // Cuts the end of the file off if it is half a line of ours; any other is ended by the writer.
  Status MendTail(int fd, Deadline deadline) {
    const FileLock lock(fd, deadline);
    if (lock.late()) return Locked();
    const bool alone = lock.TakeAlone();
    struct stat info {};
    if (fstat(fd, &info) != 0) return ClassifyFileError("opening", path_, errno);
    OUTBOX_ASSIGN_OR_RETURN(const LastLine last, LastLineOf(info));
    const bool cut = !last.ended && last.ours && alone && ftruncate(fd, last.start) == 0;
    writer_.set_torn(!last.ended && !cut);
    return Status::Ok();
  }

  // Removes the half line that we have just written, unless others have written behind it.
  void CutOff(const FileLock& lock, off_t bytes) {
    struct stat info {};
    if (!lock.TakeAlone() || fstat(file_.get(), &info) != 0) return;
    if (info.st_size != lseek(file_.get(), 0, SEEK_CUR)) return;
    if (ftruncate(file_.get(), info.st_size - bytes) == 0) writer_.set_torn(false);
  }

  Result<LastLine> LastLineOf(const struct stat& file) const {
    if (file.st_size == 0) return LastLine{};
    const Descriptor reader(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat read {};
    if (!reader.open() || fstat(reader.get(), &read) != 0) {
      return ClassifyFileError("reading the end of", path_, errno);
    }
    if (read.st_dev != file.st_dev || read.st_ino != file.st_ino) {
      return Status::SinkDown(base::StrCat("opening ", path_, ": it was replaced meanwhile"));
    }
    return ReadLastLine(reader.get(), file.st_size, path_);
  }

  Status Locked() const {
    return Status::SinkDown(base::StrCat("writing to ", path_, ": another process has locked it"));
  }

  Status SyncFolder() const {
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.open() || fsync(descriptor.get()) != 0) {
      return ClassifyFileError("syncing the folder of", path_, errno);
    }
    return Status::Ok();
  }

  const std::string path_;
  const bool fsync_;
  const SyncFile sync_;

  // Guards all of the following. A call that was abandoned may hold it for as long as a disk hangs.
  base::Turn turn_;
  Descriptor file_;
  bool regular_ = false;
  bool unsynced_ = false;  // the last sync has failed
  dev_t device_ = 0;
  ino_t inode_ = 0;
  LineWriter writer_;
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeFileSink(const SinkUri& uri) {
  return MakeFileSinkWith(uri, fdatasync);
}

Result<std::string> FilePath(const SinkUri& uri) {
  std::string path = PercentDecode(uri.target);
  if (path.starts_with("///")) path.erase(0, 2);
  if (path.empty() || path.starts_with("//")) {
    return Status::Invalid("the file: sink has no path")
        .WithHint("write file:events.jsonl or file:/var/lib/outbox/events.jsonl");
  }
  return path;
}

bool IsForeignFile(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return false;
  const Descriptor reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader.open()) return true;
  const auto last = ReadLastLine(reader.get(), info.st_size, path);
  return !last.ok() || !last->ours;
}

Result<std::shared_ptr<Sink>> MakeFileSinkWith(const SinkUri& uri, SyncFile sync) {
  OptionReader options(uri);
  const bool fsync = options.Choice("fsync", true, {{"always", true}, {"never", false}});
  OUTBOX_RETURN_IF_ERROR(options.Finish());
  OUTBOX_ASSIGN_OR_RETURN(std::string path, FilePath(uri));
  return std::shared_ptr<Sink>(std::make_shared<FileSink>(std::move(path), fsync, sync));
}

}  // namespace outbox::sink
