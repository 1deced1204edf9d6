#include "sink/file/file_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "sink/file/stalled_pipe.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;

class FileSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "outbox-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "events.jsonl";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<Sink> Make(const std::string& path) const {
    return MakeFileSink(SinkUri::Parse("file:" + path).value()).value();
  }
  static std::vector<Message> Messages(int count) {
    std::vector<Message> messages(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      messages[static_cast<std::size_t>(i)].seq = i + 1;
      messages[static_cast<std::size_t>(i)].payload = "{}";
    }
    return messages;
  }
  static std::vector<Status> Publish(Sink& sink, const std::vector<Message>& messages) {
    std::vector<Status> results(messages.size(), Status::NotAttempted());
    sink.Publish(messages, results, Soon());
    return results;
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

  static std::string Read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // The seq of each line that is a JSON object.
  static std::vector<int> Sequences(const std::filesystem::path& path) {
    std::vector<int> sequences;
    for (const std::string& line : base::Split(Read(path), '\n')) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object()) sequences.push_back(json.at("seq"));
    }
    return sequences;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(FileSinkTest, AppendsOneLinePerMessage) {
  std::ofstream(path_) << "{\"seq\":0}\n";
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  for (const Status& status : Publish(*sink, Messages(3))) EXPECT_OK(status);
  EXPECT_EQ(Sequences(path_), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(Read(path_).ends_with("}\n"));
}

TEST_F(FileSinkTest, StartsANewLineAfterATornOneOfSomebodyElse) {
  const std::string before = "{\"seq\":0}\n{\"seq\":9,\"pa";
  std::ofstream(path_) << before;
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  Publish(*sink, Messages(1));
  EXPECT_EQ(Sequences(path_), (std::vector<int>{0, 1}));
  EXPECT_TRUE(Read(path_).starts_with(before + "\n{"));
}

TEST_F(FileSinkTest, CutsOffALineOfItsOwnThatACrashLeftUnfinished) {
  {
    const auto sink = Make(path_);
    for (const Status& status : Publish(*sink, Messages(2))) ASSERT_OK(status);
  }
  const std::string whole = Read(path_);
  // Of any length: also one that is read in several pieces.
  for (const std::size_t length : {whole.size() - 1, whole.size() / 2 + 60}) {
    for (const std::size_t padding : {0UL, 200'000UL}) {
      std::ofstream(path_) << whole.substr(0, length) << std::string(padding, ' ');
      ASSERT_OK(Make(path_)->Open(Soon()));
      EXPECT_EQ(Sequences(path_), (std::vector<int>{1}));
      EXPECT_TRUE(Read(path_).ends_with("}\n"));
    }
  }
}

TEST_F(FileSinkTest, CutsNothingOffWhileAnotherSinkWrites) {
  {
    const auto sink = Make(path_);
    ASSERT_OK(Publish(*sink, Messages(1))[0]);
  }
  const std::string torn = Read(path_).substr(0, 80);
  std::ofstream(path_) << torn;
  const int other = open(path_.c_str(), O_WRONLY | O_APPEND);
  ASSERT_EQ(flock(other, LOCK_SH), 0);  // as a sink does that is writing
  const auto sink = Make(path_);
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  EXPECT_TRUE(Read(path_).starts_with(torn + "\n{"));
  close(other);
}

// As a full disk does, files end here.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(FileSinkTest, CutsOffALineForWhichThereIsNoRoom) {
  const auto sink = Make(path_);
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  const std::size_t line = Read(path_).size();
  for (int round = 0; round < 2; ++round) {
    const FileSizeLimit limit(2 * line + line / 2);
    const auto results = Publish(*sink, Messages(3));
    EXPECT_EQ(results[0].ok(), round == 0) << results[0].ToString();
    EXPECT_EQ(results[1].disposition(), Disposition::kSinkDown) << results[1].ToString();
    EXPECT_EQ(results[2].disposition(), Disposition::kSinkDown) << results[2].ToString();
    EXPECT_EQ(Read(path_).size(), 2 * line) << "nothing of the line that has no room";
  }
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
  EXPECT_EQ(Sequences(path_), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(Read(path_).find("\n\n"), std::string::npos);
}

// How many syncs fail from now on.
std::atomic<int> failing_syncs{0};

int SyncThatFails(int fd) {
  if (failing_syncs <= 0) return fdatasync(fd);
  --failing_syncs;
  errno = EIO;
  return -1;
}

TEST_F(FileSinkTest, WhatCouldNotBeSyncedIsInDoubtAndTheNextWaitForTheDisk) {
  const auto sink =
      MakeFileSinkWith(SinkUri::Parse("file:" + path_.string()).value(), SyncThatFails).value();
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  failing_syncs = 2;
  for (const Status& status : Publish(*sink, Messages(2))) {
    EXPECT_EQ(status.disposition(), Disposition::kInDoubt) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("Input/output error"));
  }
  const std::string before = Read(path_);
  for (const Status& status : Publish(*sink, Messages(2))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  }
  EXPECT_EQ(Read(path_), before) << "nothing is written to a disk that fails";
  for (const Status& status : Publish(*sink, Messages(2))) EXPECT_OK(status);
}

TEST_F(FileSinkTest, OfABatchThatIsCutOffOnlyWhatWasWrittenIsInDoubt) {
  const auto sink =
      MakeFileSinkWith(SinkUri::Parse("file:" + path_.string()).value(), SyncThatFails).value();
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  const FileSizeLimit limit(2 * Read(path_).size() + 20);
  failing_syncs = 1;
  const auto results = Publish(*sink, Messages(3));
  EXPECT_EQ(results[0].disposition(), Disposition::kInDoubt) << results[0].ToString();
  EXPECT_EQ(results[1].disposition(), Disposition::kSinkDown) << results[1].ToString();
  EXPECT_EQ(results[2].disposition(), Disposition::kSinkDown) << results[2].ToString();
}

TEST_F(FileSinkTest, FollowsAFileThatWasRotatedAway) {
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  Publish(*sink, Messages(1));
  std::filesystem::rename(path_, folder_ / "events.jsonl.1");
  for (const Status& status : Publish(*sink, Messages(2))) EXPECT_OK(status);
  EXPECT_EQ(Sequences(folder_ / "events.jsonl.1"), (std::vector<int>{1}));
  EXPECT_EQ(Sequences(path_), (std::vector<int>{1, 2}));
}

TEST_F(FileSinkTest, AFullDiskIsASinkThatIsDown) {
  const auto sink = Make("/dev/full");
  ASSERT_OK(sink->Open(Soon()));
  for (const Status& status : Publish(*sink, Messages(2))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
    EXPECT_THAT(status.message(), HasSubstr("/dev/full: No space left on device"));
    EXPECT_FALSE(status.hint().empty());
  }
}

TEST_F(FileSinkTest, AMissingFolderIsASinkThatIsDownUntilItExists) {
  const auto sink = Make(folder_ / "later" / "events.jsonl");
  const Status missing = sink->Open(Soon());
  EXPECT_EQ(missing.disposition(), Disposition::kSinkDown);
  EXPECT_EQ(Publish(*sink, Messages(1))[0].disposition(), Disposition::kSinkDown);
  std::filesystem::create_directory(folder_ / "later");
  EXPECT_OK(sink->Open(Soon()));
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

TEST_F(FileSinkTest, APipeNobodyReadsDoesNotBlock) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Make(path_)->Open(Soon()).disposition(), Disposition::kSinkDown);
}

TEST_F(FileSinkTest, APipeGetsWholeLinesAfterAStall) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  PipeReader reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  const std::vector<Message> messages = ManyLines();
  const auto stalled = PublishWithin(*sink, messages, std::chrono::milliseconds(200));
  EXPECT_EQ(stalled.back().disposition(), Disposition::kSinkDown);
  const auto done = static_cast<std::size_t>(std::count_if(
      stalled.begin(), stalled.end(), [](const Status& status) { return status.ok(); }));
  reader.Read();
  ASSERT_OK(sink->Open(Soon()));
  EXPECT_OK(PublishWithin(*sink, {&messages[done], 1}, std::chrono::seconds(30))[0]);
  reader.Read();
  const std::vector<std::int64_t> read = reader.Sequences();
  ASSERT_EQ(read.size(), done + 1);
  EXPECT_EQ(read.back(), messages[done].seq);
}

TEST_F(FileSinkTest, ACallBesideOneThatHangsIsASinkThatIsDown) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  PipeReader reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  const std::vector<Message> messages = ManyLines();
  auto hanging = std::async(
      std::launch::async, [&] { return PublishWithin(*sink, messages, std::chrono::seconds(60)); });
  ASSERT_TRUE(testing::WaitFor([&] { return reader.Reached(); }));
  const std::vector<Message> others = ManyLines(1001);
  const auto soon = std::chrono::milliseconds(200);
  EXPECT_EQ(PublishWithin(*sink, others, soon)[0].disposition(), Disposition::kSinkDown);
  EXPECT_EQ(sink->Open(Deadline::After(soon)).disposition(), Disposition::kSinkDown);
  sink->Close(Deadline::After(soon));
  for (const Status& status : reader.ReadUntilReady(hanging)) EXPECT_OK(status);
  const std::vector<std::int64_t> read = reader.Sequences();
  ASSERT_EQ(read.size(), messages.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], messages[i].seq);
}

TEST_F(FileSinkTest, IsNotReadableByOthers) {
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  EXPECT_EQ(std::filesystem::status(path_).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
}

}  // namespace
}  // namespace outbox::sink
