// Long work that a user can stop: loops ask now and then whether to go on.
#pragma once

#include <chrono>
#include <functional>

namespace assay {

// While one lives, parallel_for() of its thread calls `ask` between its parts, at most ten times a
// second. What that throws ends the loop, and goes to whoever called parallel_for().
class Interruptible {
 public:
  explicit Interruptible(std::function<void()> ask);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // Asks the innermost one of this thread, where there is one and it is time.
  static void ask_whether_to_go_on();

 private:
  std::function<void()> ask_;
  Interruptible* outer_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace assay
