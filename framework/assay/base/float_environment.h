// The floating-point environment that assay computes in: rounding to nearest, ties to even, with
// subnormal numbers and without traps. A program may have set another one: fesetround(), a debug
// build's feenableexcept(), or -Ofast, whose start-up code makes the whole process flush subnormals
// to zero. Verdicts must not depend on it. So every function by which users enter assay contains
//
//   const FloatEnvironment environment;
//
// It costs a few nanoseconds if nothing must be changed. Do not put it into a loop over elements.
#pragma once

#include <cfenv>

namespace assay::inline v0_2 {

// Sets assay's environment for the calling thread, and restores the previous one when destroyed.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  friend class CallersFloatEnvironment;
  bool changed_;
  std::fenv_t callers_;  // set only if changed_ is true
};

// While an object of this class lives, the environment of the caller's program is restored inside a
// FloatEnvironment, so that a team's own kernel runs in it. Must be on the same thread as `within`.
class CallersFloatEnvironment {
 public:
  explicit CallersFloatEnvironment(const FloatEnvironment& within);
  ~CallersFloatEnvironment();
  CallersFloatEnvironment(const CallersFloatEnvironment&) = delete;
  CallersFloatEnvironment& operator=(const CallersFloatEnvironment&) = delete;

 private:
  bool changed_;
};

}  // namespace assay
