// AbftClose: judges a matrix product by checksums (docs/abft.md).
#pragma once

#include <optional>
#include <string>

#include "assay/gate/gate.h"
#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay {

// producer(): of a case, whose output is tested; where that is a machine's name, its accumulator is
// taken.
class AbftMatcher : public TensorMatcher<AbftMatcher>, public ProducerSetter<AbftMatcher> {
 public:
  explicit AbftMatcher(Reference golden_or_case);
  AbftMatcher(Reference a, Reference b);
  AbftMatcher(const AbftMatcher&);
  AbftMatcher(AbftMatcher&&) noexcept;
  AbftMatcher& operator=(const AbftMatcher&);
  AbftMatcher& operator=(AbftMatcher&&) noexcept;
  ~AbftMatcher();

  // "rounding_variance" (the default), "v_abft", "a_abft", with parameters as in
  // "v_abft,variant=recalibrated"; `assay list thresholds` prints them.
  AbftMatcher threshold(const std::string& spec) const;
  // One checksum a row of C: O(N^2), for products too large for a golden result.
  AbftMatcher whole_rows() const { return groups(0); }
  // One checksum a group of this many columns; the default is 16.
  AbftMatcher groups(int width) const {
    return with([&](auto& m) { m.groups_ = width; });
  }
  // Check the columns of C as well.
  AbftMatcher columns(bool value = true) const {
    return with([&](auto& m) { m.columns_ = value; });
  }
  // Whether a check above its threshold is looked at element by element before it counts.
  AbftMatcher confirm(bool value) const {
    return with([&](auto& m) { m.confirm_ = value; });
  }
  // Probability of a false alarm over all checks of the matrix, before confirmation.
  AbftMatcher false_alarm_budget(double delta) const;
  // How the operator accumulates, where that is known: tightens the bound of the accumulation.
  AbftMatcher accumulated_as(const DotModel& model) const {
    return with([&](auto& m) { m.model_ = &model; });
  }

  MatchReport check(const TensorView& actual) const;
  std::string describe(bool negated) const;

 private:
  ThresholdSpec spec() const;

  Reference first_;
  std::optional<Reference> second_;
  std::string threshold_{kDefaultThreshold};
  std::optional<int> groups_;
  std::optional<bool> columns_, confirm_;
  std::optional<double> delta_;
  const DotModel* model_ = nullptr;
};

// The sums of C's rows are what the operands, or the golden result, say. With a dataset case: its
// operands where it has them, else its golden result.
AbftMatcher AbftClose(Reference golden_or_case);
// a (M x K) and b (K x N): no golden result is needed.
AbftMatcher AbftClose(Reference a, Reference b);

}  // namespace assay
