// The outputs of a case: which of them the operator computes, and how the gate sees each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/cases/case.h"
#include "assay/gate/case_report.h"

namespace assay::inline v0_2 {

// The output that the case's operator computes. It is found in this order:
// - the only output of a case that does not name its outputs;
// - the output whose attribute `operator_output` is 1;
// - the output that the operator's row names (Operator::output);
// - the only output.
//
// Emulation, checksums and the operator's own bound exist only for this output. Standards judge the
// others.
struct ComputedOutput {
  std::optional<std::string> name = {};
  std::string why_not = {};  // the reason if the operator computes none of the outputs
};
// Returns the output that the case's operator computes. Throws CaseError if two outputs have
// operator_output = 1.
ComputedOutput computed_output(const Case& test_case);

// Returns the case with one of its outputs, as the gate judges it. If the operator computes the
// output, that is Case::only(). Otherwise it is a case without an operator (`external`) that has
// the same inputs and the attributes that every case may have. Its output dtype is that of the
// golden result, unless an attribute gives another one. Without `output`, returns the case with the
// output that the operator computes. Throws CaseError if the case has no such output.
Case judged_case(const Case& test_case, const std::string& output);
Case judged_case(const Case& test_case);
// Moves the tensors instead of copying them if is_judged_as_it_is()
Case judged_case(Case&& test_case);
// True if judged_case() would return the case unchanged, because its only output has no name and no
// attributes.
bool is_judged_as_it_is(const Case& test_case);

// The input that an output of indices points into (attribute `of`), and the axis along which it
// points (attribute `axis`, by default the last). The case owns the input. If there is no such
// input, `why_not` is the reason.
struct IndexSource {
  const Tensor* tensor = nullptr;
  std::int64_t axis = -1;
  std::string why_not = {};
};
// Returns the input that the case's indices point into. If the indices of `standard` are positions
// in the whole input, a case with the attribute `axis` gets a `why_not`. Throws as Case::text() and
// Case::integer() do.
IndexSource index_source(const Case& test_case, std::string_view standard);

// Completes the report of a judged_case(). Sets the operator of the whole case and the name of the
// output. Adds a note if only standards judged the output, because the operator does not compute
// it.
void name_output(CaseReport& report, const Case& test_case, const std::string& output);

}  // namespace assay
