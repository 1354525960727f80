// The outcomes of corrupted outputs as a table.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::report {

// One row a mutation: to how many outputs it was applied, how many of those the elementwise
// standard and the checksums saw, and which cases the gate would have let through.
std::string mutation_table(const GateReport& report);

}  // namespace assay::report
