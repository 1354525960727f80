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
#include "assay/gate/bounds.h"
#include "assay/gate/case_report.h"
#include "assay/machine/machine.h"
#include "assay/op/row_sample.h"
#include "assay/tensor/case.h"

namespace assay {

// What is asked of the gate.
struct GateRequest {
  BoundRequest bounds = {};  // standards, tolerances, policies
  bool elements = true;      // false: the checksums alone
  // Checks matrix products by checksums as well, with this threshold. A case that is no product is
  // not checked by them, unless they are all that is asked for.
  std::optional<ThresholdSpec> checksums = {};
  // The machine that computed the output, over what the case and its file say; null: as they say.
  const Machine* machine = nullptr;
  // How the product was accumulated, over what the machine says.
  const DotModel* model = nullptr;
  // The producer that dual-benchmark standards compare with; empty: the one other than the
  // output's.
  std::string benchmark = {};
  // Of a product or attention without a golden result: so many rows are drawn, their golden results
  // computed, and these rows judged; the checksums look at all of it.
  std::optional<RowSample> sample = {};
  bool mutate = false;  // try the mutations (fault/mutation.h) on an output that passes
  bool metrics = true;
  bool patterns = true;   // after a failure, look for a change of the output that would mend it
  bool miss_map = false;  // count where the misses lie
  std::size_t worst = 5;  // elements listed in a verdict
  int threads = 0;        // 0: default_threads(); no result depends on it
};

// A recorded output that may serve as benchmark, read where it does.
struct RecordedOutput {
  std::string producer;
  std::function<Tensor()> read;
};

// Whose output is judged.
struct Origin {
  // A recorded output's producer, a machine's name where it was emulated; empty: not known. An
  // output that lies in the case is known by its place.
  std::string producer = {};
  // The machine that its file names for the output; empty: what the case has of that producer.
  std::string machine = {};
  // Lists recorded outputs of the case besides those that it carries; asked where a standard
  // compares with one.
  std::function<std::vector<RecordedOutput>()> recorded = {};
  // What the kernel gave beside the output, for thresholds that take it; null: what the case has of
  // that producer.
  const Epilogue* epilogue = nullptr;
};

// What an output is held against, by one standard: a bound with all that it needs, fixed before the
// output is looked at.
struct ElementCheck {
  ElementCheck() = default;
  explicit ElementCheck(ChosenBound chosen);

  std::string standard;
  std::optional<Bound> bound;
  // Not empty: why nothing can be judged by this standard.
  std::string why_not;
  std::vector<std::string> notes;  // of the verdict, whatever it is
  // Of `accumulation` and `expected_error`: float64, the output's shape; of the latter also the
  // weights of squared errors.
  std::shared_ptr<const Tensor> element_bounds, error_weights;
  // What is said of an output that failed; empty where there is nothing to say.
  std::function<std::string(const TensorView& output)> explain;
  // What is said of an output that passed; empty if there is nothing to say.
  std::function<std::string(const TensorView& output)> remark;
  std::shared_ptr<const Tensor> benchmark;  // of dual-benchmark standards
  // Of indices: the input that they point into, which lies in the case, and along which axis.
  const Tensor* index_source = nullptr;
  std::int64_t index_axis = -1;

  // not_comparable where there is a why_not.
  Verdict judge(const TensorView& output, const TensorView& expected, JudgeOptions options) const;
};

// One a standard. `output`: the dtype of what will be judged. The case must outlive the checks: its
// recorded outputs may be their benchmark. Throws std::invalid_argument where the request is wrong,
// CaseError where the case's own words are.
std::vector<ElementCheck> element_checks(const Case& test_case, const Format& output,
                                         const GateRequest& request, const Origin& origin = {});

// The verdict of each check on an output, held against `expected`.
std::vector<Verdict> judge_by(const std::vector<ElementCheck>& checks, const TensorView& output,
                              const TensorView& expected, const JudgeOptions& options = {});

// The machine that computed an output: the request's, else the one that the file names for the
// output, else the producer where it is a machine's name, else the case's attribute `machine`; null
// where nothing says it. Throws std::invalid_argument for a name that no machine has.
const Machine* machine_behind(const Case& test_case, const GateRequest& request,
                              const Origin& origin);

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

// Judges an output. Whatever is wrong with it is a verdict; throws as element_checks() does. The
// report's `reproduce` and `seconds` are the caller's to fill.
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

// The name of gate_case() before 0.2.0; goes with 0.3.0.
[[deprecated("gate_case(c, output, {.bounds = request}).verdicts")]] std::vector<Verdict>
judge_case(const Case& test_case, const TensorView& output, const BoundRequest& request,
           const JudgeOptions& options = {});

}  // namespace assay
