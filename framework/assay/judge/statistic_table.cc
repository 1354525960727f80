#include "assay/judge/statistic_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/quad.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/exact.h"
#include "assay/judge/subject_passes.h"

namespace assay::inline v0_2 {
namespace {

// The metrics of a subject. `broken` is the position of an element at which the reference
// implementation is not finite but must be, or -1.
struct Measured {
  Metrics metrics;
  double expected_rms = 0;
  std::int64_t broken = -1;
};

Measured measured(const MetricsPass& pass) {
  return {.metrics = pass.finite_result(), .expected_rms = pass.expected_rms()};
}

// Measures the elements whose expected value is at least `from` in size.
Measured measure(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                 double from = 0) {
  // No error exceeds this bound, so the pass does not look for mismatches.
  static const Bound kAnything = [] {
    Bound bound;
    bound.rule = Rule::kStatistics;
    bound.atol = std::numeric_limits<double>::max();
    return bound;
  }();
  struct MeasuredPart {
    std::optional<MetricsPass> pass;
    std::int64_t broken = -1;
  };
  std::optional<MetricsPass> sum;
  std::int64_t broken = -1;
  pieces.for_all_parts(
      threads,
      [&](const SubjectTensors& tensors, std::int64_t begin, std::int64_t end) {
        MeasuredPart part;
        part.pass.emplace(tensors.format(), kAnything);
        double values[kMetricsBlock], e[kMetricsBlock], rounded[kMetricsBlock];
        IntegerErrors errors;
        for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
          const std::int64_t count = std::min(kMetricsBlock, end - first);
          const auto n = static_cast<std::size_t>(count);
          const std::int64_t at = tensors.read(subject, first, count, values, e, rounded);
          if (part.broken < 0 && at >= 0) part.broken = tensors.begin + at;
          for (std::size_t i = 0; from > 0 && i < n; ++i) {
            if (!(std::abs(e[i]) >= from)) values[i] = kNan;
          }
          const bool exact = from == 0 && subject == StatisticSubject::kOutput &&
                             exact_errors(tensors.actual, tensors.expected, first, n, errors);
          part.pass->add(values, e, rounded, n, tensors.begin + first, exact ? &errors : nullptr);
        }
        part.pass->finish();
        return part;
      },
      [&](MeasuredPart& part) {
        if (broken < 0) broken = part.broken;
        if (sum)
          sum->merge(*part.pass);
        else
          sum = std::move(part.pass);
      });
  Measured result = sum ? measured(*sum) : Measured{};
  result.broken = broken;
  return result;
}

bool is_relative(Statistic statistic) {
  return statistic == Statistic::kMaxRelative || statistic == Statistic::kMeanRelative;
}

// Computes statistics of the output, and of the two trivial outputs that every sound check refuses:
// zeros, and the negated expected values.
class Statistics {
 public:
  // `pass` is the pass that measured the output, or null.
  Statistics(const SubjectPieces& pieces, int threads, const MetricsPass* pass, Measured output,
             std::optional<Measured> reference_implementation)
      : pieces_(pieces),
        threads_(threads),
        pass_(pass),
        output_(std::move(output)),
        reference_(std::move(reference_implementation)) {}

  double of_output(const Limit& limit) {
    if (output_.metrics.compared == 0) return 0;
    if (limit.needs_weights()) {
      return weighted(limit.statistic, StatisticSubject::kOutput, 1);
    }
    if (limit.row().of_large != nullptr) return large_ratio(limit, StatisticSubject::kOutput, 1);
    if (is_relative(limit.statistic) && output_.metrics.errors_at_zero > 0) {
      const auto [largest, sum] = relative_errors(pieces_, threads_);
      if (limit.statistic == Statistic::kMaxRelative) return largest;
      return static_cast<double>(sum / static_cast<Quad>(output_.metrics.compared));
    }
    if (limit.statistic == Statistic::kNmse) return normalised_squares(pieces_, threads_);
    if (limit.statistic == Statistic::kNoiseRatio) return over_noise(output_.metrics, 1);
    if (is_quantile(limit.statistic)) return quantile(limit, StatisticSubject::kOutput);
    if (limit.row().counted != nullptr) return share(limit, count_of_output(limit));
    return read(limit, output_.metrics);
  }

  // Returns the statistic of a trivial output, whose errors are `times` the expected values: zeros
  // if `times` is 1, and the negated expected values if it is 2.
  double of_trivial(const Limit& limit, int times) {
    if (const auto known = of_trivial_from_sums(limit, times)) return *known;
    if (limit.needs_weights()) {
      return weighted(limit.statistic, StatisticSubject::kZeros, times);
    }
    if (limit.row().of_large != nullptr) return large_ratio(limit, StatisticSubject::kZeros, times);
    if (is_quantile(limit.statistic)) return times * quantile(limit, StatisticSubject::kZeros);
    if (!zeros_) zeros_ = measure(pieces_, StatisticSubject::kZeros, threads_);
    if (limit.statistic == Statistic::kNoiseRatio) return over_noise(zeros_->metrics, times);
    if (limit.row().counted == nullptr) return times * read(limit, zeros_->metrics);
    // Counting errors that are twice as large means counting these at half the size.
    Limit scaled = limit;
    (limit.statistic == Statistic::kSmallErrors ? scaled.second : scaled.parameter) /= times;
    return share(limit, count_elements(pieces_, StatisticSubject::kZeros, zeros_->metrics, scaled,
                                       threads_));
  }

  // True if the first elements of a trivial output, about an eighth of all, already break a limit
  // on ulps or on a quantile. The other elements cannot change that, because sums and counts only
  // grow.
  bool trivial_fails_early(const Limit& limit, int times) const {
    const bool is_most = limit.how() == LimitSense::kBelow || limit.how() == LimitSense::kAtMost;
    const std::int64_t elements = output_.metrics.compared;
    if (!is_most || elements == 0) return false;
    const auto fails_mean = [&](double sum) {
      return !limit.met(sum / static_cast<double>(elements));
    };
    const std::int64_t most = std::max<std::int64_t>(elements / 8, kMetricsBlock);
    if (limit.statistic == Statistic::kMeanUlps) {
      double sum = 0;
      for_first_blocks(
          pieces_, most,
          [&](const double* zeros, const double* rounded, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i) {
              if (std::isnan(zeros[i])) continue;
              const double apart = ulps_apart(pieces_.format, 0, rounded[i]);
              sum += std::isfinite(apart) ? times * apart : 0;
            }
          },
          [&] { return fails_mean(sum); });
      return fails_mean(sum);
    }
    if (limit.statistic == Statistic::kShareUlps) {
      // The errors of the trivial output are `times` the expected values. So the share counts the
      // expected values that are more than this many ulps from zero.
      const double ulps = std::floor(limit.parameter / times);
      if (!(ulps < 0x1p53)) return false;
      const auto last = at_ordinal(pieces_.format, static_cast<std::int64_t>(ulps));
      return last && first_ones_exceed(pieces_, most, decode(pieces_.format, *last), true,
                                       [&](std::int64_t count) {
                                         return fails_mean(static_cast<double>(count));
                                       });
    }
    if (limit.statistic != Statistic::kQuantileAbs) return false;
    // The quantile exceeds its limit if all errors from its rank on do.
    const std::int64_t above = elements - QuantileRank(limit.parameter, elements).below;
    return first_ones_exceed(pieces_, most, limit.limit / times, false,
                             [&](std::int64_t count) { return count >= above; });
  }

  // Returns the number of elements that are finite on both sides and whose expected value is not 0.
  std::int64_t nonzero() const { return output_.metrics.relative; }

  // Returns the same statistic as of_trivial() if sums of the expected values, which the output's
  // metrics have, give it. Returns nothing if they do not.
  std::optional<double> of_trivial_from_sums(const Limit& limit, int times) const {
    return trivial_statistic(source(output_.metrics), times, limit.statistic, limit.parameter,
                             limit.second);
  }

 private:
  // Returns a weighted statistic for errors that are `times` those of the subject.
  double weighted(Statistic statistic, StatisticSubject subject, int times) const {
    if (statistic == Statistic::kErrorBias) return times * error_bias(pieces_, subject, threads_);
    return times * times * weighted_squares(pieces_, subject, threads_);
  }
  std::int64_t count_of_output(const Limit& limit) const {
    if (limit.statistic == Statistic::kShareUlps && pass_ != nullptr) {
      if (const auto known = pass_->over_ulps(limit.parameter)) return *known;
    }
    return count_elements(pieces_, StatisticSubject::kOutput, output_.metrics, limit, threads_);
  }

  StatisticSource source(const Metrics& metrics) const {
    return {.output = &metrics,
            .reference_implementation = reference_ ? &reference_->metrics : nullptr,
            .roundoff = unit_roundoff(pieces_.format),
            .expected_rms = output_.expected_rms};
  }

  double read(const Limit& limit, const Metrics& metrics) const {
    const auto value =
        read_statistic(source(metrics), limit.statistic, limit.parameter, limit.second);
    return value ? value->low : kInfinity;
  }

  // Returns `times` the error of a subject over the reference implementation's, for the elements
  // that are large enough.
  double large_ratio(const Limit& limit, StatisticSubject subject, int times) {
    const Metrics &own = large(subject, limit.parameter),
                  &other = large(StatisticSubject::kReference, limit.parameter);
    if (own.compared == 0) return 0;
    double Metrics::*const error = limit.row().of_large;
    return own.*error == 0 ? 0 : times * own.*error / std::max(other.*error, limit.parameter);
  }

  double quantile(const Limit& limit, StatisticSubject subject) {
    const auto [at, added] = quantiles_.try_emplace({subject, limit.statistic, limit.parameter});
    if (added) {
      at->second = error_quantile(pieces_, subject, threads_, limit, output_.metrics, pass_);
    }
    return at->second;
  }

  double over_noise(const Metrics& metrics, int times) {
    if (!noise_) {
      noise_ = 2 * reference_->metrics.max_abs_error + 2 * rounding_of_expected(pieces_, threads_);
    }
    return metrics.max_abs_error == 0 ? 0 : times * metrics.max_abs_error / *noise_;
  }

  const Metrics& large(StatisticSubject subject, double from) {
    const auto [at, added] = large_.try_emplace({subject, from});
    if (added) at->second = measure(pieces_, subject, threads_, from).metrics;
    return at->second;
  }

  // Returns a number of counted elements as a share of all, or of the reference implementation's
  // number.
  double share(const Limit& limit, std::int64_t count) const {
    std::int64_t of = output_.metrics.compared;
    if (limit.needs_reference()) {
      of = std::max<std::int64_t>(count_elements(pieces_, StatisticSubject::kReference,
                                                 reference_->metrics, limit, threads_),
                                  1);
    }
    return static_cast<double>(count) / static_cast<double>(of);
  }

  const SubjectPieces& pieces_;
  int threads_;
  const MetricsPass* pass_;
  Measured output_;
  std::optional<Measured> reference_, zeros_;
  std::map<std::pair<StatisticSubject, double>, Metrics> large_;
  std::map<std::tuple<StatisticSubject, Statistic, double>, double> quantiles_;
  std::optional<double> noise_;
};

// Returns the share of the elements, finite on both sides, to which the limits are blind.
double blind_share_of(const SubjectPieces& pieces, std::span<const Limit> limits) {
  const StatisticsSample sample = pieces.sample();
  std::vector<std::int64_t> finite;
  for (std::int64_t i = 0; i < sample.actual.size(); ++i) {
    if (std::isfinite(sample.actual.view().value_at(i)) &&
        std::isfinite(sample.expected.view().value_at(i))) {
      finite.push_back(i);
    }
  }
  const Tensor expected = elements_at(sample.expected, finite);
  std::optional<Tensor> reference_implementation;
  if (sample.reference_implementation) {
    reference_implementation = elements_at(*sample.reference_implementation, finite);
  }
  return blind_share_by_trial(expected, pieces.format, [&](const TensorView& output) {
    return judge_statistics(output, expected, reference_implementation, pieces.rounds, limits,
                            {.trivial = false, .blindness = false, .threads = 1})
        .met;
  });
}

// True if a trivial output meets every limit. The cheapest tests come first, because a limit that
// fails decides the result. `failed_early` has one entry for each limit. If the first elements of
// zeros break a limit, the negated expected values break it too, because their errors are twice as
// large.
bool trivial_holds(Statistics& statistics, std::span<const Limit> limits, int times,
                   std::vector<bool>& failed_early) {
  std::vector<LimitReading> readings;
  for (const Limit& limit : limits) readings.push_back({limit, 0, true});
  for (LimitReading& r : readings) {
    if (const auto known = statistics.of_trivial_from_sums(r.limit, times)) {
      r.met = r.limit.met(*known);
    }
  }
  if (!all_hold(readings)) return false;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    LimitReading& r = readings[i];
    if (!r.met) continue;
    if (!failed_early[i]) failed_early[i] = statistics.trivial_fails_early(r.limit, times);
    if (!failed_early[i]) continue;
    r.met = false;
    if (!all_hold(readings)) return false;
  }
  for (LimitReading& r : readings) {
    r.value = statistics.of_trivial(r.limit, times);
    r.met = r.limit.met(r.value);
  }
  return all_hold(readings);
}

// `other` holds the metrics of the reference implementation, if a limit needs them.
StatisticsResult judge_pieces(const SubjectPieces& pieces, std::span<const Limit> limits,
                              const StatisticsOptions& options, std::optional<Measured> other) {
  StatisticsResult result;
  // The pass was made over the expected values as stored. It is used only if rounding them to the
  // output's format changes nothing.
  const MetricsPass* const pass = options.metrics;
  const bool usable = pass != nullptr && (!pieces.rounds || !pass->expected_rounds());
  Statistics statistics(
      pieces, options.threads, usable ? pass : nullptr,
      usable ? measured(*pass) : measure(pieces, StatisticSubject::kOutput, options.threads),
      std::move(other));
  for (const Limit& limit : limits) {
    const double value = statistics.of_output(limit);
    result.readings.push_back({limit, value, limit.met(value)});
  }
  result.met = all_hold(result.readings);
  if (options.trivial) {
    std::vector<bool> failed_early(limits.size());
    result.trivial_met = trivial_holds(statistics, limits, 1, failed_early) ||
                         trivial_holds(statistics, limits, 2, failed_early);
  }
  result.worst_ratio = worst_ratio(result.readings);
  result.nonzero = statistics.nonzero();
  // If limits need weights, each element also has its own bound, which decides what is blind.
  if (options.blindness && !any_needs_weights(limits))
    result.blind_share = blind_share_of(pieces, limits);
  return result;
}

// Returns which metrics to compute for a limit, as bits of simd::MetricsPart. of_output() and
// of_trivial_from_sums() both read the limit's statistic from these metrics. Returns kAllParts if
// the part of the statistic's row is not enough.
unsigned parts_for(const Limit& limit, const Format& output, std::int64_t elements) {
  const unsigned parts = limit.row().parts;
  bool enough = true;
  if (parts == simd::kPartUlps) enough = counts_by_kernel(limit, output);
  if (is_quantile(limit.statistic)) enough = elements >= kSampledFrom;
  if (limit.statistic == Statistic::kShareRelative) {
    enough = limit.parameter == 1e-3 || limit.parameter == 1e-4;
  }
  return enough ? parts : unsigned{simd::kAllParts};
}

}  // namespace

MetricsRequest metrics_for(std::span<const Limit> limits, const TensorView& actual,
                           const TensorView& expected, bool round_expected, int threads) {
  MetricsRequest wanted{.parts = 0};
  for (const Limit& limit : limits) {
    wanted.parts |= parts_for(limit, *actual.format, actual.size());
  }
  if ((wanted.parts & simd::kPartTables) != 0) return {};
  const StatisticsPieces all = [&](const std::function<void(const StatisticsPiece&)>& take) {
    take({actual, expected});
  };
  const std::function<StatisticsSample()> no_sample;
  const SubjectPieces pieces{*actual.format, all,
                             round_expected && expected.format != actual.format, no_sample};
  wanted.quantiles = quantiles_for(pieces, actual.size(), limits, threads);
  return wanted;
}

StatisticsResult judge_statistics(const Format& actual, const Format& expected,
                                  const StatisticsPieces& pieces,
                                  const std::function<StatisticsSample()>& sample,
                                  bool round_expected, std::span<const Limit> limits,
                                  const StatisticsOptions& options) {
  const bool rounds = round_expected && &expected != &actual;
  return judge_pieces({actual, pieces, rounds, sample}, limits, options, std::nullopt);
}

StatisticsResult judge_statistics(const TensorView& actual, const TensorView& expected,
                                  const std::optional<TensorView>& reference_implementation,
                                  bool round_expected, std::span<const Limit> limits,
                                  const StatisticsOptions& options) {
  const auto refused = [](std::string why_not) {
    return StatisticsResult{.why_not = std::move(why_not)};
  };
  const bool compares = any_needs_reference(limits);
  if (compares && !reference_implementation) {
    return refused(
        "the standard compares with a reference implementation's output, but none is given; give "
        "one");
  }
  if (compares && reference_implementation->shape != expected.shape) {
    return refused(formatted(
        "the reference implementation's output has the shape {}, but the expected result has {}",
        shape_text(reference_implementation->shape), shape_text(expected.shape)));
  }
  const StatisticsPieces all = [&](const std::function<void(const StatisticsPiece&)>& take) {
    take({actual, expected, compares ? &*reference_implementation : nullptr,
          options.error_weights ? &*options.error_weights : nullptr, 0});
  };
  const std::function<StatisticsSample()> sample = [&] {
    const std::vector<std::int64_t> positions = sampled_positions(actual.size());
    StatisticsSample sampled{elements_at(actual, positions), elements_at(expected, positions)};
    if (compares)
      sampled.reference_implementation = elements_at(*reference_implementation, positions);
    return sampled;
  };
  const SubjectPieces pieces{*actual.format, all,
                             round_expected && expected.format != actual.format, sample};
  std::optional<Measured> other;
  if (compares) {
    other = measure(pieces, StatisticSubject::kReference, options.threads);
    if (other->broken >= 0) {
      return refused(
          formatted("the reference implementation's output is {} at position {}, where a finite "
                    "value is expected",
                    number_text(reference_implementation->value_at(other->broken)), other->broken));
    }
  }
  if (any_needs_weights(limits) &&
      (!options.error_weights || options.error_weights->shape != expected.shape)) {
    return refused(
        "the standard needs the expected error of each element, which is computed from the case's "
        "operands; give a case with operands");
  }
  return judge_pieces(pieces, limits, options, std::move(other));
}

}  // namespace assay
