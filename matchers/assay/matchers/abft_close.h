// AbftClose: judges a matrix product by checksums (docs/abft.md).
#pragma once

#include <optional>
#include <string>

#include "assay/gate/gate.h"
#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay {

// producer(): of a case, whose output is tested; the accumulator is that of the machine which the
// case's file names for it, of the producer where that is a machine's name, else of the case's
// attribute `machine`.
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
  // The machine that computed the product, "hopper": products of 8-bit floats are refused without
  // one, and its accumulator tightens the bound of others. Goes over what a case says. Throws
  // std::invalid_argument for a name that no machine has.
  AbftMatcher machine(const std::string& name) const;
  // Beside two operands: N values that are added to each row of the product.
  AbftMatcher bias(Reference values) const;
  // Beside two operands: a is stored as (K x M), b as (N x K).
  AbftMatcher transpose_a(bool value = true) const {
    return with([&](auto& m) { m.transpose_a_ = value; });
  }
  AbftMatcher transpose_b(bool value = true) const {
    return with([&](auto& m) { m.transpose_b_ = value; });
  }
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
  // What residual_compensated needs of the kernel that computed the output, over what a case has
  // beside that of producer(): C before its cast (of C's shape), or R = sum (before - after) over
  // the columns of each check ([..., M, checks of a row]); float32 or float64.
  AbftMatcher accumulator(Reference before_its_cast) const {
    return with([&](auto& m) { m.accumulator_ = std::move(before_its_cast); });
  }
  AbftMatcher residual(Reference sums) const {
    return with([&](auto& m) { m.residual_ = std::move(sums); });
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
  // The case, or one of what there is instead, for outputs of this format.
  Case made_case(const Format& output) const;

  Reference first_;
  std::optional<Reference> second_, bias_, accumulator_, residual_;
  bool transpose_a_ = false, transpose_b_ = false;
  std::string threshold_{kDefaultThreshold};
  std::optional<int> groups_;
  std::optional<bool> columns_, confirm_;
  std::optional<double> delta_;
  const Machine* machine_ = nullptr;
  const DotModel* model_ = nullptr;
};

// The sums of C's rows are what the operands, or the golden result, say. With a dataset case: its
// operands where it has them, else its golden result.
AbftMatcher AbftClose(Reference golden_or_case);
// a (M x K) and b (K x N), with batch dimensions before them in both or in one: no golden result is
// needed.
AbftMatcher AbftClose(Reference a, Reference b);

}  // namespace assay
