// Cases with several outputs: which of them assay's operator computes, and each as the case that
// the gate judges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/gate/case_report.h"
#include "assay/tensor/case.h"

namespace assay {

// The output that the case's operator computes, of a case that has several: the one whose attribute
// `operator_output` is 1, else the one that the operator's row names (Operator::output), else the
// only one. Only of it are there emulation, checksums and the operator's own bound; the others are
// judged by standards alone.
struct OperatorOutput {
  std::string name;     // empty: there is none
  std::string why_not;  // why; empty where there is one
};
// Throws CaseError where two outputs say that they are it.
OperatorOutput operator_output(const Case& test_case);

// One output of a case as the gate judges it. The operator's own is one_output(); any other is a
// case of no operator (`external`) that has the same inputs, and of the attributes those that every
// case may have. Such an output is of the golden result's dtype where nothing says another.
Case output_case(const Case& test_case, const std::string& output);

// The case of what its operator computes: itself, or output_case() of that one. Throws CaseError
// where its operator computes none of its outputs.
Case computed_case(Case test_case);

// Throws CaseError where a case with several outputs is to be judged as if it had one.
void require_one_output(const Case& test_case);

// The input that an output of indices points into (attribute `of`), which lies in the case, and
// along which axis (attribute `axis`, else the last); or why there is none.
struct IndexSource {
  const Tensor* tensor = nullptr;
  std::int64_t axis = -1;
  std::string why_not = {};
};
IndexSource index_source(const Case& test_case, std::string_view standard);

// Makes a report of output_case() one of the case that it comes from: its operator, which output it
// is, and in the notes that it was judged by standards alone where that is so.
void say_output(CaseReport& report, const Case& several, const std::string& output);

}  // namespace assay
