// The outputs of a case: which of them the operator computes, and how the gate sees each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/cases/case.h"
#include "assay/gate/case_report.h"

namespace assay {

// The output that the case's operator computes: the only one of a case that does not name its
// outputs; otherwise the one whose attribute `operator_output` is 1, or else the one that the
// operator's row names (Operator::output), or else the only one. Emulation, checksums and the
// operator's own bound exist only for this output. Standards judge the others.
struct ComputedOutput {
  std::optional<std::string> name = {};
  std::string why_not = {};  // why there is none
};
// Throws CaseError if two outputs have operator_output = 1.
ComputedOutput computed_output(const Case& test_case);

// Returns the case with one of its outputs, as the gate judges it. If the operator computes the
// output, that is Case::only(). Otherwise it is a case without an operator (`external`) that has
// the same inputs and the attributes that every case may have. Its output dtype is that of the
// golden result if nothing says another. Without `output` it is the output that the operator
// computes; throws CaseError if there is none.
Case judged_case(const Case& test_case, const std::string& output);
Case judged_case(const Case& test_case);
Case judged_case(Case&& test_case);  // copies no tensors of a case that is_judged_as_it_is()
// True if judged_case() would give the case itself: its only output has no name and no attributes.
bool is_judged_as_it_is(const Case& test_case);

// The input that an output of indices points into (attribute `of`), which lies in the case, and
// along which axis (attribute `axis`, else the last); or why there is none.
struct IndexSource {
  const Tensor* tensor = nullptr;
  std::int64_t axis = -1;
  std::string why_not = {};
};
IndexSource index_source(const Case& test_case, std::string_view standard);

// Completes the report of a judged_case(): the operator of the whole case, the name of the output,
// and a note if only standards judged it, because the operator does not compute it.
void name_output(CaseReport& report, const Case& test_case, const std::string& output);

}  // namespace assay
