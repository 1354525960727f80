#include "assay/datasets/file_check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "assay/base/sanitized.h"
#include "assay/base/text.h"
#include "assay/datasets/array_source.h"
#include "assay/datasets/case_path.h"
#include "assay/datasets/file_look.h"
#include "assay/datasets/opened_file.h"
#include "assay/datasets/reader.h"
#include "assay/datasets/store.h"

namespace assay {
namespace {

// How the process is called, with the version of what is said over its socket.
constexpr char kWord[] = "--assay-file-check-1";
// Whoever wants another program, or uses this as a library.
constexpr char kChecker[] = "ASSAY_FILE_CHECKER";
// Its descriptors: questions and answers, and the file.
constexpr int kSocket = 3, kFile = 4;
// What it may take: address space, and time of its processor for a question, more for large files.
constexpr rlim_t kMostMemory = rlim_t{4} << 30;
constexpr std::int64_t kSeconds = 5, kMostSeconds = 60, kBytesPerSecond = std::int64_t{16} << 20;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;   // of a dataset: no element is read
constexpr std::size_t kMostAnswer = std::size_t{1} << 20;  // bytes
constexpr int kWallPerSecond = 20;                         // of a machine that is busy

std::int64_t seconds_for(int fd) {
  struct stat status;
  const std::int64_t size = fstat(fd, &status) == 0 ? status.st_size : 0;
  return std::min(kSeconds + size / kBytesPerSecond, kMostSeconds);
}

// Device, inode, size, time of its last change.
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

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// ---------------------------------------------------------------------- the process that looks

void limit(int what, rlim_t most) {
  struct rlimit now;
  if (getrlimit(static_cast<__rlimit_resource_t>(what), &now) != 0) return;
  now.rlim_cur = std::min(most, now.rlim_max);
  (void)setrlimit(static_cast<__rlimit_resource_t>(what), &now);
}

void allow_seconds(std::int64_t more) {
  struct timespec used = {};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  limit(RLIMIT_CPU, static_cast<rlim_t>(used.tv_sec + 1 + more));
}

// A question ends with a zero. It is a letter, and what is asked about: a case, or a dtype, '\n'
// and a dataset's path.
void look(const std::string& question, std::unique_ptr<DatasetFile>& file) {
  const std::string rest = question.substr(1);
  if (question[0] == 'd') {
    const std::size_t end = rest.find('\n');
    h5::OpenedFile opened("", kFile);
    h5::Reader("", opened.hdf5(), kNoLimit).look_at_any(rest.substr(end + 1), rest.substr(0, end));
    return;
  }
  if (!file) file = std::make_unique<DatasetFile>(h5::FileLook::open(kFile));
  if (question[0] == 'l') (void)file->case_names();
  if (question[0] == 'c') h5::FileLook::look_at_case(*file, rest);
}

// Empty where all that was asked about is whole, or is refused and HDF5 itself had no trouble with
// it: then it will be refused where it was asked. After an error of its own HDF5 1.10 frees what it
// has not set, at once or when it closes the file, which may go well here and not there; so nobody
// asks it again, and this is the error.
std::string answer(const std::string& question, std::unique_ptr<DatasetFile>& file) {
  std::string text;
  h5::forget_damage();
  try {
    if (!question.empty()) look(question, file);
    if (!h5::damage_was_seen()) return "";
    text = "is truncated or corrupt";
  } catch (const FileError& e) {
    if (!h5::damage_was_seen()) return "";
    text = e.what();
    if (text.starts_with(": ")) text.erase(0, 2);  // behind the name of the file, which has none
  } catch (const std::exception& e) {
    text = formatted("cannot be looked at: {}", e.what());
  }
  file.reset();
  return text;
}

[[noreturn]] void serve() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  // The sanitizers take address space without end.
  if (!kAddressSanitizer && !kThreadSanitizer) limit(RLIMIT_AS, kMostMemory);
  const std::int64_t seconds = seconds_for(kFile);
  std::unique_ptr<DatasetFile> file;
  std::string said;
  bool asked = false;
  for (char part[4096];;) {
    const ssize_t n = read(kSocket, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(n == 0 && asked ? 0 : 2);
    said.append(part, static_cast<std::size_t>(n));
    for (std::size_t end; (end = said.find('\0')) != std::string::npos;) {
      const std::string question = said.substr(0, end);
      said.erase(0, end + 1);
      allow_seconds(seconds);
      asked = true;
      const std::string said_back = answer(question, file);
      if (!send_all(kSocket, {said_back.c_str(), said_back.size() + 1})) _exit(0);
    }
  }
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

void serve_file_checks(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], kWord) == 0) serve();
}

namespace h5 {

// The process that looks at a file, for all who have it open here.
struct FileCheck::Process {
  std::string program;
  int socket = -1;
  pid_t pid = -1;
  std::int64_t seconds = 0;
  std::atomic<bool> over = false;  // it has ended, or could not be started
  std::mutex mutex;                // of what follows; who has it may ask
  bool started = false;
  std::set<std::string> answered;
  std::string said;  // once it is over

  ~Process() { (void)end(false); }

  // Of all who open the file at once the first one starts it.
  void start_once(const std::string& path, int fd) {
    {
      const std::lock_guard lock(mutex);
      if (!std::exchange(started, true)) start(path, fd);
    }
    ask(path, "", "");
    ask(path, "", "o");
  }

  // How it ended, in words.
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
    // Above those that they become there.
    const int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    const int file = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    close(pair[1]);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // Nothing is read there or printed; a root without devices has the file, which takes no output.
    const bool has_null = access("/dev/null", R_OK | W_OK) == 0;
    for (const int standard : {0, 1, 2}) {
      if (has_null) {
        posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
      } else {
        posix_spawn_file_actions_adddup2(&actions, file, standard);
      }
    }
    posix_spawn_file_actions_adddup2(&actions, theirs, kSocket);
    posix_spawn_file_actions_adddup2(&actions, file, kFile);
    posix_spawn_file_actions_addclosefrom_np(&actions, kFile + 1);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char* words[] = {program.data(), const_cast<char*>(kWord), nullptr};
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
    said =
        formatted("cannot be looked at in a process of its own ({}: {}); --trust reads it without",
                  program, std::strerror(error));
    throw FileError(path, "", said);
  }

  // Reads an answer to its end; false where none came, in time or at all.
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

  // `path`, `object`: what an error names.
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
                     "the program that looks at files, {}, does not answer ({}); --trust reads "
                     "it without",
                     program, how)
               : formatted("the process that looked at it {}; the file is damaged or hostile", how);
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
      process_->seconds = seconds_for(fd);
      if (known) looking[{identity(status), program}] = process_;
    }
  }
  process_->start_once(path_, fd);
}

FileCheck::~FileCheck() = default;

void FileCheck::list_cases() { process_->ask(path_, "/cases", "l"); }

void FileCheck::look_at_case(const std::string& name) {
  process_->ask(path_, case_path(name), "c" + name);
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
