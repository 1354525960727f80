// The one judge: every check gives a Verdict, and every surface (matcher, command line, CTest,
// JUnit, JSON, HTML) shows that same verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/bound.h"
#include "assay/judge/location.h"
#include "assay/judge/metrics.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// The outcomes of a check.
enum class Outcome : std::uint8_t {
  kPass,
  kFail,
  kUntrusted,  // the check could not have failed, or could not have passed
  // The output could not be judged, for example because its shape or dtype is not the expected one,
  // or because the other side does not have the case.
  kNotComparable,
};
// Returns "pass", "fail", "untrusted" or "not_comparable".
std::string_view outcome_word(Outcome outcome);

// An element outside its bound.
struct Mismatch {
  std::int64_t linear = 0;  // row-major
  std::vector<std::int64_t> index = {};
  std::uint64_t actual_bits = 0, expected_bits = 0;  // in the output's format
  double actual = 0, expected = 0;                   // as compared
  double error = 0, bound = 0;
  // True if `expected` is an integer that the output's format cannot hold. Then expected_bits are
  // those of the nearest integer that it can hold.
  bool expected_is_beyond = false;
  // The distance in ulps. Empty if a value is NaN, and for complex elements.
  std::optional<std::uint64_t> ulps = {};
  // The imaginary parts of complex elements. The members above are the real parts, except for
  // `error` and `bound`, which are magnitudes.
  struct Part {
    std::uint64_t actual_bits = 0, expected_bits = 0;
    double actual = 0, expected = 0;
  };
  std::optional<Part> imaginary = {};
};

// One test of draws against their law (judge/draw_distribution.h), with its result.
struct DrawTest {
  std::string name;
  double statistic = 0;
  double p_value = 1;  // under the law, a statistic this far off has at most this probability
  double limit = 0;    // the test fails if the p-value is below this
  bool passed = true;
  std::string words = {};
};

// The verdict on one output by one bound: the outcome, its reason, and the measurements behind it.
struct Verdict {
  Outcome outcome = Outcome::kPass;
  std::int64_t sites = 0, mismatches = 0;
  std::int64_t forgiven = 0;            // mismatches that the standard's budget allows
  std::int64_t special_mismatches = 0;  // mismatches where a value is NaN or infinite
  // Largest error / bound. Infinite if a mismatch has a bound of 0, or a value that is NaN or
  // infinite.
  double worst_ratio = 0;
  // The number of elements whose expected value is finite and not 0, and how many of them are
  // blind: an output in which all of these were 0 would also pass. If the bound limits statistics,
  // `blind` is found by trial: the smallest elements become 0 first, and only a sample of a large
  // tensor is tried. `blind` is empty if it is unknown.
  std::int64_t nonzero = 0;
  std::optional<std::int64_t> blind = {};
  std::vector<Mismatch> worst = {};  // the largest ratios first
  std::optional<Metrics> metrics = {};
  std::vector<LimitReading> readings = {};  // for the bound's limits
  std::vector<DrawTest> tests = {};         // for draws, if the bound is a law
  std::string because = {};                 // the verdict in words, one line
  bool same_data = false;                   // the output is the golden result itself, byte for byte
  // The pattern of a failure: where its mismatches lie, and which cause explains them
  // (judge/pattern.h). Empty if there is no pattern.
  std::string where = {};
  bool explained = false;                        // `where` names a cause
  std::optional<MismatchMap> mismatch_map = {};  // if asked for, and if there are mismatches
  std::vector<std::string> notes = {};           // what else a reader should know
  Bound bound = {};
  const Format* format = nullptr;  // of the actual output
  Shape shape = {};

  // Sets the outcome and its reason. Returns this verdict.
  Verdict& decide(Outcome is, std::string reason);

  // Returns the share of blind elements among those that are not 0, or 0 if it is unknown.
  double blind_share() const;
};

// Options of judge(): what it computes besides the outcome, and the tensors that some standards
// need.
struct JudgeOptions {
  bool metrics = true;
  std::size_t worst = 5;      // number of the worst elements that are listed
  int threads = 0;            // 0 means default_threads(). The verdict does not depend on it
  bool blindness = true;      // find the blind elements of limits on statistics, by trial
  bool patterns = true;       // search after a failure for a change that would make the output pass
  bool mismatch_map = false;  // count the mismatches in each region of the output
  // Tensors that some standards need besides the output and the expected values, each of the
  // output's shape. Dual-benchmark standards need the output of a reference implementation.
  // `accumulation` and `expected_error` need a float64 bound for each element, and `expected_error`
  // needs the weights of the squared errors.
  std::optional<TensorView> reference_implementation = {}, element_bounds = {}, error_weights = {};
  // For outputs that are indices: the tensor that they point into, and the axis along which they
  // count. A negative axis counts from the last dimension.
  std::optional<TensorView> index_source = {};
  std::int64_t index_axis = -1;
};

// Judges `actual` against `expected` element by element. Shapes must agree, because nothing is
// broadcast. `expected` may have another, more precise dtype. Returns kNotComparable if the shapes
// differ. Throws std::invalid_argument if a view has no data, and Refusal if a tolerance is not at
// least 0.
Verdict judge(const TensorView& actual, const TensorView& expected, const Bound& bound,
              const JudgeOptions& options = {});

// Returns why shapes or dtypes leave nothing to compare, or an empty string if they can be
// compared.
std::string why_not_comparable(const TensorView& actual, const TensorView& expected);

// The reason of a pass without elements.
inline constexpr char kEmptyAllowed[] = "there are no elements, which is allowed";
// Decides the verdict of an output without elements: it is trusted only if the bound allows it.
Verdict& decide_without_elements(Verdict& verdict);

// Returns a verdict that says why there was nothing to compare.
Verdict not_comparable(std::string because);

// Returns the notes of a verdict for its reader. The first one says to what the check is blind, if
// that is at least one percent. The verdict's own notes follow.
std::vector<std::string> notes_of(const Verdict& verdict);

// Returns the worse of two outcomes: kFail, then kNotComparable, then kUntrusted, then kPass.
Outcome worse(Outcome a, Outcome b);
// Returns the worst outcome of all verdicts, or kNotComparable if there are no verdicts.
Outcome worst_outcome(const std::vector<Verdict>& verdicts);

}  // namespace assay
