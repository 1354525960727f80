// Passes over the elements of an output, a reference implementation's output or zeros, piece by
// piece. They compute the statistics of judge/statistic_table.h that the metrics do not hold
// exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/quad.h"
#include "assay/format/nearest.h"
#include "assay/judge/exact.h"
#include "assay/judge/parts.h"
#include "assay/judge/statistic_table.h"

namespace assay::inline v0_2 {

// Says whose values are compared with the expected ones.
enum class StatisticSubject : std::uint8_t { kOutput, kReference, kZeros };

// The tensors of a piece. For the subjects kReference and kZeros, only the elements count at which
// the output and the expected value are finite.
struct SubjectTensors : StatisticsPiece {
  SubjectTensors(const StatisticsPiece& piece, bool rounds_expected)
      : StatisticsPiece(piece), rounds(rounds_expected) {}
  bool rounds;  // round the expected values to the output's format

  const Format& format() const { return *actual.format; }

  // Returns the output and the expected values in place if the subject is the output and both are
  // contiguous float32. Returns null pointers if not.
  std::pair<const float*, const float*> floats(StatisticSubject subject) const {
    const float* const values = floats_in_place(actual);
    const float* const e = floats_in_place(expected);
    const bool are = subject == StatisticSubject::kOutput && values != nullptr && e != nullptr;
    return are ? std::pair(values, e) : std::pair<const float*, const float*>();
  }

  // Reads `values` of the subject and `e`, the expected values as compared. If `rounded` is not
  // null, it gets the expected values in the output's format, for ulps. Values of elements that do
  // not count become NaN. Returns the first position at which the reference implementation is not
  // finite but must be, or -1.
  std::int64_t read(StatisticSubject subject, std::int64_t first, std::int64_t count,
                    double* values, double* e, double* rounded) const {
    const auto n = static_cast<std::size_t>(count);
    actual.read(first, count, values);
    expected.read(first, count, e);
    if (rounds && expected.format != &format()) round_expected(format(), e, n);
    if (rounded != nullptr) {
      std::memcpy(rounded, e, n * sizeof(double));
      if (!rounds && expected.format != &format()) round_expected(format(), rounded, n);
    }
    if (subject == StatisticSubject::kOutput) return -1;
    double other[kMetricsBlock] = {};
    if (subject == StatisticSubject::kReference)
      reference_implementation->read(first, count, other);
    std::int64_t broken = -1;
    for (std::size_t i = 0; i < n; ++i) {
      const bool counts = std::isfinite(values[i]) && std::isfinite(e[i]);
      values[i] = counts ? other[i] : kNan;
      if (counts && !std::isfinite(other[i]) && broken < 0) {
        broken = first + static_cast<std::int64_t>(i);
      }
    }
    return broken;
  }
};

// All tensors, piece by piece.
struct SubjectPieces {
  const Format& format;  // of the output
  const StatisticsPieces& pass;
  bool rounds;
  const std::function<StatisticsSample()>& sample;

  // Calls for_parts() for every piece. `run` is also given the piece.
  template <typename Run, typename Take>
  void for_all_parts(int threads, const Run& run, const Take& take) const {
    pass([&](const StatisticsPiece& piece) {
      const SubjectTensors tensors(piece, rounds);
      for_parts(
          tensors.actual.size(), threads,
          [&](std::int64_t begin, std::int64_t end) { return run(tensors, begin, end); }, take);
    });
  }
};

// Calls add(zeros, rounded, n) for one block of elements after another, for at most `most`
// elements, until enough() returns true. `zeros` is 0 if the output and the expected value are
// finite, and NaN if not. `rounded` holds the expected values in the output's format.
template <typename Add, typename Enough>
void for_first_blocks(const SubjectPieces& pieces, std::int64_t most, const Add& add,
                      const Enough& enough) {
  pieces.pass([&](const StatisticsPiece& piece) {
    const SubjectTensors tensors(piece, pieces.rounds);
    const std::int64_t size = std::min(piece.actual.size(), most - piece.begin);
    double zeros[kMetricsBlock], e[kMetricsBlock], rounded[kMetricsBlock];
    for (std::int64_t first = 0; first < size && !enough(); first += kMetricsBlock) {
      const std::int64_t n = std::min(kMetricsBlock, size - first);
      tensors.read(StatisticSubject::kZeros, first, n, zeros, e, rounded);
      add(zeros, rounded, n);
    }
  });
}

// Returns the distance of two values of a format in units in the last place. For an integer format
// this is their difference, even if the format cannot hold them. Infinity if there is no such
// distance.
double ulps_apart(const Format& format, double a, double b);

// True if enough of the first elements, at most `most`, are large. Counts the elements that are
// finite on both sides and whose expected value is larger in size than `within`. are_enough(count)
// decides. If `rounded` is true, the expected value is first rounded to the output's format.
bool first_ones_exceed(const SubjectPieces& pieces, std::int64_t most, double within, bool rounded,
                       const std::function<bool(std::int64_t)>& are_enough);

// True if count_elements() counts by a kernel: the limit is on ulps, and the order of the format's
// values gives its ulps.
bool counts_by_kernel(const Limit& limit, const Format& output);
// Returns how many elements of a subject the limit counts. Reads the number from the metrics if
// they hold it exactly.
std::int64_t count_elements(const SubjectPieces& pieces, StatisticSubject subject,
                            const Metrics& metrics, const Limit& limit, int threads);
// Returns sum w (value - e)^2 of the output or of zeros, over the elements that are finite.
double weighted_squares(const SubjectPieces& pieces, StatisticSubject subject, int threads);
// Says which elements count in error_bias(): those whose expected value is a normal number of the
// format.
struct ErrorBiasRule {
  explicit ErrorBiasRule(const Format& format);
  bool counts(double expected) const {
    return std::abs(expected) >= least && std::abs(expected) <= most;
  }
  NearestRounding ulps;
  double least, most;
};
// Returns the weighted mean of sign(e) (value - e) / ulp(e) of the output or of zeros, without its
// sign, in ulps of the output's format. Only the elements that ErrorBiasRule selects count, each
// with the weight w ulp(e)^2.
double error_bias(const SubjectPieces& pieces, StatisticSubject subject, int threads);
// Returns sum (value - e)^2 / sum value^2 of the output.
double normalised_squares(const SubjectPieces& pieces, int threads);
// Returns the largest relative error of the output and the sum of all.
std::pair<double, Quad> relative_errors(const SubjectPieces& pieces, int threads);
// Returns the largest |(e + 0.3) - 0.3 - e| in the output's format. Each operation is rounded to
// it.
double rounding_of_expected(const SubjectPieces& pieces, int threads);
// If there are at least this many elements, a sample shows where a quantile of their errors lies.
inline constexpr std::int64_t kSampledFrom = std::int64_t{1} << 18;
inline bool is_quantile(Statistic statistic) {
  return statistic == Statistic::kQuantileAbs || statistic == Statistic::kQuantileRelative;
}
// Returns what a pass over the output must keep for the limits on quantiles of its errors.
std::vector<QuantileErrors> quantiles_for(const SubjectPieces& pieces, std::int64_t elements,
                                          std::span<const Limit> limits, int threads);
// Returns the quantile of the errors of a subject, by linear interpolation between two of them.
// `output` has the metrics of the output, which help to find the quantile. `pass` is the pass that
// computed them, if it kept what quantiles_for() returned, or null.
double error_quantile(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                      const Limit& limit, const Metrics& output, const MetricsPass* pass);

}  // namespace assay
