#include "assay/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Each program has a supervisor, a process of ours that only waits. Orphans of the program's
// processes become its children, so it finds them all. Parent and supervisor share two pipes. If
// the parent closes `control` (or dies), the supervisor kills everything. Over `status`, it reports
// how the program ended. It is a fork of a program with threads, so it calls nothing that allocates
// or locks.

struct Report {
  enum Kind : std::int32_t { kEnded, kNotStarted } kind = kEnded;
  // The status from waitpid() if the program ended, or errno if it was not started.
  std::int32_t value = 0;
};

// A file descriptor that is closed by exec() and by the destructor of this object.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Pair {
  Descriptor ours, theirs;
};

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(
      formatted("a process cannot be started: {}: {}", what, std::strerror(errno)));
}

// Returns a pipe. We read from our end, and the program or supervisor writes to the other.
Pair reading_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// Returns a connection. We write to our end, and the program reads from the other. It is a socket
// and not a pipe, so that writing after the reader is gone causes an error instead of a signal.
Pair writing_pipe() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// -- The functions below run in the supervisor and make only system calls.

void write_report(int status, Report report) {
  const char* at = reinterpret_cast<const char*>(&report);
  for (std::size_t left = sizeof report; left > 0;) {
    const ssize_t n = write(status, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += n;
    left -= static_cast<std::size_t>(n);
  }
}

// Kills the direct children. The children of the killed ones then become direct children.
void kill_children() {
  // /proc/thread-self/children lists the children of the supervisor's only thread.
  const int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return;
  char part[4096];
  pid_t pid = 0;
  for (ssize_t n; (n = read(list, part, sizeof part)) > 0;) {
    for (ssize_t i = 0; i < n; ++i) {
      if (part[i] >= '0' && part[i] <= '9') {
        pid = pid * 10 + (part[i] - '0');
      } else {
        if (pid > 1) kill(pid, SIGKILL);
        pid = 0;
      }
    }
  }
  if (pid > 1) kill(pid, SIGKILL);
  close(list);
}

// Kills all processes of the program and waits for them. If the process `program` is among them,
// `ended` receives its status.
void end_all(pid_t program, int* ended) {
  for (;;) {
    kill(-program, SIGKILL);
    kill_children();
    for (;;) {
      int how = 0;
      const pid_t one = waitpid(-1, &how, WNOHANG);
      if (one == program) *ended = how;
      if (one < 0 && errno != EINTR) return;  // no child is left
      if (one == 0) break;
    }
    poll(nullptr, 0, 1);
  }
}

struct Launch {
  char* const* words;
  char* const* environment;
  const char* folder;
  ProcessLimits limits;
  int in, out, error, control, status;
};

void limit(int what, rlim_t most) {
  struct rlimit now;
  if (getrlimit(static_cast<__rlimit_resource_t>(what), &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(most, now.rlim_max);
  setrlimit(static_cast<__rlimit_resource_t>(what), &now);
}

[[noreturn]] void become_program(const Launch& l) {
  setpgid(0, 0);
  dup2(l.in, 0);
  dup2(l.out, 1);
  dup2(l.error, 2);
  limit(RLIMIT_AS, static_cast<rlim_t>(l.limits.memory));
  limit(RLIMIT_FSIZE, static_cast<rlim_t>(l.limits.output));
  limit(RLIMIT_CORE, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  if (chdir(l.folder) == 0) execvpe(l.words[0], l.words, l.environment);
  write_report(l.status, {Report::kNotStarted, errno});
  _exit(127);
}

// Descriptors from kFirstFree on are closed, so no other descriptor of the parent stays open.
enum : int { kIn = 3, kOut, kError, kControl, kStatus, kFirstFree };

[[noreturn]] void supervise(Launch l) {
  // The signals of a terminal do not reach this session, and the supervisor notices the end of its
  // parent.
  setsid();
  int* const all[] = {&l.in, &l.out, &l.error, &l.control, &l.status};
  const int status = l.status;
  for (int* fd : all) {
    *fd = fcntl(*fd, F_DUPFD, +kFirstFree);
    if (*fd >= 0) continue;
    // fcntl() fails with EINVAL if the limit on open files does not allow descriptors as high as
    // kFirstFree.
    write_report(status, {Report::kNotStarted, errno == EINVAL ? EMFILE : errno});
    _exit(0);
  }
  int next = kIn;
  for (int* fd : all) *fd = dup2(*fd, next++);
  fcntl(kStatus, F_SETFD, FD_CLOEXEC);
  fcntl(kControl, F_SETFD, FD_CLOEXEC);
  for (const int fd : {kIn, kOut, kError}) fcntl(fd, F_SETFD, FD_CLOEXEC);
  close_range(kFirstFree, ~0u, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  const int died = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t program = fork();
  if (program == 0) become_program(l);
  if (program < 0 || died < 0) {
    write_report(kStatus, {Report::kNotStarted, errno});
    _exit(0);
  }
  setpgid(program, program);
  for (const int fd : {0, 1, 2, +kIn, +kOut, +kError}) close(fd);
  int ended = 0;
  for (bool running = true; running;) {
    struct pollfd events[] = {{died, POLLIN, 0}, {kControl, POLLIN, 0}};
    if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    // The parent never writes to `control`, so this event means that it was closed.
    if (events[1].revents != 0) break;
    struct signalfd_siginfo info;
    while (read(died, &info, sizeof info) > 0) {
    }
    for (;;) {
      const pid_t one = waitpid(-1, &ended, WNOHANG);
      if (one == program) {
        running = false;
        break;
      }
      if (one <= 0) break;
    }
  }
  end_all(program, &ended);
  write_report(kStatus, {Report::kEnded, ended});
  _exit(0);
}

// -- In the parent.

using Clock = std::chrono::steady_clock;

// Returns the milliseconds that are left until a time, as poll() needs them.
int until(Clock::time_point then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

Clock::time_point deadline_of(const ProcessLimits& limits) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(limits.seconds, 1e9)));
}

class Supervised {
 public:
  // `in`, `out` and `error` are the ends of the pipes that the program uses.
  Supervised(const ProcessRequest& request, int in, int out, int error)
      : control_(writing_pipe()), status_(reading_pipe()) {
    std::vector<std::string> words = request.words, environment;
    const std::string temporary = "TMPDIR=" + request.folder;
    for (char** at = environ; *at != nullptr; ++at) {
      if (std::strncmp(*at, "TMPDIR=", 7) != 0) environment.emplace_back(*at);
    }
    environment.push_back(temporary);
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> list;
      for (std::string& text : texts) list.push_back(text.data());
      list.push_back(nullptr);
      return list;
    };
    std::vector<char*> arguments = pointers(words), variables = pointers(environment);
    const Launch launch{arguments.data(),
                        variables.data(),
                        request.folder.c_str(),
                        request.limits,
                        in,
                        out,
                        error,
                        control_.theirs.get(),
                        status_.theirs.get()};
    pid_ = fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) supervise(launch);
    control_.theirs.reset();
    status_.theirs.reset();
  }
  ~Supervised() {
    stop();
    (void)wait();
  }

  int status() const { return status_.ours.get(); }
  // Makes the supervisor kill all processes of the program.
  void stop() { control_.ours.reset(); }
  // Returns how the program ended, once all of its processes have ended. If there is no report,
  // somebody else killed the supervisor. The report then says that the program was killed, too.
  Report wait() {
    if (pid_ < 0) return report_;
    Report said;
    report_ = {Report::kEnded, SIGKILL};
    for (bool first = true;;) {
      const ssize_t n = read(status_.ours.get(), &said, sizeof said);
      if (n < 0 && errno == EINTR) continue;
      if (n != static_cast<ssize_t>(sizeof said)) break;
      // The supervisor may report that the program was not started, and after that how its process
      // ended. The first report is the right one.
      if (first) report_ = said;
      first = false;
    }
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return report_;
  }

 private:
  Pair control_, status_;
  pid_t pid_ = -1;
  Report report_;
};

Ended ended_of(const Report& report, std::string said) {
  if (report.kind == Report::kNotStarted) {
    return {Ended::How::kNotStarted, report.value, std::strerror(report.value)};
  }
  if (WIFEXITED(report.value)) {
    return {Ended::How::kExit, WEXITSTATUS(report.value), std::move(said)};
  }
  return {Ended::How::kSignal, WTERMSIG(report.value), std::move(said)};
}

// Appends the text that can be read now. Returns false at the end of the stream.
bool read_some(int fd, std::string& to) {
  char part[1 << 16];
  const ssize_t n = read(fd, part, sizeof part);
  if (n > 0) to.append(part, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace

std::string Ended::text(const ProcessLimits& limits) const {
  switch (how) {
    case How::kExit:
      return formatted("exit status {}", code);
    case How::kSignal:
      return formatted("ended by signal {} ({})", code, strsignal(code));
    case How::kTime:
      return formatted("ended after {} s", short_number(limits.seconds));
    case How::kOutput:
      return formatted("ended after it had printed {} bytes", grouped(limits.output));
    case How::kNotStarted:
      break;
  }
  return formatted("cannot be started: {}", said);
}

Ended run_process(const ProcessRequest& request) {
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.get() < 0) fail("/dev/null");
  Pair out = reading_pipe();
  Supervised program(request, nothing.get(), out.theirs.get(), out.theirs.get());
  out.theirs.reset();
  const Clock::time_point deadline = deadline_of(request.limits);
  const auto most = static_cast<std::size_t>(request.limits.output);
  std::string said;
  std::optional<Ended::How> stopped;
  // Reads to the end of the program's output. The end comes when all of the program's processes
  // have ended or closed their output.
  for (;;) {
    struct pollfd event = {out.ours.get(), POLLIN, 0};
    const int ready = poll(&event, 1, stopped ? -1 : until(deadline));
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0 && !read_some(out.ours.get(), said)) break;
    if (said.size() > most) {
      said.resize(most);
      if (!stopped) stopped = Ended::How::kOutput;
    } else if (ready == 0 && !stopped) {
      stopped = Ended::How::kTime;
    }
    if (stopped) program.stop();
  }
  if (!stopped) {
    // The program may have closed its output and still be running, so its end is awaited.
    struct pollfd event = {program.status(), POLLIN, 0};
    int ready;
    while ((ready = poll(&event, 1, until(deadline))) < 0 && errno == EINTR) {
    }
    if (ready == 0) {
      stopped = Ended::How::kTime;
      program.stop();
    }
  }
  Ended ended = ended_of(program.wait(), std::move(said));
  if (stopped && ended.how != Ended::How::kNotStarted) ended.how = *stopped;
  return ended;
}

struct LineProcess::Impl {
  ProcessLimits limits;
  Pair in = writing_pipe(), out = reading_pipe(), error = reading_pipe();
  std::unique_ptr<Supervised> program;
  // `rest` is the text after the last complete line, and `said` is the text of standard error.
  std::string rest, said;
  Ended ended;

  std::optional<std::string> stop(std::optional<Ended::How> how) {
    program->stop();
    ended = ended_of(program->wait(), said);
    if (how && ended.how != Ended::How::kNotStarted) ended.how = *how;
    return std::nullopt;
  }
};

LineProcess::LineProcess(const ProcessRequest& request) : impl_(std::make_unique<Impl>()) {
  impl_->limits = request.limits;
  impl_->program = std::make_unique<Supervised>(request, impl_->in.theirs.get(),
                                                impl_->out.theirs.get(), impl_->error.theirs.get());
  impl_->in.theirs.reset();
  impl_->out.theirs.reset();
  impl_->error.theirs.reset();
}

LineProcess::~LineProcess() = default;

const Ended& LineProcess::ended() const { return impl_->ended; }
const std::string& LineProcess::error_output() const { return impl_->said; }

std::optional<std::string> LineProcess::ask(std::string_view line) {
  constexpr std::size_t kMostSaid = 1 << 16;
  Impl& p = *impl_;
  const std::string question = std::string(line) + "\n";
  p.said.clear();
  std::size_t written = 0, read = 0;
  bool error_open = true;
  const Clock::time_point deadline = deadline_of(p.limits);
  for (;;) {
    const std::size_t end = p.rest.find('\n');
    if (end != std::string::npos && written == question.size()) {
      std::string answer = p.rest.substr(0, end);
      p.rest.erase(0, end + 1);
      return answer;
    }
    struct pollfd events[] = {{p.out.ours.get(), POLLIN, 0},
                              {error_open ? p.error.ours.get() : -1, POLLIN, 0},
                              {written < question.size() ? p.in.ours.get() : -1, POLLOUT, 0}};
    const int ready = poll(events, 3, until(deadline));
    if (ready == 0) return p.stop(Ended::How::kTime);
    if (ready < 0) continue;
    if (events[2].revents != 0) {
      const ssize_t n = send(p.in.ours.get(), question.data() + written, question.size() - written,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) written += static_cast<std::size_t>(n);
      if (n < 0 && errno != EINTR && errno != EAGAIN) return p.stop(std::nullopt);
    }
    if (events[1].revents != 0) {
      const std::size_t before = p.said.size();
      error_open = read_some(p.error.ours.get(), p.said);
      read += p.said.size() - before;
      if (p.said.size() > kMostSaid) p.said.erase(0, p.said.size() - kMostSaid);
    }
    if (events[0].revents != 0) {
      const std::size_t before = p.rest.size();
      if (!read_some(p.out.ours.get(), p.rest)) return p.stop(std::nullopt);
      read += p.rest.size() - before;
    }
    if (read > static_cast<std::size_t>(p.limits.output)) return p.stop(Ended::How::kOutput);
  }
}

}  // namespace assay
