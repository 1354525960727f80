// A check of every element of an output: a bound and all that it needs, fixed before the output is
// read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/gate/request.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// A check of an output by one standard: a bound and all that it needs, fixed before the output is
// read.
struct ElementCheck {
  ElementCheck() = default;
  explicit ElementCheck(ChosenBound chosen);

  std::string standard;
  std::optional<Bound> bound;
  // The reason why this standard cannot judge the output, or an empty string.
  std::string why_not;
  std::vector<std::string> notes;  // notes for the verdict, whatever its outcome
  // The bounds of the elements for `accumulation` and `expected_error`, in float64 and with the
  // output's shape. For `expected_error` also the weights of the squared errors.
  std::shared_ptr<const Tensor> element_bounds, error_weights;
  // Returns a sentence that explains why an output failed, or an empty string.
  std::function<std::string(const TensorView& output)> explain;
  // Returns a note on an output that passed, or an empty string.
  std::function<std::string(const TensorView& output)> remark;
  std::shared_ptr<const Tensor>
      reference_implementation;  // the output that dual-benchmark standards compare with
  // For indices, the input that they point into (the case owns it), and the axis along which they
  // point.
  const Tensor* index_source = nullptr;
  std::int64_t index_axis = -1;
  // A second check, by the expected error, in addition to a check by an operator's own bound.
  // nullptr if there is no second check. An output fails if either check fails. It passes if both
  // pass, or if the second check passes and the own bound is blind.
  std::shared_ptr<const ElementCheck> by_chance = nullptr;
  // A stricter check, for float32 sums. A check by the expected error has one if it allows for sums
  // of few bits because no machine is named. An output that passes the check and fails the stricter
  // one is untrusted.
  std::shared_ptr<const ElementCheck> by_float32 = nullptr;
  std::string doubt;  // the reason that such an output's verdict gives

  // Returns one verdict: that of this check, or that of `by_chance` if it decides. Returns
  // not_comparable if there is a why_not.
  Verdict judge(const TensorView& output, const TensorView& expected,
                const JudgeOptions& options) const;

 private:
  // Makes a pass untrusted if `by_float32` fails.
  void settle_doubt(const TensorView& output, const TensorView& expected,
                    const JudgeOptions& options, Verdict& verdict) const;
  Verdict judge_alone(const TensorView& output, const TensorView& expected,
                      JudgeOptions options) const;
};

// Returns one check for each standard. `output` is the dtype of the output to judge. The case must
// outlive the checks, because they may use its recorded outputs as reference implementation. Throws
// Refusal if the request is wrong, and CaseError if an attribute of the case is.
std::vector<ElementCheck> element_checks(const Case& test_case, const Format& output,
                                         const GateRequest& request, const Origin& origin = {});

// Returns the verdict of each check on an output, compared with `expected`.
std::vector<Verdict> judge_by(const std::vector<ElementCheck>& checks, const TensorView& output,
                              const TensorView& expected, const JudgeOptions& options = {});

}  // namespace assay
