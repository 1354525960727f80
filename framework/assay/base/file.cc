#include "assay/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "assay/base/file_stream.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {

bool same_file(const std::string& a, const std::string& b) {
  struct stat sa, sb;
  return !a.empty() && !b.empty() && stat(a.c_str(), &sa) == 0 && stat(b.c_str(), &sb) == 0 &&
         sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

std::string read_file(const std::string& path) {
  // O_NONBLOCK, because opening a pipe would wait until something writes to it. Devices are refused
  // because they may have no end.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  int error = fd < 0 ? errno : 0;
  struct stat status;
  if (fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    close(fd);
    throw std::runtime_error(formatted("{}: cannot be read: it is not a regular file", path));
  }
  std::FILE* in = fd >= 0 ? fdopen(fd, "rb") : nullptr;
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
    throw std::runtime_error(formatted("{}: cannot be read: {}", path, std::strerror(error)));
  }
  return text;
}

void write_file(const std::string& path, std::string_view text) {
  FileStream out(path);
  out.write(text);
  out.commit();
}

}  // namespace assay
