// The outcomes of corrupted outputs as a table.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2::report {

// Returns one row for each mutation: the number of outputs to which it was applied, and how many of
// these the elementwise standard and the checksums detected. The row also lists the cases that the
// gate would have let through.
std::string mutation_table(const GateReport& report);

}  // namespace assay::report
