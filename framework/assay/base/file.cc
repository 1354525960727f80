#include "assay/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/base/unsynced.h"

namespace assay {

bool same_file(const std::string& a, const std::string& b) {
  struct stat sa, sb;
  return !a.empty() && !b.empty() && stat(a.c_str(), &sa) == 0 && stat(b.c_str(), &sb) == 0 &&
         sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

std::string read_file(const std::string& path) {
  std::FILE* in = std::fopen(path.c_str(), "rb");
  int error = in == nullptr ? errno : 0;
  std::string text;
  char part[1 << 16];
  for (std::size_t n = 1; in != nullptr && n > 0;) {
    errno = 0;
    n = std::fread(part, 1, sizeof part, in);
    text.append(part, n);
    if (n == 0 && std::ferror(in) != 0) error = errno != 0 ? errno : EIO;
  }
  if (in != nullptr) std::fclose(in);
  if (error != 0) {
    throw std::runtime_error(format("{}: cannot be read: {}", path, std::strerror(error)));
  }
  return text;
}

void write_file(const std::string& path, std::string_view text) {
  const auto fail = [&](int error) {
    throw std::runtime_error(format("{}: cannot be written: {}", path, std::strerror(error)));
  };
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail(EISDIR);
    // A pipe or device (/dev/stdout) has no place to be moved into.
    if (!S_ISREG(status.st_mode)) {
      std::FILE* out = std::fopen(path.c_str(), "w");
      if (out == nullptr) fail(errno);
      const bool ok = std::fwrite(text.data(), 1, text.size(), out) == text.size();
      if (std::fclose(out) != 0 || !ok) fail(errno != 0 ? errno : EIO);
      return;
    }
  }
  const std::string temporary = format("{}.tmp.{}", path, getpid());
  const int fd = open(temporary.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0666);
  if (fd < 0) fail(errno);
  bool ok = true;
  while (ok && !text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    ok = written > 0;
    if (ok) text.remove_prefix(static_cast<std::size_t>(written));
  }
  ok = ok && (UnsyncedWrites::active() || fsync(fd) == 0);
  int error = errno;
  close(fd);
  if (ok && std::rename(temporary.c_str(), path.c_str()) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok) {
    std::remove(temporary.c_str());
    fail(error);
  }
}

}  // namespace assay
