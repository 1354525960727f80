// One check of every element of an output: a bound with all that it needs, fixed before the output
// is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/gate/request.h"
#include "assay/judge/verdict.h"

namespace assay {

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
  // Returns a sentence that explains why an output failed, or an empty string.
  std::function<std::string(const TensorView& output)> explain;
  // Returns a note on an output that passed, or an empty string.
  std::function<std::string(const TensorView& output)> remark;
  std::shared_ptr<const Tensor> benchmark;  // of dual-benchmark standards
  // Of indices: the input that they point into, which lies in the case, and along which axis.
  const Tensor* index_source = nullptr;
  std::int64_t index_axis = -1;
  // A second check, by the expected error, beside a check by an operator's own bound. Null if there
  // is no second check. An output fails if either check fails. It passes if both pass, or if the
  // second check passes and the own bound is blind.
  std::shared_ptr<const ElementCheck> by_chance = nullptr;
  // A stricter check, for float32 sums. A check by the expected error has one if it allows for sums
  // of few bits because no machine is named. An output that passes the check and fails the stricter
  // one is untrusted.
  std::shared_ptr<const ElementCheck> by_float32 = nullptr;
  std::string doubt;  // what is said of such an output

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

// One a standard. `output`: the dtype of what will be judged. The case must outlive the checks: its
// recorded outputs may be their benchmark. Throws std::invalid_argument where the request is wrong,
// CaseError where the case's own words are.
std::vector<ElementCheck> element_checks(const Case& test_case, const Format& output,
                                         const GateRequest& request, const Origin& origin = {});

// The verdict of each check on an output, held against `expected`.
std::vector<Verdict> judge_by(const std::vector<ElementCheck>& checks, const TensorView& output,
                              const TensorView& expected, const JudgeOptions& options = {});

}  // namespace assay
