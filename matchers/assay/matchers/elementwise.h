// CloseTo, WithinUlps, BitEqual: one matcher with three rules.
#pragma once

#include <gmock/gmock.h>

#include <concepts>
#include <memory>
#include <optional>
#include <string>

#include "assay/judge/bound.h"
#include "assay/judge/verdict.h"
#include "assay/tensor/case.h"
#include "assay/tensor/eigen.h"

namespace assay {

// Has a view(): lies in memory. Eigen expressions do not, and are evaluated first.
template <typename T>
concept Viewable = requires(const T& t) {
  view(t);
};

// What a matcher compares with: a view, and where it must, the storage behind it.
class Reference {
 public:
  // An lvalue is only viewed and must outlive the matcher; of a temporary a copy is kept.
  template <typename T>
  requires(!std::same_as<std::remove_cvref_t<T>, Case> &&
           !std::same_as<std::remove_cvref_t<T>, Reference>)
      Reference(T&& reference) {  // NOLINT: whatever can be viewed is a reference
    if constexpr (!Viewable<T>) {
      keep(view(reference.eval()));  // an Eigen expression
    } else if constexpr (std::is_lvalue_reference_v<T> || std::same_as<T, TensorView>) {
      view_ = view(reference);
    } else {
      keep(view(reference));
    }
  }
  Reference(const Case& test_case) : case_(&test_case) {}  // NOLINT
  Reference(Case&& test_case)                              // NOLINT
      : kept_case_(std::make_shared<Case>(std::move(test_case))), case_(kept_case_.get()) {}

  const Case* as_case() const { return case_; }
  const TensorView& tensor() const { return view_; }

 private:
  void keep(const TensorView& temporary) {
    kept_ = std::make_shared<Tensor>(copy_of(temporary));
    view_ = kept_->view();
  }

  std::shared_ptr<Tensor> kept_;
  std::shared_ptr<Case> kept_case_;
  TensorView view_;
  const Case* case_ = nullptr;
};

class ElementwiseMatcher {
 public:
  using is_gtest_matcher = void;

  ElementwiseMatcher(Reference reference, std::string standard) : reference_(std::move(reference)) {
    if (!standard.empty()) request_.standards = {std::move(standard)};
    request_.origin = "matcher";
  }

  // Tolerances of your own: |actual - expected| <= atol + rtol |expected|. Where one of the two is
  // given, the other is the standard's.
  ElementwiseMatcher rtol(double value) const;
  ElementwiseMatcher atol(double value) const;
  // Whether NaN matches NaN; else as the standard says.
  ElementwiseMatcher equal_nan(bool value = true) const;
  // A published standard by name, "ulp(n)" or "bit_equal". Several: all must hold.
  ElementwiseMatcher standard(const std::string& name) const;

  template <typename T>
  bool MatchAndExplain(const T& actual, testing::MatchResultListener* listener) const {
    if constexpr (Viewable<T>) {
      return match(view(actual), listener);
    } else {
      return match(view(actual.eval()), listener);
    }
  }
  void DescribeTo(std::ostream* os) const;
  void DescribeNegationTo(std::ostream* os) const;

 private:
  bool match(const TensorView& actual, testing::MatchResultListener* listener) const;
  std::string description() const;

  Reference reference_;
  BoundRequest request_;
};

// Every element within the tolerance of the standard (default: triton_ascend) for the dtype of the
// actual tensor; with a case, the case's own bound.
inline ElementwiseMatcher CloseTo(Reference reference) {
  return ElementwiseMatcher(std::move(reference), "");
}
// Every element at most `ulps` representable values of its format away; NaN matches nothing.
inline ElementwiseMatcher WithinUlps(Reference reference, std::uint64_t ulps) {
  return ElementwiseMatcher(std::move(reference), "ulp(" + std::to_string(ulps) + ")");
}
// The same bit patterns: -0 is not +0, and a NaN equals only its own pattern.
inline ElementwiseMatcher BitEqual(Reference reference) {
  return ElementwiseMatcher(std::move(reference), "bit_equal");
}

// The command that runs the current test alone; "" outside a test.
std::string current_test_command();

}  // namespace assay
