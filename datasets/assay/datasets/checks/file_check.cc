#include "assay/datasets/checks/file_check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/checks/file_error.h"

namespace assay::inline v0_2 {
namespace {

// The environment variable that names the checking program, for users who want another program or
// use this code as a library.
constexpr char kChecker[] = "ASSAY_FILE_CHECKER";
// The processor seconds that the program may use for a question. Large files get more.
constexpr std::int64_t kSeconds = 5, kMostSeconds = 60, kBytesPerSecond = std::int64_t{16} << 20;
constexpr std::size_t kMostAnswer = std::size_t{1} << 20;  // bytes
// The seconds to wait for an answer, for each processor second that the program may use. There are
// many, because the machine may be busy.
constexpr int kWallPerSecond = 20;

// Identifies a file in its present state by its device, inode, size, and time of the last change.
using FileIdentity = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

struct Settings {
  std::mutex mutex;
  std::string program;
  bool trust = false;
  std::set<FileIdentity> written;  // by this process
};

Settings& settings() {
  static Settings s;
  return s;
}

FileIdentity identity(const struct stat& s) {
  return {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

}  // namespace

void set_file_checker(const std::string& program) {
  const std::lock_guard lock(settings().mutex);
  settings().program = program;
}

void set_trust_files(bool trust) {
  const std::lock_guard lock(settings().mutex);
  settings().trust = trust;
}

bool trust_files() {
  const std::lock_guard lock(settings().mutex);
  return settings().trust;
}

namespace h5 {

std::int64_t file_check_seconds(int fd) {
  struct stat status;
  const std::int64_t size = fstat(fd, &status) == 0 ? status.st_size : 0;
  return std::min(kSeconds + size / kBytesPerSecond, kMostSeconds);
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// The process that checks a file, for all users of the open file in this process.
struct FileCheck::Process {
  std::string program;
  int socket = -1;
  pid_t pid = -1;
  std::int64_t seconds = 0;
  std::atomic<bool> over = false;  // the process has ended, or could not be started
  std::mutex mutex;  // guards the members below; a thread holds it while it asks a question
  bool started = false;
  std::set<std::string> answered;
  std::string said;  // if the process is over: the message that says why

  ~Process() { (void)end(false); }

  // Starts the process, unless another user of the same open file has already started it.
  void start_once(const std::string& path, int fd) {
    {
      const std::lock_guard lock(mutex);
      if (!std::exchange(started, true)) start(path, fd);
    }
    ask(path, "", "");
    ask(path, "", "o");
  }

  // Ends the process. Returns how it ended, in words.
  std::string end(bool too_long) {
    if (socket >= 0) close(socket);
    socket = -1;
    over = true;
    if (pid < 0) return "";
    if (too_long) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = -1;
    if (too_long || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
      return formatted("took more than {} s", seconds);
    }
    if (WIFSIGNALED(status)) {
      return formatted("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    }
    return formatted("ended with exit status {}", WEXITSTATUS(status));
  }

  void start(const std::string& path, int fd) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) cannot(path, errno);
    socket = pair[0];
    // The other process gets these descriptors as numbers 3 and 4. Here they have numbers of at
    // least 10, so that none is overwritten before it is copied to its new number.
    const int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    const int file = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    close(pair[1]);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // The other process does not use its standard streams, so they are /dev/null. On a system
    // without /dev/null they are the checked file, which cannot be written.
    const bool has_null = access("/dev/null", R_OK | W_OK) == 0;
    for (const int standard : {0, 1, 2}) {
      if (has_null) {
        posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
      } else {
        posix_spawn_file_actions_adddup2(&actions, file, standard);
      }
    }
    posix_spawn_file_actions_adddup2(&actions, theirs, kFileCheckSocket);
    posix_spawn_file_actions_adddup2(&actions, file, kFileCheckFile);
    posix_spawn_file_actions_addclosefrom_np(&actions, kFileCheckFile + 1);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char* words[] = {program.data(), const_cast<char*>(kFileCheckWord), nullptr};
    const int error = theirs < 0 || file < 0 ? EMFILE
                                             : posix_spawn(&pid, program.c_str(), &actions,
                                                           &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(theirs);
    close(file);
    if (error != 0) pid = -1;
    if (error != 0) cannot(path, error);
  }

  [[noreturn]] void cannot(const std::string& path, int error) {
    over = true;
    said = formatted(
        "cannot be checked in a separate process ({}: {}); give --trust to read the file without "
        "this check",
        program, std::strerror(error));
    throw FileError(path, "", said);
  }

  // Reads an answer to its end. Returns false if the process ended without an answer, or did not
  // answer in time.
  bool wait(std::string& answer, bool& too_long) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::seconds(seconds * kWallPerSecond);
    while (answer.size() <= kMostAnswer) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      too_long = left.count() <= 0;
      if (too_long) return false;
      struct pollfd event = {socket, POLLIN, 0};
      if (poll(&event, 1, static_cast<int>(left.count())) <= 0) continue;
      char part[4096];
      const ssize_t n = recv(socket, part, sizeof part, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      answer.append(part, static_cast<std::size_t>(n));
      if (answer.back() != '\0') continue;
      answer.pop_back();
      return true;
    }
    return false;
  }

  // Asks the process a question, unless it was asked before. Throws FileError, which names `path`
  // and `object`, if the process has ended or does not answer.
  void ask(const std::string& path, const std::string& object, const std::string& question) {
    const std::lock_guard lock(mutex);
    if (pid < 0) throw FileError(path, object, said);
    if (!answered.insert(question).second) return;
    std::string answer;
    bool too_long = false;
    if (send_all(socket, std::string_view(question.c_str(), question.size() + 1)) &&
        wait(answer, too_long)) {
      if (answer.empty()) return;
      answered.erase(question);
      throw FileError(path, "", answer);
    }
    const std::string how = end(too_long);
    said = question.empty()
               ? formatted(
                     "cannot be checked, because the program for this, {}, does not answer ({}); "
                     "give --trust to read the file without this check",
                     program, how)
               : formatted("the process that checked it {}; the file is damaged or hostile", how);
    throw FileError(path, object, said);
  }
};

FileCheck::FileCheck(std::string path, int fd) : path_(std::move(path)) {
  struct stat status;
  const bool known = fstat(fd, &status) == 0;
  std::string program;
  {
    const std::lock_guard lock(settings().mutex);
    program = settings().program;
  }
  if (const char* asked = std::getenv(kChecker)) program = asked;
  {
    static std::mutex mutex;
    static std::map<std::pair<FileIdentity, std::string>, std::weak_ptr<Process>> looking;
    const std::lock_guard lock(mutex);
    std::erase_if(looking, [](const auto& of) { return of.second.expired(); });
    if (known) process_ = looking[{identity(status), program}].lock();
    if (process_ == nullptr || process_->over) {
      process_ = std::make_shared<Process>();
      process_->program = program;
      process_->seconds = file_check_seconds(fd);
      if (known) looking[{identity(status), program}] = process_;
    }
  }
  process_->start_once(path_, fd);
}

FileCheck::~FileCheck() = default;

void FileCheck::list_cases() { process_->ask(path_, "/cases", "l"); }

void FileCheck::look_at_case(const std::string& name, const std::string& object) {
  process_->ask(path_, object, "c" + name);
}

void FileCheck::look_at_dataset(const std::string& object, const std::string& dtype) {
  process_->ask(path_, object, "d" + dtype + "\n" + object);
}

std::unique_ptr<FileCheck> check_of(const std::string& path, int fd) {
  struct stat status;
  {
    const std::lock_guard lock(settings().mutex);
    const bool has_program = !settings().program.empty() || std::getenv(kChecker) != nullptr;
    if (settings().trust || !has_program) return nullptr;
    if (fstat(fd, &status) == 0 && settings().written.count(identity(status)) != 0) return nullptr;
  }
  return std::make_unique<FileCheck>(path, fd);
}

void file_was_written(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return;
  const std::lock_guard lock(settings().mutex);
  settings().written.insert(identity(status));
}

}  // namespace h5
}  // namespace assay
