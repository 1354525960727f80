// Programs of others: run without a shell, held to limits, and ended with every process that they
// started, whatever those did to get away. Not a sandbox: a program may do to files what its user
// may.
//
//   Ended done = run_process({.words = {"python3", "check.py"}, .folder = scratch});
//   if (done.how == Ended::How::kExit && done.code == 0) ...
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct ProcessLimits {
  double seconds = 60;  // of wall time
  // Bytes of address space of each process; -1 means no limit.
  std::int64_t memory = std::int64_t{16} << 30;
  // Bytes: what it prints, and each file that it writes.
  std::int64_t output = std::int64_t{64} << 20;
};

struct ProcessRequest {
  std::vector<std::string> words;  // the program, looked up in PATH, and its arguments
  std::string folder;              // where it runs, and its TMPDIR
  ProcessLimits limits = {};
};

// How a program ended.
struct Ended {
  enum class How : std::uint8_t {
    kExit,       // by itself: `code` is its exit status
    kSignal,     // `code` is the signal's number
    kTime,       // it was ended: it took too long,
    kOutput,     // or printed too much
    kNotStarted  // `said` has the reason
  };
  How how = How::kExit;
  int code = 0;
  // What it printed, standard error included, as it came. No more than the limit.
  std::string said = {};

  // "exit status 1", "ended by signal 9 (Killed)", "ended after 60 s".
  std::string text(const ProcessLimits& limits) const;
};

// Runs a program to its end, with an empty standard input. Every process that it started and that
// still runs is killed, also one in a session of its own. Throws std::runtime_error where the
// system refuses what this needs (processes, descriptors).
Ended run_process(const ProcessRequest& request);

// A program that is started once, and answers lines with lines.
class LineProcess {
 public:
  // Throws as run_process(). That the program cannot be started is said by the first ask().
  explicit LineProcess(const ProcessRequest& request);
  ~LineProcess();  // ends it, with all that it started
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  // Writes the line, and gives the next one that it prints, without its end. Empty where none came
  // within the time limit, it printed more than the output limit, or it ended: then ended() says
  // how, and the process is of no more use.
  std::optional<std::string> ask(std::string_view line);
  const Ended& ended() const;
  // What it printed to standard error since the last ask(), of much its end.
  const std::string& said() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
