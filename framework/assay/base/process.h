// Runs programs of others without a shell, within limits, and ends them with every process that
// they started, whatever those did to escape. This is not a sandbox: a program may do to files what
// its user may.
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

namespace assay::inline v0_2 {

struct ProcessLimits {
  double seconds = 60;  // of wall time
  // The address space of each process, in bytes. -1 means no limit.
  std::int64_t memory = std::int64_t{16} << 30;
  // The limit on the text that the program prints, and on each file that it writes, in bytes.
  std::int64_t output = std::int64_t{64} << 20;
};

struct ProcessRequest {
  std::vector<std::string> words;  // the program, looked up in PATH, and its arguments
  std::string folder;              // the program's working folder, and its TMPDIR
  ProcessLimits limits = {};
};

// The end of a program: its cause and its output.
struct Ended {
  enum class How : std::uint8_t {
    kExit,       // the program exited, and `code` is its exit status
    kSignal,     // the program was ended by a signal, and `code` is the signal's number
    kTime,       // the program was ended because it took too long
    kOutput,     // the program was ended because it printed too much
    kNotStarted  // it could not be started: `said` has the reason
  };
  How how = How::kExit;
  int code = 0;
  // The text that the program printed, including standard error, unchanged up to the limit.
  std::string said = {};

  // Returns "exit status 1", "ended by signal 9 (Killed)" or "ended after 60 s", for example.
  std::string text(const ProcessLimits& limits) const;
};

// Runs a program to its end, with an empty standard input. Then kills every process that it started
// and that still runs, even in a session of its own. Throws std::runtime_error if the system does
// not provide the resources (processes, descriptors).
Ended run_process(const ProcessRequest& request);

// A program that is started once, and answers each line with a line.
class LineProcess {
 public:
  // Starts the program. Throws as run_process() does. If the program cannot be started, the first
  // ask() reports it.
  explicit LineProcess(const ProcessRequest& request);
  ~LineProcess();  // ends the program and all processes that the program started
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  // Writes the line, and returns the next line that the program prints, without the line end.
  // Returns nothing in these cases:
  // - No line came within the time limit.
  // - The program printed more than the output limit.
  // - The program ended.
  //
  // Then ended() has the reason, and the process can no longer be used.
  std::optional<std::string> ask(std::string_view line);
  const Ended& ended() const;
  // The text that the program wrote to standard error during the last ask(). If the text is long,
  // only its end is kept.
  const std::string& error_output() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
