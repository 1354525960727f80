// Passes over the elements of an output, a benchmark's output or zeros, piece by piece: what the
// statistics of judge/statistic_table.h take of them where the metrics do not hold it exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/quad.h"
#include "assay/format/convert.h"
#include "assay/format/nearest.h"
#include "assay/judge/exact.h"
#include "assay/judge/parts.h"
#include "assay/judge/statistic_table.h"

namespace assay {

// Whose values are held against the expected ones.
enum class StatisticSubject : std::uint8_t { kOutput, kBenchmark, kZeros };

// What there is to judge. Of the benchmark and of zeros the elements count at which the output and
// the expected value are finite.
struct SubjectTensors : StatisticsPiece {
  SubjectTensors(const StatisticsPiece& piece, bool rounds_expected)
      : StatisticsPiece(piece), rounds(rounds_expected) {}
  bool rounds;  // the expected values, to the output's format

  const Format& format() const { return *actual.format; }

  // The output and the expected values where they lie, if the subject is the output and both are
  // float32 in a row; else null.
  std::pair<const float*, const float*> floats(StatisticSubject subject) const {
    const float* const values = floats_in_place(actual);
    const float* const e = floats_in_place(expected);
    const bool are = subject == StatisticSubject::kOutput && values != nullptr && e != nullptr;
    return are ? std::pair(values, e) : std::pair<const float*, const float*>();
  }

  // `values` of the subject, `expected` as compared, `rounded` to the output's format (for ulps;
  // null where nobody asks for them). The position of an element where the benchmark is not finite
  // and has to be, else -1.
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
    if (subject == StatisticSubject::kBenchmark) benchmark->read(first, count, other);
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

// All of it, piece by piece.
struct SubjectPieces {
  const Format& format;  // of the output
  const StatisticsPieces& pass;
  bool rounds;
  const std::function<StatisticsSample()>& sample;

  // for_parts() over every piece; `run` is given the piece as well.
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

// Calls add(zeros, rounded, n) for a block of elements after another, of `most` elements at most,
// until enough() says so: zeros where output and expected value are finite, else NaN, and the
// expected values in the output's format.
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

// How many units in the last place of the format lie between two of its values; of an integer
// format their difference, also where it does not hold them. Infinity where there is no such
// distance.
double ulps_apart(const Format& format, double a, double b);

// Whether so many elements are finite on both sides and have an expected value, rounded to the
// output's format where `rounded` says so, larger in size than `within` that are_enough(count) says
// so: among the first ones, `most` at most.
bool first_ones_exceed(const SubjectPieces& pieces, std::int64_t most, double within, bool rounded,
                       const std::function<bool(std::int64_t)>& are_enough);

// Whether count_elements() counts what a limit counts by a kernel: ulps, of a format that has them
// by order.
bool counts_by_kernel(const Limit& limit, const Format& output);
// How many elements of a subject the limit counts: from the metrics where they hold it exactly.
std::int64_t count_elements(const SubjectPieces& pieces, StatisticSubject subject,
                            const Metrics& metrics, const Limit& limit, int threads);
// sum w (value - e)^2 of the output or of zeros, over the elements that are finite.
double weighted_squares(const SubjectPieces& pieces, StatisticSubject subject, int threads);
// Decides which elements have a part in error_bias(): those whose expected value has all digits in
// the format.
struct ErrorBiasRule {
  explicit ErrorBiasRule(const Format& format);
  bool counts(double expected) const {
    return std::abs(expected) >= least && std::abs(expected) <= most;
  }
  NearestRounding ulps;
  double least, most;
};
// The mean, without its sign, of sign(e) (value - e) / ulp(e) of the output or of zeros, in ulps of
// the output's format. ErrorBiasRule says which elements count, each
// with the weight w ulp(e)^2.
double error_bias(const SubjectPieces& pieces, StatisticSubject subject, int threads);
// sum (value - e)^2 / sum value^2 of the output.
double normalised_squares(const SubjectPieces& pieces, int threads);
// Largest and sum of the relative errors of the output.
std::pair<double, Quad> relative_errors(const SubjectPieces& pieces, int threads);
// The largest |(e + 0.3) - 0.3 - e| in the output's format, a float32 operation rounded to it.
double rounding_of_expected(const SubjectPieces& pieces, int threads);
// From so many elements on a sample tells where a quantile of their errors lies.
inline constexpr std::int64_t kSampledFrom = std::int64_t{1} << 18;
inline bool is_quantile(Statistic statistic) {
  return statistic == Statistic::kQuantileAbs || statistic == Statistic::kQuantileRelative;
}
// What a pass over the output is to keep for the limits on quantiles of its errors.
std::vector<QuantileErrors> quantiles_for(const SubjectPieces& pieces, std::int64_t elements,
                                          std::span<const Limit> limits, int threads);
// The quantile of the errors of a subject, between two of them by linear interpolation. `output`:
// the metrics of the output, of whose errors they tell where it lies; `pass`: the one that took
// them, where it kept what quantiles_for() says, else null.
double error_quantile(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                      const Limit& limit, const Metrics& output, const MetricsPass* pass);

}  // namespace assay
