// The one gate: a case, an output of it and a request give one report with one outcome and one
// reason. Whoever judges cases asks here (matchers, dataset tests, the command line, campaigns), so
// that all of them decide alike: which bounds hold, whose output is the benchmark, which machine's
// accumulation bounds the elements, and how the checksums' thresholds are chosen.
//
//   CaseReport report = gate_case(c, output, {.bounds = {.standards = {"torch"}}});
//   report.outcome();  report.because();
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/abft/abft.h"
#include "assay/cases/case.h"
#include "assay/gate/case_report.h"
#include "assay/gate/element_check.h"
#include "assay/gate/request.h"
#include "assay/machine/machine.h"
#include "assay/op/row_sample.h"

namespace assay {

// How the checksums judge outputs of a case: the request's threshold, for the accumulator of the
// machine that the output comes from (machine_behind(); where nothing says it, float32 in any
// order).
struct ChecksumOptions {
  AbftOptions options;
  std::shared_ptr<const DotModel> model;  // what options.model may point to
  // Not empty: why the checksums say nothing of the case. The machine is unknown, or has no such
  // matrix unit; or nothing names one, and known machines sum products of these operands with fewer
  // bits than float32.
  std::string why_not;

  // not_comparable where there is a why_not.
  AbftVerdict check(const Case& test_case, const TensorView& output,
                    const Epilogue* epilogue = nullptr) const;
};
ChecksumOptions checksum_options(const Case& test_case, const Format& output,
                                 const GateRequest& request, const Origin& origin = {});

// Judges an output of a case. `name` is the name of the output; without it the case must have one
// output. Whatever is wrong with the tensor is a verdict. Throws CaseError if the case does not
// have this output, or has several and none is named, and throws as element_checks() does. The
// caller fills `reproduce` and `seconds` of the report.
CaseReport gate_case(const Case& test_case, const std::string& name, const TensorView& output,
                     const GateRequest& request = {}, const Origin& origin = {});
CaseReport gate_case(const Case& test_case, const TensorView& output,
                     const GateRequest& request = {}, const Origin& origin = {});

// The same of the output that a machine computes, emulated now; `output` gets it where there is
// one, `epilogue` what was emulated beside it for the checksums. What the machine refuses to
// compute is not comparable.
CaseReport gate_emulated(const Case& test_case, const Machine& machine, const GateRequest& request,
                         Origin origin = {}, std::optional<Tensor>* output = nullptr,
                         Epilogue* epilogue = nullptr);

// A report of the case alone: name, operator, tags, and dtype and shape as its golden result has
// them.
CaseReport report_of(const Case& test_case);

// Returns the checks of a tensor against another one, without a case: one check a standard. Both
// dtypes count, because `torch` takes the looser tolerance of the two. `advice` ends the reason if
// a standard has nothing for the dtype.
std::vector<ElementCheck> tensor_checks(const Format& output, const Format& expected,
                                        const GateRequest& request, std::string_view advice = "");

// Judges a tensor against another one, without a case: one verdict a standard. `advice` ends the
// reason where a standard has nothing for the dtype.
std::vector<Verdict> gate_tensors(const TensorView& output, const TensorView& expected,
                                  const GateRequest& request = {}, std::string_view advice = "");

// Whether the gate reads the case's inputs for this request. `header` is the case without its data:
// its operator and attributes.
bool needs_inputs(const Case& header, const GateRequest& request);

}  // namespace assay
