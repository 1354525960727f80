#include "assay/base/temporary_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

namespace fs = std::filesystem;

struct Modes {
  std::mutex mutex;
  std::map<std::string, mode_t> of;  // the mode of each removed file, by its path
};

Modes& modes() {
  static Modes m;
  return m;
}

// Returns the target of a path that may be a link, even if the target does not exist. Returns the
// path itself if its target cannot be found.
std::string target_of(const std::string& path) {
  constexpr int kMostLinks = 40;
  fs::path at = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(at, error); ++links) {
    const fs::path next = fs::read_symlink(at, error);
    if (error || links == kMostLinks) return path;
    at = at.parent_path() / next;  // an absolute target replaces the folder in front of it
  }
  return at.string();
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : full.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string hidden_name(const std::string& target) {
  std::uint64_t drawn[2] = {};
  if (getrandom(drawn, sizeof drawn, 0) != static_cast<ssize_t>(sizeof drawn)) return "";
  return formatted("{}/.assay.{:016x}{:016x}.tmp", folder_of(target), drawn[0], drawn[1]);
}

// Blocks signals on this thread, so that none of them ends the process between two steps.
class Undisturbed {
 public:
  Undisturbed() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~Undisturbed() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

TemporaryFile::TemporaryFile(const std::string& path) : target_(target_of(path)) {
  constexpr mode_t kMode = 0666;  // the mode of a new file, before the umask reduces it
  descriptor_ = open(folder_of(target_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (descriptor_ >= 0 && access(formatted("/proc/self/fd/{}", descriptor_).c_str(), F_OK) != 0) {
    // Without /proc the file cannot be given a name, so another way is used.
    close(std::exchange(descriptor_, -1));
    errno = EOPNOTSUPP;
  }
  if (descriptor_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    name_ = hidden_name(target_);
    descriptor_ = open(name_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, kMode);
  }
  if (descriptor_ < 0) {
    error_ = errno;
    name_.clear();
    return;
  }
  struct stat status;
  if (stat(target_.c_str(), &status) == 0) {
    (void)fchmod(descriptor_, status.st_mode & 0777);
    return;
  }
  const std::lock_guard lock(modes().mutex);
  const auto kept = modes().of.find(absolute(target_));
  if (kept != modes().of.end()) (void)fchmod(descriptor_, kept->second);
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!name_.empty()) (void)unlink(name_.c_str());
}

int TemporaryFile::commit(bool sync) {
  if (sync && fsync(descriptor_) != 0) return errno;
  const Undisturbed undisturbed;
  if (name_.empty()) {
    const auto link_to = [&](const std::string& name) {
      return linkat(AT_FDCWD, formatted("/proc/self/fd/{}", descriptor_).c_str(), AT_FDCWD,
                    name.c_str(), AT_SYMLINK_FOLLOW);
    };
    // If the destination does not exist, the file gets its name in one step. So at no moment can a
    // second name remain.
    if (link_to(target_) == 0) return 0;
    if (errno != EEXIST) return errno;
    const std::string name = hidden_name(target_);
    if (link_to(name) != 0) return errno;
    name_ = name;
  }
  if (std::rename(name_.c_str(), target_.c_str()) != 0) return errno;
  name_.clear();
  return 0;
}

void keep_mode(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return;
  const std::lock_guard lock(modes().mutex);
  modes().of[absolute(path)] = status.st_mode & 0777;
}

}  // namespace assay
