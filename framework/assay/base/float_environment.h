// The floating-point environment that assay computes in: rounding to nearest, ties to even, with
// subnormal numbers and without traps. A program may have set another one: fesetround(), a debug
// build's feenableexcept(), or -Ofast, whose start-up code makes the whole process flush subnormals
// to zero. Verdicts must not depend on it, so every function that users enter assay by holds
//
//   const FloatEnvironment environment;
//
// which costs a few nanoseconds where nothing is to be changed; none stands in a loop over
// elements.
#pragma once

#include <cfenv>

namespace assay {

// Sets assay's environment for the calling thread, and gives back what was there at its end.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  friend class CallersFloatEnvironment;
  bool changed_;
  std::fenv_t callers_;  // set where changed_
};

// Within the other: while a team's own kernel runs, its environment is the one that its program has
// set. On the same thread as `within`.
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
