#include "assay/base/file_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "assay/base/text.h"
#include "assay/base/unsynced.h"

namespace assay {

FileStream::FileStream(std::string path) : path_(std::move(path)) {
  struct stat status;
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (!exists || S_ISREG(status.st_mode)) temporary_ = format("{}.tmp.{}", path_, getpid());
  out_ = std::fopen(temporary_.empty() ? path_.c_str() : temporary_.c_str(), "w");
  if (out_ == nullptr) {
    const int error = errno;
    temporary_.clear();  // which is not there
    fail(error);
  }
}

FileStream::~FileStream() {
  if (out_ == nullptr) return;
  (void)std::fclose(out_);
  if (!temporary_.empty()) (void)std::remove(temporary_.c_str());
}

void FileStream::write(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) fail(errno);
}

void FileStream::commit() {
  errno = 0;
  bool ok = std::fflush(out_) == 0 &&
            (temporary_.empty() || UnsyncedWrites::active() || fsync(fileno(out_)) == 0);
  int error = errno;
  if (std::fclose(std::exchange(out_, nullptr)) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && !temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    ok = false;
    error = errno;
  }
  if (ok) return;
  if (!temporary_.empty()) (void)std::remove(temporary_.c_str());
  fail(error);
}

void FileStream::fail(int error) {
  throw std::runtime_error(
      format("{}: cannot be written: {}", path_, std::strerror(error != 0 ? error : EIO)));
}

}  // namespace assay
