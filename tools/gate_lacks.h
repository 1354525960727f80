// Tells how to fix cases that cannot be compared.
#pragma once

#include "assay/gate/case_report.h"

namespace assay::inline v0_2::tools {

// Adds a note for each kind of lack: the number of cases, the first one, and the command that fixes
// it.
void note_lacks(GateReport& report);

}  // namespace assay::tools
