#include "assay/judge/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/quad.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/blindness.h"
#include "assay/judge/exact.h"
#include "assay/judge/parts.h"

namespace assay {
namespace {

// Whose values are held against the expected ones.
enum class Subject : std::uint8_t { kOutput, kBenchmark, kZeros };

// What there is to judge. Of the benchmark and of zeros the elements count at which the output and
// the expected value are finite.
struct Tensors : StatisticsPiece {
  Tensors(const StatisticsPiece& piece, bool rounds_expected)
      : StatisticsPiece(piece), rounds(rounds_expected) {}
  bool rounds;  // the expected values, to the output's format

  const Format& format() const { return *actual.format; }

  // `values` of the subject, `expected` as compared, `rounded` to the output's format (for ulps).
  // The position of an element where the benchmark is not finite and has to be, else -1.
  std::int64_t read(Subject subject, std::int64_t first, std::int64_t count, double* values,
                    double* e, double* rounded) const {
    const auto n = static_cast<std::size_t>(count);
    actual.read(first, count, values);
    expected.read(first, count, e);
    std::memcpy(rounded, e, n * sizeof(double));
    if (expected.format != &format()) round_array(format(), rounded, n);
    if (rounds) std::memcpy(e, rounded, n * sizeof(double));
    if (subject == Subject::kOutput) return -1;
    double other[kMetricsBlock] = {};
    if (subject == Subject::kBenchmark) benchmark->read(first, count, other);
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
struct Pieces {
  const Format& format;  // of the output
  const StatisticsPieces& pass;
  bool rounds;
  const std::function<StatisticsSample()>& sample;

  // for_parts() over every piece; `run` is given the piece as well.
  template <typename Run, typename Take>
  void for_all_parts(int threads, const Run& run, const Take& take) const {
    pass([&](const StatisticsPiece& piece) {
      const Tensors tensors(piece, rounds);
      for_parts(
          tensors.actual.size(), threads,
          [&](std::int64_t begin, std::int64_t end) { return run(tensors, begin, end); }, take);
    });
  }
};

// A subject's metrics; where the benchmark is not finite and has to be, else -1.
struct Measured {
  Metrics metrics;
  double expected_rms = 0;
  std::int64_t broken = -1;
};

Measured measured(const MetricsPass& pass) {
  return {.metrics = pass.finite_result(), .expected_rms = pass.expected_rms()};
}

// Of the elements whose expected value is at least `from` in size.
Measured measure(const Pieces& pieces, Subject subject, int threads, double from = 0) {
  // No error exceeds this bound, so that the pass looks for none.
  static const Bound kAnything = [] {
    Bound bound;
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
      [&](const Tensors& tensors, std::int64_t begin, std::int64_t end) {
        MeasuredPart part;
        part.pass.emplace(tensors.format(), kAnything);
        double values[kMetricsBlock], e[kMetricsBlock], rounded[kMetricsBlock],
            errors[kMetricsBlock];
        for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
          const std::int64_t count = std::min(kMetricsBlock, end - first);
          const auto n = static_cast<std::size_t>(count);
          const std::int64_t at = tensors.read(subject, first, count, values, e, rounded);
          if (part.broken < 0 && at >= 0) part.broken = tensors.begin + at;
          for (std::size_t i = 0; from > 0 && i < n; ++i) {
            if (!(std::abs(e[i]) >= from)) values[i] = kNan;
          }
          const bool exact = from == 0 && subject == Subject::kOutput &&
                             exact_errors(tensors.actual, tensors.expected, first, n, errors);
          part.pass->add(values, e, rounded, n, tensors.begin + first, exact ? errors : nullptr);
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

// Whether an element is one that the limit counts; e is the expected value, `rounded` in the
// output's format.
bool counts(const Limit& limit, const Format& format, double value, double e, double rounded) {
  const double error = std::abs(value - e), size = std::abs(e);
  switch (limit.statistic) {
    case Statistic::kShareRelative:
      return error != 0 && !(error / size < limit.parameter);
    case Statistic::kShareUlps: {
      if (error == 0) return 0 > limit.parameter;
      const auto distance = ulp_distance(format, encode(format, value), encode(format, rounded));
      return (distance ? static_cast<double>(*distance) : kInfinity) > limit.parameter;
    }
    case Statistic::kSmallErrors:
      return size < limit.parameter && error > limit.second;
    case Statistic::kShareAbs:
      return error > limit.parameter;
    default:
      return false;
  }
}

// Calls add(part, format, value, e, rounded) for the elements of a subject at which
// output and expected value are finite, and take(part) for each part in order.
template <typename Part, typename Add, typename Take>
void for_elements(const Pieces& pieces, Subject subject, int threads, const Add& add,
                  const Take& take) {
  pieces.for_all_parts(
      threads,
      [&](const Tensors& tensors, std::int64_t begin, std::int64_t end) {
        Part part{};
        double values[kMetricsBlock], e[kMetricsBlock], rounded[kMetricsBlock];
        for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
          const std::int64_t n = std::min(kMetricsBlock, end - first);
          tensors.read(subject, first, n, values, e, rounded);
          for (std::int64_t i = 0; i < n; ++i) {
            if (!std::isfinite(values[i]) || !std::isfinite(e[i])) continue;
            add(part, tensors.format(), values[i], e[i], rounded[i]);
          }
        }
        return part;
      },
      take);
}

// How many elements of a subject the limit counts: from the metrics where they hold it exactly.
std::int64_t count_elements(const Pieces& pieces, Subject subject, const Metrics& metrics,
                            const Limit& limit, int threads) {
  const auto known = counted(metrics, limit.statistic, limit.parameter, limit.second);
  if (known && known->first == known->second) return known->first;
  std::int64_t sum = 0;
  for_elements<std::int64_t>(
      pieces, subject, threads,
      [&](std::int64_t& count, const Format& format, double value, double e, double rounded) {
        count += counts(limit, format, value, e, rounded) ? 1 : 0;
      },
      [&](std::int64_t count) { sum += count; });
  return sum;
}

// sum w (value - e)^2 of the output or of zeros, over the elements that are finite.
double weighted_squares(const Pieces& pieces, Subject subject, int threads) {
  double sum = 0;
  pieces.for_all_parts(
      threads,
      [&](const Tensors& tensors, std::int64_t begin, std::int64_t end) {
        double part = 0, values[kMetricsBlock], e[kMetricsBlock], rounded[kMetricsBlock],
               w[kMetricsBlock];
        for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
          const std::int64_t n = std::min(kMetricsBlock, end - first);
          tensors.read(subject, first, n, values, e, rounded);
          tensors.error_weights->read(first, n, w);
          for (std::int64_t i = 0; i < n; ++i) {
            const double error = values[i] - e[i];
            if (std::isfinite(error)) part += w[i] * error * error;
          }
        }
        return part;
      },
      [&](double part) { sum += part; });
  return sum;
}

// A sum in double-double arithmetic, of terms that have no room there in binary128.
class WideSum {
 public:
  void add(double term) {
    if (has_room(term, 0x1p800)) {
      ordinary_ = ordinary_ + term;
    } else {
      extreme_ += Quad{term};
    }
  }
  // (x - y)^2
  void add_square(double x, double y) {
    if (has_room(x - y, 0x1p400)) {
      const DoubleDouble difference = exact_sum(x, -y);
      ordinary_ = ordinary_ + difference * difference;
    } else {
      const Quad difference = Quad{x} - y;
      extreme_ += difference * difference;
    }
  }
  void add(const WideSum& other) {
    ordinary_ = ordinary_ + other.ordinary_;
    extreme_ += other.extreme_;
  }
  Quad value() const { return Quad{ordinary_.high} + ordinary_.low + extreme_; }

 private:
  // Of a size between 1 / most and most.
  static bool has_room(double x, double most) {
    const double size = std::abs(x);
    return size == 0 || (size > 1 / most && size < most);
  }

  DoubleDouble ordinary_;
  Quad extreme_ = 0;
};

// sum (value - e)^2 / sum value^2 of the output.
double normalised_squares(const Pieces& pieces, int threads) {
  struct Sums {
    WideSum errors, values;
  } sums;
  for_elements<Sums>(
      pieces, Subject::kOutput, threads,
      [](Sums& part, const Format&, double value, double e, double) {
        part.errors.add_square(value, e);
        part.values.add_square(value, 0);
      },
      [&](const Sums& part) {
        sums.errors.add(part.errors);
        sums.values.add(part.values);
      });
  const Quad errors = sums.errors.value();
  return errors == 0 ? 0 : static_cast<double>(errors / sums.values.value());
}

// |value - expected| over the size of what is expected; where that is 0, over the spacing of
// float64 at 1, as Polygraphy does.
double relative_error(double value, double e) {
  const double error = std::abs(value - e);
  return error == 0 ? 0 : error / (e == 0 ? 0x1p-52 : std::abs(e));
}

// Largest and sum of the relative errors of the output.
std::pair<double, Quad> relative_errors(const Pieces& pieces, int threads) {
  std::pair<double, WideSum> all;
  for_elements<std::pair<double, WideSum>>(
      pieces, Subject::kOutput, threads,
      [](auto& part, const Format&, double value, double e, double) {
        const double error = relative_error(value, e);
        part.first = std::max(part.first, error);
        part.second.add(error);
      },
      [&](const auto& part) {
        all.first = std::max(all.first, part.first);
        all.second.add(part.second);
      });
  return {all.first, all.second.value()};
}

// The largest |(e + 0.3) - 0.3 - e| in the output's format, a float32 operation rounded to it.
double rounding_of_expected(const Pieces& pieces, int threads) {
  double largest = 0;
  for_elements<double>(
      pieces, Subject::kOutput, threads,
      [&](double& part, const Format&, double, double, double e) {
        constexpr float kShift = 0.3F;
        const auto rounded = [&](double value) { return round_to(pieces.format, value); };
        const double there = rounded(e + static_cast<double>(kShift));
        const double back = rounded(there - static_cast<double>(kShift));
        const double off = std::abs(rounded(back - e));
        if (off > part) part = off;
      },
      [&](double part) { largest = std::max(largest, part); });
  return largest;
}

// The n-th smallest error of a subject, the smallest being the 0th. Errors are not negative, so
// that their bits have their order; 16 bits are found a pass, and memory does not grow with the
// elements.
template <typename ErrorOf>
double select_error(const Pieces& pieces, Subject subject, int threads, std::int64_t n,
                    const ErrorOf& error_of) {
  constexpr int kBits = 16;
  std::uint64_t prefix = 0;
  for (int shift = 64 - kBits; shift >= 0; shift -= kBits) {
    std::vector<std::int64_t> counts(std::size_t{1} << kBits);
    for_elements<std::vector<std::int32_t>>(
        pieces, subject, threads,
        [&](std::vector<std::int32_t>& part, const Format&, double value, double e, double) {
          const auto bits = std::bit_cast<std::uint64_t>(error_of(value, e));
          if (shift + kBits < 64 && bits >> (shift + kBits) != prefix) return;
          if (part.empty()) part.resize(counts.size());
          ++part[bits >> shift & (counts.size() - 1)];
        },
        [&](const std::vector<std::int32_t>& part) {
          for (std::size_t digit = 0; digit < part.size(); ++digit) counts[digit] += part[digit];
        });
    std::uint64_t digit = 0;
    while (digit + 1 < counts.size() && n >= counts[digit]) n -= counts[digit++];
    prefix = prefix << kBits | digit;
  }
  return std::bit_cast<double>(prefix);
}

// The quantile of the errors of a subject, between two of them by linear interpolation.
double error_quantile(const Pieces& pieces, Subject subject, int threads, const Limit& limit,
                      std::int64_t elements) {
  const bool relative = limit.statistic == Statistic::kQuantileRelative;
  const auto error_of = [relative](double value, double e) {
    return relative ? relative_error(value, e) : std::abs(value - e);
  };
  const double rank = limit.parameter * static_cast<double>(elements - 1);
  const auto below = static_cast<std::int64_t>(std::floor(rank));
  const double low = select_error(pieces, subject, threads, below, error_of);
  const double part = rank - static_cast<double>(below);
  if (part == 0) return low;
  const double high = select_error(pieces, subject, threads, below + 1, error_of);
  return high == low ? low : low + part * (high - low);
}

bool counts_elements(Statistic statistic) {
  return statistic == Statistic::kShareRelative || statistic == Statistic::kShareUlps ||
         statistic == Statistic::kSmallErrors || statistic == Statistic::kShareAbs;
}

bool is_relative(Statistic statistic) {
  return statistic == Statistic::kMaxRelative || statistic == Statistic::kMeanRelative;
}

bool is_quantile(Statistic statistic) {
  return statistic == Statistic::kQuantileAbs || statistic == Statistic::kQuantileRelative;
}

bool is_of_large(Statistic statistic) {
  return statistic == Statistic::kLargeMareRatio || statistic == Statistic::kLargeMereRatio ||
         statistic == Statistic::kLargeRmseRatio;
}

// The statistics of the output, and of the two subjects that every sound check refuses.
class Statistics {
 public:
  Statistics(const Pieces& pieces, int threads, Measured output, std::optional<Measured> benchmark)
      : pieces_(pieces),
        threads_(threads),
        output_(std::move(output)),
        benchmark_(std::move(benchmark)) {}

  double of_output(const Limit& limit) {
    if (output_.metrics.compared == 0) return 0;
    if (limit.needs_weights()) {
      return weighted_squares(pieces_, Subject::kOutput, threads_);
    }
    if (is_of_large(limit.statistic)) return large_ratio(limit, Subject::kOutput, 1);
    if (is_relative(limit.statistic) && output_.metrics.errors_at_zero > 0) {
      const auto [largest, sum] = relative_errors(pieces_, threads_);
      if (limit.statistic == Statistic::kMaxRelative) return largest;
      return static_cast<double>(sum / static_cast<Quad>(output_.metrics.compared));
    }
    if (limit.statistic == Statistic::kNmse) return normalised_squares(pieces_, threads_);
    if (limit.statistic == Statistic::kNoiseRatio) return over_noise(output_.metrics, 1);
    if (is_quantile(limit.statistic)) return quantile(limit, Subject::kOutput);
    if (counts_elements(limit.statistic)) {
      return share(limit,
                   count_elements(pieces_, Subject::kOutput, output_.metrics, limit, threads_));
    }
    return read(limit, output_.metrics);
  }

  // Of the negated expected values where `times` is 2, of zeros where it is 1: their errors are so
  // many times the expected value.
  double of_trivial(const Limit& limit, int times) {
    if (const auto known = of_trivial_from_sums(limit, times)) return *known;
    if (limit.needs_weights()) {
      return times * times * weighted_squares(pieces_, Subject::kZeros, threads_);
    }
    if (is_of_large(limit.statistic)) return large_ratio(limit, Subject::kZeros, times);
    if (is_quantile(limit.statistic)) return times * quantile(limit, Subject::kZeros);
    if (!zeros_) zeros_ = measure(pieces_, Subject::kZeros, threads_);
    if (limit.statistic == Statistic::kNoiseRatio) return over_noise(zeros_->metrics, times);
    if (!counts_elements(limit.statistic)) return times * read(limit, zeros_->metrics);
    // What is counted of errors twice as large is counted of these at half the size.
    Limit scaled = limit;
    (limit.statistic == Statistic::kSmallErrors ? scaled.second : scaled.parameter) /= times;
    return share(limit,
                 count_elements(pieces_, Subject::kZeros, zeros_->metrics, scaled, threads_));
  }

  // Elements that count, and whose expected value is not 0.
  std::int64_t nonzero() const { return output_.metrics.relative; }

  // The same as far as the output's metrics tell it: they have sums of the expected values.
  std::optional<double> of_trivial_from_sums(const Limit& limit, int times) const {
    return trivial_statistic(source(output_.metrics), times, limit.statistic, limit.parameter,
                             limit.second);
  }

 private:
  StatisticSource source(const Metrics& metrics) const {
    return {.output = &metrics,
            .benchmark = benchmark_ ? &benchmark_->metrics : nullptr,
            .roundoff = unit_roundoff(pieces_.format),
            .expected_rms = output_.expected_rms};
  }

  double read(const Limit& limit, const Metrics& metrics) const {
    const auto value =
        read_statistic(source(metrics), limit.statistic, limit.parameter, limit.second);
    return value ? value->low : kInfinity;
  }

  // `times` the error of a subject over the benchmark's, of the elements that are large enough.
  double large_ratio(const Limit& limit, Subject subject, int times) {
    const Metrics &own = large(subject, limit.parameter),
                  &other = large(Subject::kBenchmark, limit.parameter);
    if (own.compared == 0) return 0;
    const double Metrics::*const error =
        limit.statistic == Statistic::kLargeMareRatio   ? &Metrics::mare
        : limit.statistic == Statistic::kLargeMereRatio ? &Metrics::mere
                                                        : &Metrics::rmse;
    return own.*error == 0 ? 0 : times * own.*error / std::max(other.*error, limit.parameter);
  }

  double quantile(const Limit& limit, Subject subject) const {
    return error_quantile(pieces_, subject, threads_, limit, output_.metrics.compared);
  }

  double over_noise(const Metrics& metrics, int times) {
    if (!noise_) {
      noise_ = 2 * benchmark_->metrics.max_abs_error + 2 * rounding_of_expected(pieces_, threads_);
    }
    return metrics.max_abs_error == 0 ? 0 : times * metrics.max_abs_error / *noise_;
  }

  const Metrics& large(Subject subject, double from) {
    const auto [at, added] = large_.try_emplace({subject, from});
    if (added) at->second = measure(pieces_, subject, threads_, from).metrics;
    return at->second;
  }

  // Of a number of counted elements.
  double share(const Limit& limit, std::int64_t count) const {
    std::int64_t of = output_.metrics.compared;
    if (limit.needs_benchmark()) {
      of = std::max<std::int64_t>(
          count_elements(pieces_, Subject::kBenchmark, benchmark_->metrics, limit, threads_), 1);
    }
    return static_cast<double>(count) / static_cast<double>(of);
  }

  const Pieces& pieces_;
  int threads_;
  Measured output_;
  std::optional<Measured> benchmark_, zeros_;
  std::map<std::pair<Subject, double>, Metrics> large_;
  std::optional<double> noise_;
};

// What the limits do not see, of the elements that are finite on both sides.
double blind_share_of(const Pieces& pieces, std::span<const Limit> limits) {
  const StatisticsSample sample = pieces.sample();
  std::vector<std::int64_t> finite;
  for (std::int64_t i = 0; i < sample.actual.size(); ++i) {
    if (std::isfinite(sample.actual.view().value_at(i)) &&
        std::isfinite(sample.expected.view().value_at(i))) {
      finite.push_back(i);
    }
  }
  const Tensor expected = elements_at(sample.expected, finite);
  std::optional<Tensor> benchmark;
  std::optional<TensorView> benchmark_view;
  if (sample.benchmark) {
    benchmark = elements_at(*sample.benchmark, finite);
    benchmark_view = benchmark->view();
  }
  return blind_share_by_trial(expected, pieces.format, [&](const TensorView& output) {
    return judge_statistics(output, expected, benchmark_view ? &*benchmark_view : nullptr,
                            pieces.rounds, limits,
                            {.trivial = false, .blindness = false, .threads = 1})
        .met;
  });
}

// Whether a trivial subject meets every limit. What needs no look at the elements comes first: a
// limit that fails by itself settles it.
bool trivial_holds(Statistics& statistics, std::span<const Limit> limits, int times) {
  for (const Limit& limit : limits) {
    const auto known = statistics.of_trivial_from_sums(limit, times);
    if (limit.group == 0 && known && !limit.met(*known)) return false;
  }
  std::vector<LimitReading> readings;
  for (const Limit& limit : limits) {
    const double value = statistics.of_trivial(limit, times);
    readings.push_back({limit, value, limit.met(value)});
  }
  return all_hold(readings);
}

// `other`: the metrics of the benchmark, where a limit needs them.
StatisticsResult judge_pieces(const Pieces& pieces, std::span<const Limit> limits,
                              const StatisticsOptions& options, std::optional<Measured> other) {
  StatisticsResult result;
  // The pass is over the expected values as they are stored.
  const MetricsPass* const pass = options.metrics;
  const bool usable = pass != nullptr && (!pieces.rounds || !pass->expected_rounds());
  Statistics statistics(
      pieces, options.threads,
      usable ? measured(*pass) : measure(pieces, Subject::kOutput, options.threads),
      std::move(other));
  for (const Limit& limit : limits) {
    const double value = statistics.of_output(limit);
    result.readings.push_back({limit, value, limit.met(value)});
  }
  result.met = all_hold(result.readings);
  if (options.trivial) {
    result.trivial_met =
        trivial_holds(statistics, limits, 1) || trivial_holds(statistics, limits, 2);
  }
  result.worst_ratio = worst_ratio(result.readings);
  result.nonzero = statistics.nonzero();
  const bool weighs =
      std::any_of(limits.begin(), limits.end(), [](const Limit& l) { return l.needs_weights(); });
  // Each element has limits of its own beside the weighted sum, and they say what is blind.
  if (options.blindness && !weighs) result.blind_share = blind_share_of(pieces, limits);
  return result;
}

}  // namespace

StatisticsResult judge_statistics(const Format& actual, const Format& expected,
                                  const StatisticsPieces& pieces,
                                  const std::function<StatisticsSample()>& sample,
                                  bool round_expected, std::span<const Limit> limits,
                                  const StatisticsOptions& options) {
  const bool rounds = round_expected && &expected != &actual;
  return judge_pieces({actual, pieces, rounds, sample}, limits, options, std::nullopt);
}

StatisticsResult judge_statistics(const TensorView& actual, const TensorView& expected,
                                  const TensorView* benchmark, bool round_expected,
                                  std::span<const Limit> limits, const StatisticsOptions& options) {
  StatisticsResult result;
  const bool compares =
      std::any_of(limits.begin(), limits.end(), [](const Limit& l) { return l.needs_benchmark(); });
  if (compares && benchmark == nullptr) {
    result.why_not =
        "the standard compares with a benchmark's output, and none is given: --benchmark PRODUCER";
    return result;
  }
  if (compares && benchmark->shape != expected.shape) {
    result.why_not = formatted("the benchmark's output is {}, the expected result {}",
                               shape_text(benchmark->shape), shape_text(expected.shape));
    return result;
  }
  const StatisticsPieces all = [&](const std::function<void(const StatisticsPiece&)>& take) {
    take({actual, expected, compares ? benchmark : nullptr, options.error_weights, 0});
  };
  const std::function<StatisticsSample()> sample = [&] {
    const std::vector<std::int64_t> positions = sampled_positions(actual.size());
    StatisticsSample sampled{elements_at(actual, positions), elements_at(expected, positions)};
    if (compares) sampled.benchmark = elements_at(*benchmark, positions);
    return sampled;
  };
  const Pieces pieces{*actual.format, all, round_expected && expected.format != actual.format,
                      sample};
  std::optional<Measured> other;
  if (compares) {
    other = measure(pieces, Subject::kBenchmark, options.threads);
    if (other->broken >= 0) {
      result.why_not =
          formatted("the benchmark's output is {} at position {}, where a finite value is expected",
                    number_text(benchmark->value_at(other->broken)), other->broken);
      return result;
    }
  }
  const bool weighs =
      std::any_of(limits.begin(), limits.end(), [](const Limit& l) { return l.needs_weights(); });
  if (weighs &&
      (options.error_weights == nullptr || options.error_weights->shape != expected.shape)) {
    result.why_not =
        "the standard needs the expected error of each element, computed from the case's operands "
        "(`assay gate`), and there is none";
    return result;
  }
  return judge_pieces(pieces, limits, options, std::move(other));
}

}  // namespace assay
