#include "assay/base/child.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>

#include "assay/base/text.h"

namespace assay::inline v0_2 {

SharedMemory::SharedMemory(std::size_t bytes) : count_(std::max<std::size_t>(bytes, 1)) {
  void* memory = mmap(nullptr, count_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  bytes_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() { munmap(bytes_, count_); }

std::string ChildEnd::text(double seconds) const {
  switch (how) {
    case How::kSignal:
      return formatted("ended by signal {} ({})", code, strsignal(code));
    case How::kExit:
      return formatted("ended by an exit of the process with status {}", code);
    case How::kTime:
      return formatted("not finished after {} s", short_number(seconds));
    case How::kDone:
      break;
  }
  return "done";
}

ChildEnd run_in_child(const std::function<void()>& function, double seconds) {
  // The child ends with this status if the function returned. A function that ends the process by
  // itself is unlikely to choose it.
  constexpr int kReturned = 93;
  const pid_t child = fork();
  if (child < 0) {
    throw std::runtime_error(formatted("cannot start a process: {}", std::strerror(errno)));
  }
  if (child == 0) {
    function();
    _exit(kReturned);
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  auto pause = std::chrono::microseconds(50);
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) {
      throw std::runtime_error(formatted("cannot wait for a process: {}", std::strerror(errno)));
    }
    if (Clock::now() > end) {
      kill(child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return {ChildEnd::How::kTime};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
  if (WIFSIGNALED(status)) return {ChildEnd::How::kSignal, WTERMSIG(status)};
  if (WEXITSTATUS(status) != kReturned) return {ChildEnd::How::kExit, WEXITSTATUS(status)};
  return {};
}

}  // namespace assay
