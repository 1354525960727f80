// The common part of the matchers of tensors: the reference, the conversion of the tested value to
// a view, and the explanation of the result.
#pragma once

#include <gmock/gmock.h>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/device/device_memory.h"
#include "assay/tensor/dlpack.h"

namespace assay::inline v0_2 {

// Declared in cases/case.h, gate/case_report.h and judge/verdict.h, which most tests need not
// compile.
struct Case;
struct CaseReport;
enum class Outcome : std::uint8_t;

// Types for which view() exists, because their elements lie in memory of the host or of a device.
template <typename T>
concept Viewable = requires(const T& t) {
  view(t);
};
// Types whose eval() gives a type with a view(), such as expressions of Eigen.
template <typename T>
concept Evaluable = requires(const T& t) {
  t.eval();
}
&&Viewable<std::remove_cvref_t<decltype(std::declval<const T&>().eval())>>;
// Several tensors by name, such as a std::map<std::string, T> or a std::vector of pairs.
template <typename T>
concept NamedTensors = requires(const T& all, const typename T::value_type& named) {
  all.begin();
  { named.first } -> std::convertible_to<std::string>;
  view(named.second);
};
struct NamedView {
  std::string name;
  AnyView tensor;
};
// The number of bits of the unsigned integers of a sequence that could be bit patterns as well as
// numbers, such as 16. It is 0 for any other type, and if assay has a format for these integers.
template <typename T>
inline constexpr int kPatternBits = 0;
template <PatternSequence T>
requires(!Element<SequenceElement<T>>) inline constexpr int kPatternBits<T> =
    8 * static_cast<int>(sizeof(SequenceElement<T>));
// True for sequences of std::uint8_t, which are compared as integers but may hold codes of float8.
template <typename T>
inline constexpr bool kMayBeCodes = false;
template <PatternSequence T>
inline constexpr bool kMayBeCodes<T> = std::same_as<SequenceElement<T>, std::uint8_t>;

// Makes the compiler print advice instead of template errors if T is not a tensor that a matcher
// accepts.
template <typename T>
constexpr void require_tensor() {
  constexpr int kBits = kPatternBits<T>;
  static_assert(
      kBits != 16,
      "16-bit unsigned integers may be bit patterns or numbers. Patterns: say of which format, as "
      "in view_bits(v, assay::format_named(\"bfloat16\"), shape), on both sides. Numbers: "
      "view_bits(v, assay::format_named(\"uint16\"), shape), on both sides.");
  static_assert(
      kBits != 0 || Viewable<T> || Evaluable<T>,
      "assay has no view() of this type. Eigen matrices: #include <assay/matchers/eigen.h>. Your "
      "own class: specialise assay::ViewOf (assay/tensor.h).");
}

// Calls use(view) with a view of any tensor, including an Eigen expression.
template <typename T, typename Use>
auto with_view(const T& tensor, const Use& use) {
  require_tensor<T>();
  if constexpr (Viewable<T>) {
    return use(AnyView(view(tensor)));
  } else if constexpr (Evaluable<T>) {
    const auto evaluated = tensor.eval();
    return use(AnyView(view(evaluated)));
  } else {
    return use(AnyView());
  }
}

// The reference of a matcher: a view of the host's memory or of a device's, with its own storage if
// it needs one.
class Reference {
 public:
  // An lvalue is only viewed and must outlive the matcher, as must the memory of a TensorView or a
  // DeviceView. Other temporaries and Eigen expressions are copied.
  template <typename T>
  requires(!std::same_as<std::remove_cvref_t<T>, Case> &&
           !std::same_as<std::remove_cvref_t<T>, Reference>)
      Reference(T&& reference) {  // NOLINT: whatever can be viewed is a reference
    using Type = std::remove_cvref_t<T>;
    require_tensor<Type>();
    if constexpr (!Viewable<Type>) {
      if constexpr (Evaluable<Type>) {
        const auto evaluated = reference.eval();
        keep(view(evaluated));
      }
    } else if constexpr (std::is_lvalue_reference_v<T> || std::same_as<T, TensorView> ||
                         std::same_as<T, DeviceView>) {
      view_ = view(reference);
    } else {
      keep(view(reference));
    }
  }
  Reference(const Case& test_case);  // NOLINT
  Reference(Case&& test_case);       // NOLINT
  // The functions below, and those of the matchers, are not inline, so that tests do not compile
  // them again.
  Reference(const Reference&);
  Reference(Reference&&) noexcept;
  Reference& operator=(const Reference&);
  Reference& operator=(Reference&&) noexcept;
  ~Reference();

  const Case* as_case() const { return case_; }
  const AnyView& tensor() const { return view_; }
  // Returns the tensor's format, shape and strides.
  const TensorView& layout() const { return layout_of(view_); }
  // Returns the tensor, or the golden result of a case. Throws Refusal, which names
  // the case, if the case has no golden result.
  AnyView tensor_or_golden() const;
  // Returns the reference in words, such as "the float32 reference of shape [3]" or "the golden
  // result of case x".
  std::string text() const;

 private:
  void keep(const TensorView& temporary);

  std::shared_ptr<Tensor> kept_;
  std::shared_ptr<Case> kept_case_;
  AnyView view_;
  const Case* case_ = nullptr;
};

// Returns the command that runs only the current test, or an empty string outside a test.
std::string current_test_command();

// The result of matching one tensor.
struct MatchReport {
  Outcome outcome;
  std::string text;  // the explanation, without the reproducer line
  // The notes of the verdicts, if they passed (matchers/notes.h)
  std::vector<std::string> notes = {};
};
// Adds the note that tensors were copied to the host, if any were. `because` says why.
void add_note(MatchReport& report, const HostCopies& copies, std::string_view because);
// Returns the notes of all verdicts of a report, including those of the checksums.
std::vector<std::string> notes_of(const CaseReport& report);

// Writes the report to the listener. If the outcome is not a pass, also writes the command that
// repeats the current test. Returns true for a pass. The notes of a pass are recorded by
// tell_notes() if the listener wants no explanation, as in the first call of EXPECT_THAT.
//
// If `may_be_codes` is true, the text of a failure says how codes are compared as numbers.
bool explain_match(const MatchReport& report, testing::MatchResultListener* listener,
                   bool may_be_codes = false);

// Explains that the question was refused, and fails the current test. Returns false if no test
// runs.
bool explain_refusal(const std::exception& refusal, testing::MatchResultListener* listener);

// The names of the tested value and of the reference in messages about tensors of a device.
inline constexpr const char* kOutputName = "the output";
inline constexpr const char* kReferenceName = "the reference";

// The GoogleTest interface of a matcher. `Derived` has
//   MatchReport check(const AnyView& actual, bool words) const;
//   std::string describe(bool negated) const;
// where `words` is false if no explanation is needed. If it judges only tensors of the host, it has
//   MatchReport check_on_host(const TensorView& actual, HostCopies& copies) const;
//   static constexpr std::string_view kWhyOnHost = "its metrics are computed there";
// instead of check(). Such a matcher adds its other tensors to the copies. If one of them is a
// device's, the report has a note, which ends with kWhyOnHost. If it accepts the outputs of a case
// that has several, it also has
//   MatchReport check_outputs(const std::vector<NamedView>& actual, bool words) const;
// Setters return a changed copy, so that a matcher may be kept and varied.
template <typename Derived>
class TensorMatcher {
 public:
  using is_gtest_matcher = void;

  // Returns false if the question is refused, for example because a standard is unknown or its file
  // cannot be read. Then the
  // current test also fails, because Not() would turn the false into a match. Outside a test,
  // throws the Refusal.
  template <typename T>
  bool MatchAndExplain(const T& actual, testing::MatchResultListener* listener) const {
    try {
      return match(actual, listener);
    } catch (const Refusal& refusal) {
      if (!explain_refusal(refusal, listener)) throw;
    } catch (const std::runtime_error& failure) {  // a file cannot be read
      if (!explain_refusal(failure, listener)) throw;
    }
    return false;
  }
  // Copies a tensor of a device to the host, and judges it there.
  MatchReport check(const AnyView& actual) const {
    HostCopies copies;
    MatchReport report = self().check_on_host(copies.add(actual, kOutputName), copies);
    add_note(report, copies, Derived::kWhyOnHost);
    return report;
  }
  void DescribeTo(std::ostream* os) const { describe_to(false, os); }
  void DescribeNegationTo(std::ostream* os) const { describe_to(true, os); }

 protected:
  // Returns a copy of the matcher after `change` was applied to it.
  template <typename Change>
  Derived with(const Change& change) const {
    Derived copy = self();
    change(copy);
    return copy;
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }

  void describe_to(bool negated, std::ostream* os) const {
    try {
      *os << self().describe(negated);
    } catch (const Refusal& refusal) {  // MatchAndExplain() says more
      *os << "cannot be judged: " << refusal.what();
    }
  }

  template <typename T>
  bool match(const T& actual, testing::MatchResultListener* listener) const {
    // EXPECT_THAT first asks for the result without an explanation. Only if that does not match, it
    // asks for one.
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
      return with_view(actual, [&](const AnyView& v) {
        if constexpr (requires(const Derived& matcher) { matcher.check(v, words); }) {
          return explain_match(self().check(v, words), listener, kMayBeCodes<T>);
        } else {
          return explain_match(check(v), listener, kMayBeCodes<T>);
        }
      });
    }
  }
};

}  // namespace assay
