// What the gate said of corrupted outputs.
#pragma once

#include <cstdint>
#include <string>

#include "assay/gate/case_report.h"

namespace assay::report {

// How many mutations were applied, and how many of them caught.
struct MutationScore {
  std::int64_t applied = 0, caught = 0;
  double fraction() const;
};
MutationScore mutation_score(const GateReport& report);
// One row a mutation: to how many outputs it was applied, how many of those the elementwise
// standard and the checksums saw, and which cases the gate would have let through.
std::string mutation_table(const GateReport& report);

}  // namespace assay::report
