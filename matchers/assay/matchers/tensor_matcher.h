// What the matchers over tensors have in common: what they compare with, how they take what is
// tested, and how they say what came of it.
#pragma once

#include <gmock/gmock.h>

#include <concepts>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/cases/case.h"
#include "assay/judge/verdict.h"
#include "assay/tensor/dlpack.h"

namespace assay {

struct CaseReport;  // gate/case_report.h

// Has a view(): lies in memory.
template <typename T>
concept Viewable = requires(const T& t) {
  view(t);
};
// Has a view() once it is evaluated: expressions of Eigen.
template <typename T>
concept Evaluable = requires(const T& t) {
  view(t.eval());
};
// Several tensors by name: a std::map<std::string, T>, a std::vector of pairs.
template <typename T>
concept NamedTensors = requires(const T& all, const typename T::value_type& named) {
  all.begin();
  { named.first } -> std::convertible_to<std::string>;
  view(named.second);
};
struct NamedView {
  std::string name;
  TensorView tensor;
};
// How wide the unsigned integers are that a vector or span has, which may be bit patterns as well
// as numbers; 0 of anything else, and where assay has a format for them.
template <typename T>
inline constexpr int kPatternBits = 0;
template <typename T, std::size_t kExtent>
inline constexpr int kPatternBits<std::span<T, kExtent>> =
    std::is_unsigned_v<T> && !Element<T> ? 8 * static_cast<int>(sizeof(T)) : 0;
template <typename T>
inline constexpr int kPatternBits<std::vector<T>> = kPatternBits<std::span<T>>;

// Where T is no tensor in one of these ways, the compiler says what to do, and nothing of
// templates.
template <typename T>
constexpr void require_tensor() {
  constexpr int kBits = kPatternBits<T>;
  static_assert(
      kBits != 16,
      "16-bit unsigned integers may be bit patterns or numbers. Patterns: say of which "
      "format, as in view_bits(v, assay::format_named(\"bfloat16\"), shape), on both sides. "
      "Numbers: view_bits(v, assay::format_named(\"uint16\"), shape), on both sides.");
  static_assert(kBits != 0 || Viewable<T> || Evaluable<T>,
                "assay has no view() of this type. Eigen matrices: #include "
                "<assay/matchers/eigen.h>. Your own class: specialise assay::ViewOf "
                "(assay/tensor/tensor.h).");
}

// Calls use(view) with a view of anything that is a tensor, an Eigen expression included.
template <typename T, typename Use>
auto with_view(const T& tensor, const Use& use) {
  require_tensor<T>();
  if constexpr (Viewable<T>) {
    return use(view(tensor));
  } else if constexpr (Evaluable<T>) {
    const auto evaluated = tensor.eval();
    return use(view(evaluated));
  } else {
    return use(TensorView());
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
    using Type = std::remove_cvref_t<T>;
    require_tensor<Type>();
    if constexpr (!Viewable<Type>) {
      if constexpr (Evaluable<Type>) keep(view(reference.eval()));
    } else if constexpr (std::is_lvalue_reference_v<T> || std::same_as<T, TensorView>) {
      view_ = view(reference);
    } else {
      keep(view(reference));
    }
  }
  Reference(const Case& test_case);  // NOLINT
  Reference(Case&& test_case);       // NOLINT
  // These and the matchers' own are not inline: every test would compile them again.
  Reference(const Reference&);
  Reference(Reference&&) noexcept;
  Reference& operator=(const Reference&);
  Reference& operator=(Reference&&) noexcept;
  ~Reference();

  const Case* as_case() const { return case_; }
  const TensorView& tensor() const { return view_; }
  // The tensor; of a case, its golden result. Throws std::invalid_argument that names the case
  // where it has none.
  TensorView tensor_or_golden() const;
  // "the float32 reference of shape [3]", "the golden result of case x".
  std::string text() const;

 private:
  void keep(const TensorView& temporary);

  std::shared_ptr<Tensor> kept_;
  std::shared_ptr<Case> kept_case_;
  TensorView view_;
  const Case* case_ = nullptr;
};

// The command that runs the current test alone; "" outside a test.
std::string current_test_command();

// What a matcher found out about a tensor.
struct MatchReport {
  Outcome outcome;
  std::string text;                     // without the reproducer line
  std::vector<std::string> notes = {};  // of verdicts, for a pass (matchers/notes.h)
};
// The notes of all verdicts of a report, the checksums' too.
std::vector<std::string> notes_of(const CaseReport& report);

// Says it, with the current test's command where it is no pass; whether it is one. If it passes and
// the listener wants no words, which is how EXPECT_THAT asks first, its notes are told.
bool explain_match(const MatchReport& report, testing::MatchResultListener* listener);

// The skin of a matcher. `Derived` has
//   MatchReport check(const TensorView& actual) const;
//   std::string describe(bool negated) const;
// or, where an answer without words takes less
//   MatchReport check(const TensorView& actual, bool words) const;
// and where it takes the outputs of a case that has several
//   MatchReport check_outputs(const std::vector<NamedView>& actual, bool words) const;
// Setters return a changed copy, so that a matcher may be kept and varied.
template <typename Derived>
class TensorMatcher {
 public:
  using is_gtest_matcher = void;

  template <typename T>
  bool MatchAndExplain(const T& actual, testing::MatchResultListener* listener) const {
    // EXPECT_THAT asks without words first, and for words where it is no match.
    [[maybe_unused]] const bool words = listener->IsInterested();
    if constexpr (NamedTensors<T>) {
      constexpr bool kTakesThem =
          requires(const Derived& matcher, const std::vector<NamedView>& outputs) {
        matcher.check_outputs(outputs, true);
      };
      static_assert(kTakesThem, "this matcher takes one tensor at a time, not several by name");
      std::vector<NamedView> outputs;
      for (const auto& [name, tensor] : actual) outputs.push_back({name, view(tensor)});
      if constexpr (kTakesThem)
        return explain_match(self().check_outputs(outputs, words), listener);
      return false;
    } else {
      return with_view(actual, [&](const TensorView& v) {
        if constexpr (requires(const Derived& matcher) { matcher.check(v, words); }) {
          return explain_match(self().check(v, words), listener);
        } else {
          return explain_match(self().check(v), listener);
        }
      });
    }
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
