#include "bench/private_postgres.h"

#include <filesystem>
#include <fstream>

#include "bench/child.h"
#include "bench/postgres_script.h"

namespace outbox::bench {

PrivatePostgres::PrivatePostgres(std::string folder)
    : script_(folder + "/postgres.sh"), folder_(folder + "/postgres") {}

Result<std::unique_ptr<PrivatePostgres>> PrivatePostgres::Start(const std::string& folder) {
  // The server runs as a user of its own when we are root.
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  std::unique_ptr<PrivatePostgres> server(new PrivatePostgres(folder));
  std::ofstream(server->script_) << kPostgresScript;
  const Finished run = RunChild({"bash", server->script_, "start", server->folder_});
  if (run.exit_code != 0) {
    return Status::Permanent(Code::kNotFound, "no private PostgreSQL server could be started")
        .WithHint("install postgresql, or name a server with --db");
  }
  std::ifstream(server->folder_ + "/url") >> server->url_;
  return server;
}

PrivatePostgres::~PrivatePostgres() {
  (void)RunChild({"bash", script_, "stop", folder_, "immediate"});
}

}  // namespace outbox::bench
