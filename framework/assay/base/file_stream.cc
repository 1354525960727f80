#include "assay/base/file_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "assay/base/text.h"
#include "assay/base/unsynced.h"

namespace assay::inline v0_2 {

FileStream::FileStream(std::string path) : path_(std::move(path)) {
  struct stat status;
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    out_ = std::fopen(path_.c_str(), "we");
    if (out_ == nullptr) fail(errno);
    return;
  }
  temporary_ = std::make_unique<TemporaryFile>(path_);
  if (temporary_->descriptor() < 0) fail(temporary_->error());
  const int own = fcntl(temporary_->descriptor(), F_DUPFD_CLOEXEC, 3);
  if (own >= 0) out_ = fdopen(own, "w");
  if (out_ == nullptr) fail(errno);
}

FileStream::~FileStream() {
  if (out_ != nullptr) (void)std::fclose(out_);
}

void FileStream::write(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) fail(errno);
}

void FileStream::commit() {
  errno = 0;
  int error = std::fflush(out_) == 0 ? 0 : errno != 0 ? errno : EIO;
  if (std::fclose(std::exchange(out_, nullptr)) != 0 && error == 0) error = errno;
  if (error == 0 && temporary_) error = temporary_->commit(!UnsyncedWrites::active());
  temporary_.reset();
  if (error != 0) fail(error);
}

void FileStream::fail(int error) {
  throw std::runtime_error(
      formatted("{}: cannot be written: {}", path_, std::strerror(error != 0 ? error : EIO)));
}

}  // namespace assay
