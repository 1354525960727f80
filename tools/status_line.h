// Shows the progress of a long command on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace assay::inline v0_2::tools {

// Returns a duration as text: "12 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

// The progress of a command. On a terminal this is one line, which is overwritten. In a log (a
// pipe, a file, or if the environment variable CI is set) it is a new line now and then, or
// nothing. Used by one thread at a time.
class StatusLine {
 public:
  // `log_seconds` is the time between two lines of a log. With 0 a log gets no lines.
  StatusLine(bool quiet, double log_seconds);

  bool is_shown() const;   // true if a line may ever be shown
  double seconds() const;  // the time since this object was created
  // Returns "12 s left", on the assumption that the rest takes as long for each unit of work as the
  // part that is done.
  std::string time_left(std::int64_t done, std::int64_t total) const;
  // Returns true if it is time for the next line.
  bool is_due();
  void show(const std::string& text) const;
  // Erases the line from a terminal.
  void end() const;

 private:
  bool terminal_;
  double interval_;  // the seconds between two lines, infinite if no line is ever due
  double last_ = 0;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay::tools
