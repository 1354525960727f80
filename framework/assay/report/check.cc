#include "assay/report/check.h"

#include <ostream>

#include "assay/gate/close_to.h"
#include "assay/report/gate_text.h"

namespace assay::inline v0_2 {
namespace {

Check check_of(const CaseReport& report) { return {report.outcome(), explain(report)}; }

}  // namespace

std::ostream& operator<<(std::ostream& out, const Check& check) {
  return out << outcome_verb(check.outcome) << ": " << check.text;
}

Check check_close(const TensorView& actual, const TensorView& expected,
                  const GateRequest& request) {
  CaseReport report;
  report.verdicts = gate_tensors(actual, expected, request);
  return check_of(report);
}

Check check_case(const Case& c, const TensorView& actual, const GateRequest& request,
                 const Origin& origin) {
  return check_of(gate_case(c, actual, request, origin));
}

}  // namespace assay
