// Notes Ctrl-C, so that a long command ends with what it has found.
#pragma once

#include <signal.h>

#include <map>
#include <vector>

namespace assay::inline v0_2::tools {

// While an object of this class lives, the first of these signals only sets a flag. The second one
// ends the program.
class InterruptFlag {
 public:
  explicit InterruptFlag(const std::vector<int>& signals = {SIGINT}) {
    was_set = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { was_set = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (const int signal : signals) sigaction(signal, &action, &before_[signal]);
  }
  ~InterruptFlag() {
    for (const auto& [signal, action] : before_) sigaction(signal, &action, nullptr);
  }
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;
  static bool is_set() { return was_set != 0; }

 private:
  static inline volatile sig_atomic_t was_set = 0;
  std::map<int, struct sigaction> before_;
};

}  // namespace assay::tools
