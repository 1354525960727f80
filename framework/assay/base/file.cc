#include "assay/base/file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "assay/base/file_stream.h"
#include "assay/base/text.h"

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
  FileStream out(path);
  out.write(text);
  out.commit();
}

}  // namespace assay
