// Long work that a user can stop: loops call a function at intervals, which may throw.
#pragma once

#include <chrono>
#include <functional>

namespace assay::inline v0_2 {

// While an object of this class lives, parallel_for() on its thread calls `ask` between its parts,
// at most ten times a second. If `ask` throws, the loop ends and parallel_for() rethrows the
// exception to its caller.
class Interruptible {
 public:
  explicit Interruptible(std::function<void()> ask);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // Calls `ask` of the innermost object of this thread, if there is one and it is time.
  static void ask_whether_to_go_on();

 private:
  std::function<void()> ask_;
  Interruptible* outer_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace assay
