// The baseline and the list of known failures of `assay gate`.
#pragma once

#include <optional>

#include "assay/gate/baseline.h"
#include "gate_options.h"

namespace assay::inline v0_2::tools {

// Compares the gate's results with the baseline, or writes them to it. Returns the exit code of
// "not comparable" if the baseline has entries but none of a case that was judged, and otherwise 0.
// The gate uses this code if all of its own results give 0.
int apply_baseline(const GateOptions& options, const Context& context, const GateFiles& found,
                   const std::optional<Baseline>& baseline, bool unreadable, GateReport& report);

// Marks known failures. Returns true if an entry matches nothing although all entries must match.
bool apply_known_failures(const GateOptions& options, GateReport& report);

}  // namespace assay::tools
