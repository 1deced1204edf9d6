#include "sink/file/file_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/turn.h"
#include "sink/file/line_writer.h"
#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

// Events may be confidential: nobody but the owner and its group reads them by default.
constexpr mode_t kMode = 0640;

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

class FileSink final : public Sink {
 public:
  FileSink(std::string path, bool fsync) : path_(std::move(path)), fsync_(fsync) {}

  std::string_view name() const noexcept override { return "file"; }
  SinkTraits traits() const noexcept override { return {.batch_max = 1000, .concurrency = 1}; }

  Status Open(Deadline deadline) override {
    const std::unique_lock turn(turn_, deadline.at());
    return turn ? OpenFile() : StillBusy(path_);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    const std::unique_lock turn(turn_, deadline.at());
    const Status ready = turn ? EnsureOpen() : StillBusy(path_);
    if (!ready.ok()) {
      std::fill(results.begin(), results.end(), ready);
      return;
    }
    LineWriter::Written written = writer_.Write(file_.get(), path_, batch, deadline);
    if (written.lines > 0 && regular_ && fsync_ && fdatasync(file_.get()) != 0) {
      // The kernel may have dropped the pages: what was written since the last sync is in doubt.
      written = {.lines = 0, .status = ClassifyFileError("syncing", path_, errno)};
    }
    const auto split = results.begin() + static_cast<std::ptrdiff_t>(written.lines);
    std::fill(results.begin(), split, Status::Ok());
    std::fill(split, results.end(), written.status);
    // A reader that is slow must not see the end of its pipe.
    if (!written.status.ok() && written.status.code() != Code::kDeadline) file_ = Descriptor();
  }

  void Close(Deadline deadline) noexcept override {
    const std::unique_lock turn(turn_, deadline.at());
    if (turn) file_ = Descriptor();
  }

 private:
  Status EnsureOpen() { return file_.open() && !Replaced() ? Status::Ok() : OpenFile(); }

  Status OpenFile() {
    // Without O_NONBLOCK opening a pipe that nobody reads would wait for ever.
    Descriptor file(
        open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kMode));
    if (!file.open()) return ClassifyFileError("opening", path_, errno);
    struct stat info {};
    if (fstat(file.get(), &info) != 0) return ClassifyFileError("opening", path_, errno);
    regular_ = S_ISREG(info.st_mode);
    bool torn = false;
    if (regular_ && info.st_size > 0) {
      OUTBOX_ASSIGN_OR_RETURN(torn, EndsInMidLine(info.st_size));
    }
    // The name of a new file must survive a power failure as well as its contents.
    if (regular_ && info.st_size == 0 && fsync_) OUTBOX_RETURN_IF_ERROR(SyncFolder());
    if (regular_) writer_.set_torn(torn);  // only the writer knows what a pipe has got
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

  Result<bool> EndsInMidLine(off_t size) const {
    const Descriptor reader(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    char last = 0;
    if (!reader.open() || pread(reader.get(), &last, 1, size - 1) != 1) {
      return ClassifyFileError("reading the end of", path_, errno);
    }
    return last != '\n';
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

  // Guards all of the following. A call that was abandoned may hold it for as long as a disk hangs.
  base::Turn turn_;
  Descriptor file_;
  bool regular_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  LineWriter writer_;
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeFileSink(const SinkUri& uri) {
  OptionReader options(uri);
  const bool fsync = options.Choice("fsync", true, {{"always", true}, {"never", false}});
  OUTBOX_RETURN_IF_ERROR(options.Finish());
  std::string path = PercentDecode(uri.target);
  if (path.starts_with("///")) path.erase(0, 2);
  if (path.empty() || path.starts_with("//")) {
    return Status::Invalid("the file: sink has no path")
        .WithHint("write file:events.jsonl or file:/var/lib/outbox/events.jsonl");
  }
  return std::shared_ptr<Sink>(std::make_shared<FileSink>(std::move(path), fsync));
}

}  // namespace outbox::sink
