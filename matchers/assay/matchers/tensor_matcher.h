// What the matchers over tensors have in common: what they compare with, how they take what is
// tested, and how they say what came of it.
#pragma once

#include <gmock/gmock.h>

#include <concepts>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "assay/judge/verdict.h"
#include "assay/tensor/case.h"
#include "assay/tensor/dlpack.h"
#include "assay/tensor/eigen.h"

namespace assay {

// Has a view(): lies in memory. Eigen expressions do not, and are evaluated first.
template <typename T>
concept Viewable = requires(const T& t) {
  view(t);
};

// Calls use(view) with a view of anything that is a tensor, an Eigen expression included.
template <typename T, typename Use>
auto with_view(const T& tensor, const Use& use) {
  if constexpr (Viewable<T>) {
    return use(view(tensor));
  } else {
    const auto evaluated = tensor.eval();
    return use(view(evaluated));
  }
}

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
  // The tensor; of a case, its golden result. Throws std::invalid_argument that names the case
  // where it has none.
  TensorView tensor_or_golden() const {
    return case_ != nullptr ? case_->golden_tensor().view() : view_;
  }
  // "the float32 reference of shape [3]", "the golden result of case x".
  std::string text() const;

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

// The command that runs the current test alone; "" outside a test.
std::string current_test_command();

// "passes", "fails", "cannot be trusted", "cannot be compared".
std::string_view outcome_verb(Outcome outcome);

// What a matcher found out about a tensor.
struct MatchReport {
  Outcome outcome;
  std::string text;  // without the reproducer line
};

// The skin of a matcher. `Derived` has
//   MatchReport check(const TensorView& actual) const;
//   std::string describe(bool negated) const;
// Setters return a changed copy, so that a matcher may be kept and varied.
template <typename Derived>
class TensorMatcher {
 public:
  using is_gtest_matcher = void;

  template <typename T>
  bool MatchAndExplain(const T& actual, testing::MatchResultListener* listener) const {
    const MatchReport report =
        with_view(actual, [&](const TensorView& v) { return self().check(v); });
    *listener << "which " << std::string(outcome_verb(report.outcome)) << ": " << report.text;
    if (report.outcome == Outcome::kPass) return true;
    if (const std::string command = current_test_command(); !command.empty()) {
      *listener << "\nreproduce: " << command;
    }
    return false;
  }
  void DescribeTo(std::ostream* os) const { *os << self().describe(false); }
  void DescribeNegationTo(std::ostream* os) const { *os << self().describe(true); }

 protected:
  // A copy with one thing changed.
  template <typename Change>
  Derived with(const Change& change) const {
    Derived copy = self();
    change(copy);
    return copy;
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

}  // namespace assay
