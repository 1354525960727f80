// The table of planted bugs: kernels that are wrong in one known way.
#pragma once

#include <string>
#include <vector>

#include "assay/trial/trial.h"
#include "trial/zoo/kernels.h"

namespace assay::zoo {

// One planted bug.
struct Bug {
  std::string name, op;
  std::string kind;                    // in a few words, for the table
  std::vector<TrialFinding> findings;  // those that may be reported
  Function kernel;
  std::vector<std::string> dtypes = {};  // of inputs. Empty means the trial's own choice
  bool isolated = false, batch_invariant = false;
  std::string machine = {};
  bool returns_output = false;
  // The reason why the trial does not find the bug, if that is known. The test then makes the trial
  // only if it writes the table.
  std::string missed = {};
};

// The findings of wrong numbers, which may also be NaN or appear as special values, and those of
// results that depend on what was in memory.
inline const std::vector<TrialFinding> kWrong = {
    TrialFinding::kWrongResult, TrialFinding::kNotFinite, TrialFinding::kSpecialValues};
inline const std::vector<TrialFinding> kHeld = {TrialFinding::kStale, TrialFinding::kWrongResult,
                                                TrialFinding::kNotFinite, TrialFinding::kUnwritten,
                                                TrialFinding::kNotRepeatable};
inline const Format* f16() { return &format_named("float16"); }
inline const Format* bf16() { return &format_named("bfloat16"); }

// Append the bugs of reductions, and those of softmax, norms and attention.
void plant_in_reductions(std::vector<Bug>& all);
void plant_in_rows(std::vector<Bug>& all);
// Return the planted bugs, with kernels that have no memory of earlier calls.
std::vector<Bug> bugs();
std::vector<Bug> held_out_bugs();

// Return the kernel and the options of the trial of a bug, on one thread.
TrialKernel trial_kernel(const Bug& bug);
TrialOptions trial_options(const Bug& bug);

}  // namespace assay::zoo
