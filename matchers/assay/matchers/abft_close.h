// AbftClose: judges a matrix product by checksums (docs/abft.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay::inline v0_2 {

struct DotModel;  // declared in machine/machine.h
namespace abft {
struct ThresholdSpec;  // declared in abft/threshold.h
}

// Judges a matrix product by checksums. producer() is for a case: it names the producer of the
// output that is tested. The accumulator is that of the machine which the case's file names for the
// producer. Otherwise it is that of the machine with the producer's name, and otherwise that of the
// case's attribute `machine`.
class AbftMatcher : public TensorMatcher<AbftMatcher>, public ProducerSetter<AbftMatcher> {
 public:
  explicit AbftMatcher(Reference golden_or_case);
  AbftMatcher(Reference a, Reference b);
  AbftMatcher(const AbftMatcher&);
  AbftMatcher(AbftMatcher&&) noexcept;
  AbftMatcher& operator=(const AbftMatcher&);
  AbftMatcher& operator=(AbftMatcher&&) noexcept;
  ~AbftMatcher();

  // Sets the threshold by name: "rounding_variance" (the default), "v_abft" or "a_abft", with
  // parameters as in "v_abft,variant=recalibrated". `assay list thresholds` prints all of them.
  AbftMatcher threshold(const std::string& spec) const;
  // Names the machine that computed the product, such as "hopper". Products of 8-bit floats are
  // refused without one. For other products the machine's accumulator tightens the bound. Overrides
  // the machine of a case. "own.json" is the machine of a file (docs/machines.md).
  AbftMatcher machine(const std::string& name) const;
  // Sets the bias if the matcher has two operands: N values that are added to each row of the
  // product.
  AbftMatcher bias(Reference values) const;
  // Says that an operand is stored transposed if the matcher has two operands: a as (K x M), b as
  // (N x K).
  AbftMatcher transpose_a(bool value = true) const {
    return with([&](auto& m) { m.transpose_a_ = value; });
  }
  AbftMatcher transpose_b(bool value = true) const {
    return with([&](auto& m) { m.transpose_b_ = value; });
  }
  // Lets a product without elements pass. By default it is not trusted.
  AbftMatcher allow_empty(bool value = true) const {
    return with([&](auto& m) { m.allow_empty_ = value; });
  }
  // Uses one checksum for each row of C. The check then takes O(N^2), which suits products that are
  // too large for a golden result.
  AbftMatcher whole_rows() const { return groups(0); }
  // Uses one checksum for each group of this many columns of a row. The default is 16.
  AbftMatcher groups(int width) const {
    return with([&](auto& m) { m.groups_ = width; });
  }
  // Checks the columns of C as well.
  AbftMatcher columns(bool value = true) const {
    return with([&](auto& m) { m.columns_ = value; });
  }
  // Give data of the kernel that computed the output, which the threshold residual_compensated
  // needs. They override the data that a case has for producer(). accumulator() takes C before its
  // cast, in C's shape. residual() takes R = sum (before - after the cast) over the columns of each
  // check, in the shape [..., M, checks of a row]. Both are in float32 or float64.
  AbftMatcher accumulator(Reference before_its_cast) const {
    return with([&](auto& m) { m.accumulator_ = std::move(before_its_cast); });
  }
  AbftMatcher residual(Reference sums) const {
    return with([&](auto& m) { m.residual_ = std::move(sums); });
  }
  // If true, a check above its threshold counts only after its elements were examined one by one.
  AbftMatcher confirm(bool value) const {
    return with([&](auto& m) { m.confirm_ = value; });
  }
  // Sets the probability of a false alarm over all checks of the matrix, before confirmation.
  AbftMatcher false_alarm_budget(double delta) const;
  // Sets the arithmetic in which the operator accumulates, if it is known. It tightens the bound of
  // the accumulation.
  AbftMatcher accumulated_as(const DotModel& model) const {
    return with([&](auto& m) { m.model_ = &model; });
  }

  static constexpr std::string_view kWhyOnHost = "checksums are computed there";
  MatchReport check_on_host(const TensorView& actual, HostCopies& copies) const;
  std::string describe(bool negated) const;

 private:
  abft::ThresholdSpec spec() const;
  // Returns a case made from the operands or the golden result, for outputs of this format.
  Case made_case(const Format& output, HostCopies& copies) const;

  Reference first_;
  std::optional<Reference> second_, bias_, accumulator_, residual_;
  bool transpose_a_ = false, transpose_b_ = false, allow_empty_ = false;
  std::string threshold_;  // empty for the default one
  std::optional<int> groups_;
  std::optional<bool> columns_, confirm_;
  std::optional<double> delta_;
  std::string machine_;
  const DotModel* model_ = nullptr;
};

// Checks that the sums of C's rows agree with the operands or with the golden result. A dataset
// case is checked by its operands if it has them, and by its golden result otherwise.
AbftMatcher AbftClose(Reference golden_or_case);
// Checks the product of a (M x K) and b (K x N). One or both of them may have batch dimensions
// before these two. No golden result is needed.
AbftMatcher AbftClose(Reference a, Reference b);

}  // namespace assay
