// Kills a process between two of its calls into the kernel. The moment is given as a number of
// calls and not as a time. Others see of a process only what its calls do, so that this covers each
// state that a kill can leave behind.
#pragma once

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

// Runs body() in a child process, which stops at the beginning and at the end of each of its calls.
// Checks begun() at each stop, and kills the child at the `calls`-th stop from the one at which
// begun() first holds. Returns false if the child ended before that.
inline bool kill_after(const std::function<void()>& body, const std::function<bool()>& begun,
                       int calls) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool has_begun = false;
  long signal = 0;
  while (calls > 0) {
    ptrace(PTRACE_SYSCALL, child, nullptr, signal);
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return false;
    const bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal = is_call || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (!is_call) continue;
    has_begun = has_begun || begun();
    if (has_begun) --calls;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return true;
}
