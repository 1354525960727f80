#include "status_line.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "assay/base/printable.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::tools {

std::string duration_text(double seconds) {
  if (seconds < 100) return formatted("{} s", short_number(seconds, 2));
  const auto whole = static_cast<std::int64_t>(seconds);
  return whole < 7200 ? formatted("{} min {} s", whole / 60, whole % 60)
                      : formatted("{} h {} min", whole / 3600, whole / 60 % 60);
}

StatusLine::StatusLine(bool quiet, double log_seconds)
    : terminal_(isatty(STDERR_FILENO) != 0 && std::getenv("CI") == nullptr),
      interval_(quiet             ? std::numeric_limits<double>::infinity()
                : terminal_       ? 0.2
                : log_seconds > 0 ? log_seconds
                                  : std::numeric_limits<double>::infinity()) {}

bool StatusLine::is_shown() const { return std::isfinite(interval_); }

double StatusLine::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string StatusLine::time_left(std::int64_t done, std::int64_t total) const {
  return duration_text(seconds() * static_cast<double>(total - done) /
                       static_cast<double>(std::max<std::int64_t>(done, 1))) +
         " left";
}

bool StatusLine::is_due() {
  const double now = seconds();
  if (now - last_ < interval_) return false;
  last_ = now;
  shown_ = true;
  return true;
}

void StatusLine::show(const std::string& text) const {
  const std::string line = printable(text);
  std::fputs(terminal_ ? ("\r" + line + "\033[K").c_str() : (line + "\n").c_str(), stderr);
}

void StatusLine::end() const {
  if (terminal_ && shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace assay::tools
