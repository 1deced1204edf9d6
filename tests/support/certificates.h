// Certificates of a test's own: an authority, a server "localhost" (127.0.0.1) and a client, made
// by the openssl program.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace outbox::testing {

class Certificates {
 public:
  Certificates() {
    std::ofstream(File("names")) << "subjectAltName=DNS:localhost,IP:127.0.0.1\n";
    Run({"req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-days", "2", "-subj", "/CN=outbox test authority", "-keyout", File("ca.key"), "-out",
         File("ca.pem")});
    Issue("server");
    Issue("client");
  }

  // ca.pem, server.pem, server.key, client.pem, client.key
  std::string File(const std::string& name) const { return folder_.File(name); }
  bool ok() const { return ok_; }

 private:
  void Run(std::vector<std::string> words) {
    words.insert(words.begin(), "openssl");
    ok_ = ok_ && Process::Run(words).exit_code == 0;
  }
  void Issue(const std::string& name) {
    Run({"req", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj",
         "/CN=" + name, "-keyout", File(name + ".key"), "-out", File(name + ".csr")});
    Run({"x509", "-req", "-days", "2", "-in", File(name + ".csr"), "-CA", File("ca.pem"), "-CAkey",
         File("ca.key"), "-CAcreateserial", "-extfile", File("names"), "-out",
         File(name + ".pem")});
  }

  const TempFolder folder_;
  bool ok_ = true;
};

}  // namespace outbox::testing
