// The one judge: every check gives a Verdict, and every surface (matcher, command line, CTest,
// JUnit, JSON, HTML) shows that same verdict.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/judge/bound.h"
#include "assay/judge/location.h"
#include "assay/judge/metrics.h"
#include "assay/tensor/tensor.h"

namespace assay {

enum class Outcome : std::uint8_t {
  kPass,
  kFail,
  kUntrusted,      // the check could not have failed, or could not have passed
  kNotComparable,  // shape, dtype or case missing
};
std::string_view outcome_word(Outcome outcome);

// An element outside its bound.
struct Miss {
  std::int64_t linear = 0;  // row-major
  std::vector<std::int64_t> index;
  std::uint64_t actual_bits = 0, expected_bits = 0;  // in the output's format
  double actual = 0, expected = 0;                   // as compared
  double error = 0, bound = 0;
  // Whether `expected` is an integer that the output's format does not hold; expected_bits are
  // then those of the nearest one.
  bool expected_is_beyond = false;
  std::optional<std::uint64_t> ulps;  // empty where either is NaN, and of complex elements
  // Of complex elements: the imaginary parts. Those above are the real ones, but for error and
  // bound, which are of magnitudes.
  struct Part {
    std::uint64_t actual_bits = 0, expected_bits = 0;
    double actual = 0, expected = 0;
  };
  std::optional<Part> imaginary = {};
};

// One test of draws against their law (judge/draw_distribution.h).
struct DrawTest {
  std::string name;
  double statistic = 0;
  double p_value = 1;  // the law gives a statistic as far off with this probability at most
  double limit = 0;    // below this p-value the test fails
  bool passed = true;
  std::string words = {};
};

struct Verdict {
  Outcome outcome = Outcome::kPass;
  std::int64_t sites = 0, misses = 0;
  std::int64_t forgiven = 0;        // misses that the standard's budget allows
  std::int64_t special_misses = 0;  // of the misses, those where NaN or infinity is in the way
  double worst_ratio =
      0;  // largest error / bound; infinite where the bound is 0 or a special missed
  // Elements whose expected value is finite and not 0, and how many of them are blind: an output in
  // which all of these were 0 would pass as well. Found by trial where statistics are limited (the
  // smallest elements become 0 first; of a large tensor a sample is tried); empty where that is not
  // known.
  std::int64_t nonzero = 0;
  std::optional<std::int64_t> blind = {};
  std::vector<Miss> worst;  // the largest ratios first
  std::optional<Metrics> metrics;
  std::vector<LimitReading> readings = {};  // of the bound's limits
  std::vector<DrawTest> tests = {};         // of draws, where the bound is a law
  std::string because;                      // the verdict in words, one line
  bool same_data = false;                   // the output is the golden result, the same bytes
  // The pattern of a failure: where its misses lie, and which cause explains them
  // (judge/pattern.h). Empty if there is none.
  std::string where;
  bool explained = false;                // whether `where` names a cause
  std::optional<MissMap> miss_map = {};  // where JudgeOptions asks for it, and elements missed
  std::vector<std::string> notes = {};   // what else a reader should know
  Bound bound;
  const Format* format = nullptr;  // of the actual output
  Shape shape;

  double blind_share() const;  // of the elements that are not 0; 0 where it is not known
};

struct JudgeOptions {
  bool metrics = true;
  std::size_t worst = 5;  // elements listed
  int threads = 0;        // 0: default_threads(); the verdict never depends on it
  bool blindness = true;  // find the blind elements of limits on statistics, which takes a trial
  bool patterns = true;   // after a failure, look for a change of the output that would mend it
  bool miss_map = false;  // count where the misses lie
  // What some standards need besides the two tensors, each of the output's shape: the output of a
  // benchmark (dual-benchmark standards), float64 bounds of each element (accumulation,
  // expected_error), and the weights of its squared error (expected_error).
  std::optional<TensorView> benchmark = {}, element_bounds = {}, error_weights = {};
  // Of indices: the tensor that they point into, and along which axis; below 0 from the last on.
  std::optional<TensorView> index_source = {};
  std::int64_t index_axis = -1;
};

// Judges `actual` against `expected` element by element. Shapes must agree and nothing broadcasts;
// `expected` may have another, more precise dtype. Never throws on a numeric result: shapes that
// differ give kNotComparable.
Verdict judge(const TensorView& actual, const TensorView& expected, const Bound& bound,
              const JudgeOptions& options = {});

// Why shapes or dtypes leave nothing to compare; empty where they do not.
std::string why_not_comparable(const TensorView& actual, const TensorView& expected);

// A verdict that says why there was nothing to compare.
Verdict not_comparable(std::string because);

// The notes of a verdict for its reader: to what the check is blind, if that is one percent or
// more, then the verdict's own notes.
std::vector<std::string> notes_of(const Verdict& verdict);

// The worse of two outcomes: fail, then not_comparable, then untrusted, then pass.
Outcome worse(Outcome a, Outcome b);
// The worst of all; not_comparable where there is none.
Outcome worst_outcome(const std::vector<Verdict>& verdicts);

}  // namespace assay
