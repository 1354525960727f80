// The state of a Verdict as Python's tuples, numbers and strings, for pickle and copy.
#pragma once

#include "array.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2::python {

py::tuple state_of(const Verdict& verdict);
// Raises ValueError if the state was not made by state_of() of this version.
Verdict verdict_of_state(const py::tuple& state);

}  // namespace assay::python
