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

// Return the planted bugs, with kernels that have no memory of earlier calls.
std::vector<Bug> bugs();
std::vector<Bug> held_out_bugs();

// Return the kernel and the options of the trial of a bug, on one thread.
TrialKernel trial_kernel(const Bug& bug);
TrialOptions trial_options(const Bug& bug);

}  // namespace assay::zoo
