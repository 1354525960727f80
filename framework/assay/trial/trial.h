// A trial finds the input that breaks a kernel, without golden files: it draws inputs for one
// operator, computes the exact results, judges each output by the one gate, checks the kernel's
// contract, and reduces a failing input to the smallest one that still fails.
//
//   TrialReport report = run_trial("softmax", kernel, {.draws = 1000});
//   report.outcome();  report.because();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/trial/examine.h"

namespace assay::inline v0_2 {

// The state of a running trial, for a progress line.
struct TrialProgress {
  std::int64_t draws = 0;
  std::int64_t failures = 0;
  bool is_shrinking = false;
  std::int64_t first_failing = -1;  // the smallest number of a draw that failed, or -1
};

struct TrialReport;

// The options of a trial.
struct TrialOptions {
  std::vector<std::string> dtypes = {};              // of inputs. Empty means the kernel's
  std::map<std::string, Attribute> parameters = {};  // values that every input has
  std::uint64_t seed = 1;
  std::int64_t draws = 200;  // number of random draws, after the fixed list
  // If it is above 0, random draws are made until the trial has taken this time, whatever `draws`
  // is. The fixed list stops then, too.
  double seconds = 0;
  trial::DrawLimits limits = {};
  TrialContract contract = {};
  // The standards, tolerances and the machine by which outputs are judged. By default, that is the
  // operator's own bound, and its expected errors.
  GateRequest request = {};
  int threads = 0;  // 0 means default_threads(). The kernel is called by one thread. No result
                    // depends on it, except how far a trial comes within `seconds`
  // The longest time for reducing a failing input. Kernels that take long for a call need more.
  double shrink_seconds = 20;
  bool keep_going = false;  // do not stop at the first failure, but look for other findings
  // Computes only this draw, or only this case (trial/case_text.h).
  std::optional<std::int64_t> only = {};
  std::string on = {};
  // The part of the draws that this run makes: every `shards`-th, from `shard` on.
  std::int64_t shard = 0, shards = 1;
  // Returns the number of a draw. The trial makes no draw from this number on. Called before each
  // draw, so that a shard can end when another shard has found a failure.
  std::function<std::int64_t()> end = {};
  // Called after each group of draws, and while an input is reduced. If it returns false, the trial
  // ends with what it found.
  std::function<bool(const TrialProgress&)> progress = {};
  // The report of an earlier run of the same trial, which this run continues from its `next`.
  // nullptr means to begin with the first draw.
  const TrialReport* earlier = nullptr;
  // Called after each group of draws with the report so far, so that a caller can save it.
  std::function<void(const TrialReport&)> save = {};
};

// A finding, with the input that shows it.
struct TrialFailure {
  TrialFinding finding = TrialFinding::kWrongResult;
  std::string text = {};                  // what the reduced input shows
  std::vector<std::string> causes = {};   // sentences on the cause
  std::int64_t draw = -1;                 // the number of the draw, or -1 for a given case
  std::string drawn = {};                 // the draw in words
  std::string reduced = {};               // the reduced case as text (trial/case_text.h)
  Case test_case = {};                    // the reduced case, with its golden result
  std::optional<CaseReport> report = {};  // the gate's verdict on the reduced case
  Tensor output = {};                     // the kernel's output for the reduced case
  std::int64_t nonzero = 0;               // elements of the reduced inputs that are not 0
  std::int64_t tries = 0;                 // inputs that were tried to reduce it
  std::string repeat = {};                // a command line that repeats it, if there is one
  bool is_minimal = false;

  // Returns the finding, the text and the causes as one sentence.
  std::string sentence() const;
};

// The result of a trial.
struct TrialReport {
  std::string op, kernel, machine;
  std::vector<std::string> dtypes;
  std::string output_dtype = {};                       // empty means the operator's default
  std::map<std::string, std::string> parameters = {};  // the values that every input has
  std::vector<std::string> standards = {};             // those that were asked for
  std::optional<double> rtol = {}, atol = {};
  TrialContract contract = {};
  trial::DrawLimits limits = {};
  std::uint64_t seed = 0;
  std::int64_t shard = 0, shards = 1;
  // The number of the first draw that was not made yet, from which a later run can continue. -1 if
  // it cannot: after a single draw or case, and for joined shards that ended at different draws.
  std::int64_t next = -1;
  // The `next` of each shard, for joined shards that ended at different draws. Otherwise empty.
  std::vector<std::int64_t> shard_nexts = {};
  // The draws by kind. Those that passed were judged.
  struct Counts {
    std::int64_t passed = 0, failed = 0, not_supported = 0, not_judged = 0;
    std::int64_t all() const { return passed + failed + not_supported + not_judged; }
    Counts& operator+=(const Counts& more);
  };
  Counts listed = {}, random = {};
  // The reasons of draws that the kernel does not support or that could not be judged, with their
  // numbers.
  std::map<std::string, std::int64_t> not_supported = {}, not_judged = {};
  // Counts of each class of inputs that was tried: sizes, values, attributes, layouts, dtypes, ...
  std::map<std::string, std::map<std::string, std::int64_t>> coverage = {};
  std::vector<std::string> left_out = {};  // what was never tried, and why
  // The findings that this trial cannot have, because of the kind of kernel or of the options.
  std::vector<TrialFinding> unchecked = {};
  std::vector<TrialFailure> failures = {};
  bool was_interrupted = false;
  double seconds = 0;

  // kFail if there is a failure, and kUntrusted if no output was judged.
  Outcome outcome() const;
  // Returns what was tried and what the outcome means, in one sentence.
  std::string because() const;
};

// Returns N such that fewer than 1 in N inputs fail, with 95 percent confidence, if `passed` random
// inputs passed and none failed: 1 / (1 - 0.05^(1 / passed)), rounded down.
std::int64_t fails_fewer_than_one_in(std::int64_t passed);

// Returns the value of an operator's parameter from its text. Throws Refusal if the operator has no
// such parameter, or if the value is not of its kind.
Attribute trial_parameter(const Operator& op, const std::string& name, std::string_view text);

// Tries a kernel. Throws Refusal if the operator is unknown or cannot make inputs, or if an option
// does not fit the kernel.
TrialReport run_trial(std::string_view op, const TrialKernel& kernel,
                      const TrialOptions& options = {});

// Throws Refusal, which names the difference, if two reports are not of one trial: another
// operator, seed, machine, bound or limit, or other dtypes or parameters.
void check_same_trial(const TrialReport& a, const TrialReport& b);

// Computes the golden result and the verdict of a failure that was read from a file, from its
// reduced input and the kernel's output.
void judge_again(TrialFailure& failure, const GateRequest& request);

// Returns the reports of all shards of one trial as one. Throws Refusal if they are not shards of
// the same trial.
TrialReport merged(const std::vector<TrialReport>& shards);

// Returns the report that each of `shards` runs continues from, to continue a trial that ended with
// `report`. merged() of these has the counts of `report`. Throws Refusal if that many shards cannot
// continue it.
std::vector<TrialReport> parts_of(const TrialReport& report, std::int64_t shards);

}  // namespace assay
