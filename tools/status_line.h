// How far a long command is, on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace assay::tools {

// "12 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

// One line on a terminal, which is written over; in a log (a pipe, a file, or where the environment
// says CI) a line now and then, or none. Used by one thread at a time.
class StatusLine {
 public:
  // `log_seconds`: between two lines of a log; 0: none there.
  StatusLine(bool quiet, double log_seconds);

  bool is_shown() const;   // whether it ever is
  double seconds() const;  // since it was made
  // "12 s left" of what takes as long as what is done.
  std::string time_left(std::int64_t done, std::int64_t total) const;
  // Whether it is time for the next line.
  bool is_due();
  void show(const std::string& text) const;
  // Wipes it from a terminal.
  void end() const;

 private:
  bool terminal_;
  double interval_;  // infinite: never
  double last_ = 0;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay::tools
