// `file:PATH[?fsync=always|never]`: appends one JSON object a line to a file.
//
// A message is confirmed when its line is on disk: each batch is one write and one fsync. With
// fsync=never the operating system's cache is confirmation enough, and a power failure may lose
// lines that were acknowledged.
//
// Appending is safe beside other writers. A line that a full disk or a crash left unfinished is cut
// off, if it is a line of this sink and no other sink writes to the file just now (flock); any
// other unfinished line, and one in a pipe, is ended before the next one. A file that was renamed
// or removed (log rotation) is opened anew at the next batch. A full disk, a missing folder and the
// like are a sink that is down, not a message's fault; lines whose fsync failed are in doubt.
#pragma once

#include <memory>
#include <string>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeFileSink(const SinkUri& uri);

// The path of its address.
Result<std::string> FilePath(const SinkUri& uri);
// Whether there is a regular file with something in it, and its last line is not of a sink.
bool IsForeignFile(const std::string& path);

// As fdatasync(2), for tests of disks that fail.
using SyncFile = int (*)(int fd);
Result<std::shared_ptr<Sink>> MakeFileSinkWith(const SinkUri& uri, SyncFile sync);

}  // namespace outbox::sink
