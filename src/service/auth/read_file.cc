#include "service/auth/read_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace outbox::service {

Result<std::string> ReadKeyFile(const std::string& path, std::size_t bytes_max) {
  std::error_code error;
  // Anything else (a pipe, a terminal) could make us wait for ever.
  if (!std::filesystem::is_regular_file(path, error)) {
    return Status::Permanent(
        Code::kNotFound,
        base::StrCat("can not read ", path, ": ", error ? error.message() : "is not a file"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int code = errno;
    return Status::Permanent(code == ENOENT ? Code::kNotFound : Code::kPermission,
                             base::StrCat("can not read ", path, ": ", std::strerror(code)));
  }
  std::string text(bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return Status::Permanent(Code::kInternal, base::StrCat("can not read ", path));
  if (text.size() > bytes_max) {
    return Status::Invalid(base::StrCat(path, " is larger than ", bytes_max, " bytes"));
  }
  return text;
}

}  // namespace outbox::service
