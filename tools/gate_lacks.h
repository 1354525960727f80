// Tells how to mend what keeps cases from being compared.
#pragma once

#include "assay/gate/case_report.h"

namespace assay::tools {

// Adds a note for each kind of lack: the number of cases, the first one, and the command that mends
// it.
void note_lacks(GateReport& report);

}  // namespace assay::tools
