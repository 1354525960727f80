// The gate, for programs without GoogleTest: gate_case() judges an output of a case, and
// gate_tensors() a tensor against its reference, as the command line and the matchers do.
#pragma once

#include "assay/gate/bounds.h"
#include "assay/gate/case_outputs.h"
#include "assay/gate/case_report.h"
#include "assay/gate/close_to.h"
#include "assay/gate/gate.h"
#include "assay/gate/request.h"
