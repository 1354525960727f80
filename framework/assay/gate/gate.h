// The one gate: for a case, an output of it and a request, it gives one report with one outcome and
// one reason. All code that judges cases calls it (matchers, dataset tests, the command line,
// campaigns), so that they all decide alike. The gate decides which bounds apply, which output is
// the reference implementation, which machine's accumulation bounds the elements, and how the
// thresholds of checksums are chosen.
//
//   CaseReport report = gate_case(c, output, {.bounds = {.standards = {"torch"}}});
//   report.outcome();  report.because();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/abft/case_check.h"
#include "assay/abft/checker.h"
#include "assay/cases/case.h"
#include "assay/gate/case_report.h"
#include "assay/gate/element_check.h"
#include "assay/gate/request.h"
#include "assay/machine/machine.h"
#include "assay/op/row_sample.h"

namespace assay::inline v0_2 {

// The options by which checksums judge outputs of a case. The threshold is that of the request. It
// is computed for the accumulator of the machine that computed the output (machine_behind()). If
// nothing names a machine, the sums are assumed to be float32 in any order.
struct ChecksumOptions {
  AbftOptions options;
  std::shared_ptr<const DotModel> model;  // owns the model that options.model may point to
  // The reason why checksums cannot judge the case, or an empty string. Either the machine is
  // unknown, or it has no matrix unit for these operands. Or nothing names a machine, and known
  // machines sum products of these operands with fewer bits than float32.
  std::string why_not;

  // Returns the checksums' verdict, or not_comparable if there is a `why_not`.
  AbftVerdict check(const Case& test_case, const TensorView& output,
                    const Epilogue* epilogue = nullptr) const;
};
// Returns the options for outputs of this dtype. If the case is neither a product nor attention,
// the checksums come from its golden result, and the function throws as element_checks() does.
ChecksumOptions checksum_options(const Case& test_case, const Format& output,
                                 const GateRequest& request, const Origin& origin = {});

// Judges an output of a case. `name` is the name of the output. Without it, the case must have
// exactly one output. Whatever is wrong with the tensor becomes a verdict. Throws CaseError if the
// case does not have this output, or if it has several outputs and no name is given. Also throws as
// element_checks() does. The caller fills `reproduce` and `seconds` of the report.
CaseReport gate_case(const Case& test_case, const std::string& name, const TensorView& output,
                     const GateRequest& request = {}, const Origin& origin = {});
CaseReport gate_case(const Case& test_case, const TensorView& output,
                     const GateRequest& request = {}, const Origin& origin = {});

// Emulates a case on a machine and judges the output. If the emulation succeeds, `output` gets the
// output, and `epilogue` gets the accumulator that was emulated for the checksums. If the machine
// cannot compute the case, the verdict is not_comparable.
CaseReport gate_emulated(const Case& test_case, const Machine& machine, const GateRequest& request,
                         Origin origin = {}, std::optional<Tensor>* output = nullptr,
                         Epilogue* epilogue = nullptr);

// Returns a report without verdicts: the name, operator and tags of the case. If the case has one
// output, and this has a golden result, also the output's dtype and the golden result's shape.
CaseReport report_of(const Case& test_case);

// Returns the checks of a tensor against another one, without a case: one check for each standard.
// Both dtypes count, because `torch` uses the looser of their two tolerances. `advice` is added to
// the reason if a standard has no tolerance for the dtype.
std::vector<ElementCheck> tensor_checks(const Format& output, const Format& expected,
                                        const GateRequest& request, std::string_view advice = "");

// Judges a tensor against another one, without a case. Returns one verdict for each standard.
// `advice` is added to the reason if a standard has no tolerance for the dtype.
std::vector<Verdict> gate_tensors(const TensorView& output, const TensorView& expected,
                                  const GateRequest& request = {}, std::string_view advice = "");

// True if the gate needs the case's input tensors to judge an output by this request. `header` is
// the case without its data: its operator and attributes.
bool needs_inputs(const Case& header, const GateRequest& request);

}  // namespace assay
