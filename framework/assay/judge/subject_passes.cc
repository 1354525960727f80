#include "assay/judge/subject_passes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "assay/base/double_double.h"
#include "assay/simd/compare.h"
#include "assay/simd/error_bracket.h"

namespace assay::inline v0_2 {
namespace {

// An element at which output and expected value are finite.
struct ComparedElement {
  double value, e, rounded;  // the values as compared, and `e` in the output's format
  double error;              // value - e, correct even for integers that float64 cannot hold
  const std::uint64_t* ulps = nullptr;  // the distance in ulps of integers that float64 cannot hold
};

double ulps_apart(const Format& format, const ComparedElement& element) {
  if (element.ulps != nullptr) return not_below(*element.ulps);
  return ulps_apart(format, element.value, element.rounded);
}

// True if the element is one of those whose number the limit bounds.
bool counts(const Limit& limit, const Format& format, const ComparedElement& element) {
  const double error = std::abs(element.error), size = std::abs(element.e);
  switch (limit.statistic) {
    case Statistic::kShareRelative:
      return error != 0 && !(error / size < limit.parameter);
    case Statistic::kShareUlps:
      return (error == 0 ? 0 : ulps_apart(format, element)) > limit.parameter;
    case Statistic::kSmallErrors:
      return size < limit.parameter && error > limit.second;
    case Statistic::kShareAbs:
      return error > limit.parameter;
    default:
      return false;
  }
}

// Calls add(part, format, element) for each element of a subject, and take(part) for each part in
// order.
template <typename Part, typename Add, typename Take>
void for_elements(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                  const Add& add, const Take& take) {
  pieces.for_all_parts(
      threads,
      [&](const SubjectTensors& tensors, std::int64_t begin, std::int64_t end) {
        Part part{};
        double values[kMetricsBlock], e[kMetricsBlock], rounded[kMetricsBlock];
        IntegerErrors errors;
        for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
          const std::int64_t n = std::min(kMetricsBlock, end - first);
          tensors.read(subject, first, n, values, e, rounded);
          const bool exact = subject == StatisticSubject::kOutput &&
                             exact_errors(tensors.actual, tensors.expected, first,
                                          static_cast<std::size_t>(n), errors);
          for (std::int64_t i = 0; i < n; ++i) {
            if (!std::isfinite(values[i]) || !std::isfinite(e[i])) continue;
            ComparedElement element{values[i], e[i], rounded[i], values[i] - e[i]};
            if (exact) element.error = errors.errors[i], element.ulps = &errors.ulps[i];
            add(part, tensors.format(), element);
          }
        }
        return part;
      },
      take);
}

// A sum in double-double arithmetic. Terms that would leave its range are added in binary128.
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
  // True if x is 0, or its size lies between 1 / most and most.
  static bool has_room(double x, double most) {
    const double size = std::abs(x);
    return size == 0 || (size > 1 / most && size < most);
  }

  DoubleDouble ordinary_;
  Quad extreme_ = 0;
};

// Returns |value - expected| / |expected|. If 0 is expected, the denominator is the spacing of
// float64 at 1, as in Polygraphy.
double relative_error(double value, double e) {
  const double error = std::abs(value - e);
  return error == 0 ? 0 : error / (e == 0 ? simd::kErrorUnit : std::abs(e));
}
double error_of(bool relative, double value, double e) {
  return relative ? relative_error(value, e) : std::abs(value - e);
}

// Returns the errors of a subject near a quantile, in one pass.
QuantileErrors errors_about(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                            const QuantileErrors& wanted) {
  QuantileErrors all = wanted;
  pieces.for_all_parts(
      threads,
      [&](const SubjectTensors& tensors, std::int64_t begin, std::int64_t end) {
        QuantileErrors part = wanted;
        const auto [floats, theirs] = tensors.floats(subject);
        double values[kMetricsBlock], e[kMetricsBlock];
        for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
          const std::int64_t block = std::min(kMetricsBlock, end - first);
          const auto n = static_cast<std::size_t>(block);
          if (floats != nullptr) {
            part.add(floats + first, theirs + first, n);
          } else {
            tensors.read(subject, first, block, values, e, nullptr);
            part.add(values, e, n);
          }
        }
        return part;
      },
      [&](const QuantileErrors& part) { all.merge(part); });
  return all;
}

// Returns the bin of the output's histogram that has the n-th error. If the n-th error is the last
// of its bin, the next bin is included. Returns nothing if the metrics have no such errors.
std::optional<simd::ErrorBracket> bracket_by_histogram(const Metrics& metrics, std::int64_t n,
                                                       bool relative) {
  if (metrics.is_complex || (relative && metrics.errors_at_zero > 0)) return {};
  const Histogram& histogram = relative ? metrics.rel_errors : metrics.abs_errors;
  // The histogram has no relative error for elements where 0 is expected and found. Their error is
  // 0, so they come first in the order of errors.
  const std::int64_t zeros = metrics.compared - histogram.total();
  const std::int64_t last = std::min(n + 1, metrics.compared - 1);
  if (zeros < 0 || n < zeros + histogram.below) return {};
  const Histogram::Bin from = histogram.bin_of(n - zeros), to = histogram.bin_of(last - zeros);
  if (to.high == kInfinity) return {};
  return simd::ErrorBracket{from.low, to.high};
}

// Returns a sample of the errors of a subject. Each stretch of elements gives a few adjacent ones
// at a pseudo-random place.
std::vector<double> sampled_errors(const SubjectPieces& pieces, StatisticSubject subject,
                                   int threads, bool relative) {
  constexpr std::int64_t kStretch = 8192, kTaken = 16;
  std::vector<double> sample;
  pieces.for_all_parts(
      threads,
      [&](const SubjectTensors& tensors, std::int64_t begin, std::int64_t end) {
        std::vector<double> part;
        double values[kTaken], e[kTaken];
        for (std::int64_t first = begin; first < end; first += kStretch) {
          const std::uint64_t chance =
              static_cast<std::uint64_t>(first) * 0x9e3779b97f4a7c15u >> 55;
          const std::int64_t at = first + static_cast<std::int64_t>(chance) * kTaken;
          const std::int64_t n = std::min(kTaken, end - at);
          if (n <= 0) continue;
          tensors.read(subject, at, n, values, e, nullptr);
          for (std::int64_t i = 0; i < n; ++i) {
            if (!std::isfinite(values[i]) || !std::isfinite(e[i])) continue;
            part.push_back(error_of(relative, values[i], e[i]));
          }
        }
        return part;
      },
      [&](const std::vector<double>& part) {
        sample.insert(sample.end(), part.begin(), part.end());
      });
  return sample;
}

// Returns two quantiles of a sample around a share. With near certainty the quantile of all errors
// lies between them (Floyd and Rivest, CACM 18(3), 1975). Returns nothing if there are few
// elements.
std::optional<simd::ErrorBracket> bracket_by_sample(const SubjectPieces& pieces,
                                                    StatisticSubject subject, int threads,
                                                    std::int64_t elements, double share,
                                                    bool relative) {
  constexpr double kDeviations = 5;
  if (elements < kSampledFrom) return {};
  std::vector<double> sample = sampled_errors(pieces, subject, threads, relative);
  if (sample.empty()) return {};
  const auto size = static_cast<double>(sample.size());
  const double reach = kDeviations * std::sqrt(size * share * (1 - share)) + kDeviations;
  const auto at_rank = [&](double rank, double fallback) {
    if (rank < 0 || rank >= size) return fallback;
    const auto place = sample.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(sample.begin(), place, sample.end());
    return *place;
  };
  return simd::ErrorBracket{at_rank(size * share - reach, 0),
                            at_rank(size * share + reach, kInfinity)};
}

// Selects the n-th error and the next one, whatever the errors are. Errors are not negative, so
// their bits have the same order as their values. Each pass counts the errors by the next 16 bits
// of the n-th error. When only few errors share the known bits, a last pass collects them. Memory
// does not grow with the number of elements.
TwoErrors select_by_bits(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                         std::int64_t n, bool relative) {
  constexpr int kBits = 16;
  constexpr std::int64_t kFew = std::int64_t{1} << 22;
  int shift = 64;
  std::uint64_t prefix = 0;
  std::int64_t alike = kFew + 1;
  const auto has_prefix = [&](std::uint64_t bits) {
    return shift == 64 || bits >> shift == prefix;
  };
  while (shift > 0 && alike > kFew) {
    std::vector<std::int64_t> counts(std::size_t{1} << kBits);
    for_elements<std::vector<std::int32_t>>(
        pieces, subject, threads,
        [&](std::vector<std::int32_t>& part, const Format&, const ComparedElement& element) {
          const auto bits =
              std::bit_cast<std::uint64_t>(error_of(relative, element.value, element.e));
          if (!has_prefix(bits)) return;
          if (part.empty()) part.resize(counts.size());
          ++part[bits >> (shift - kBits) & (counts.size() - 1)];
        },
        [&](const std::vector<std::int32_t>& part) {
          for (std::size_t digit = 0; digit < part.size(); ++digit) counts[digit] += part[digit];
        });
    std::uint64_t digit = 0;
    while (digit + 1 < counts.size() && n >= counts[digit]) n -= counts[digit++];
    prefix = prefix << kBits | digit;
    shift -= kBits;
    alike = counts[digit];
  }
  // The n-th error itself if the passes found all of its bits.
  double at = std::bit_cast<double>(prefix);
  if (shift > 0) {
    std::vector<double> errors;
    for_elements<std::vector<double>>(
        pieces, subject, threads,
        [&](std::vector<double>& part, const Format&, const ComparedElement& element) {
          const double error = error_of(relative, element.value, element.e);
          if (has_prefix(std::bit_cast<std::uint64_t>(error))) part.push_back(error);
        },
        [&](const std::vector<double>& part) {
          errors.insert(errors.end(), part.begin(), part.end());
        });
    const auto place = errors.begin() + static_cast<std::ptrdiff_t>(n);
    std::nth_element(errors.begin(), place, errors.end());
    at = *place;
    if (place + 1 != errors.end()) return {at, *std::min_element(place + 1, errors.end())};
  } else if (n + 1 < alike) {
    return {at, at};
  }
  double next = kInfinity;
  for_elements<std::optional<double>>(
      pieces, subject, threads,
      [&](std::optional<double>& part, const Format&, const ComparedElement& element) {
        const double error = error_of(relative, element.value, element.e);
        if (error > at && !(part && *part <= error)) part = error;
      },
      [&](const std::optional<double>& part) { next = std::min(next, part.value_or(kInfinity)); });
  return {at, next};
}

// Returns how many of n float32 elements are finite on both sides and have an expected value larger
// in size than `within`, which is not negative.
std::int64_t larger_floats(const float* actual, const float* expected, std::int64_t n,
                           double within) {
  constexpr std::uint32_t kInfinite = 0x7f800000, kMagnitude = 0x7fffffff;
  // The largest float32 that is at most `within`. Magnitudes have the order of their bits.
  constexpr double kMost = std::numeric_limits<float>::max();
  auto bound = static_cast<float>(std::min(within, kMost));
  if (static_cast<double>(bound) > within) bound = std::nextafter(bound, 0.0F);
  const auto bits = std::bit_cast<std::uint32_t>(bound);
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto a = std::bit_cast<std::uint32_t>(actual[i]) & kMagnitude;
    const auto e = std::bit_cast<std::uint32_t>(expected[i]) & kMagnitude;
    count += static_cast<std::int32_t>((a < kInfinite) & (e < kInfinite) & (e > bits));
  }
  return count;
}

// Counts the elements of a stretch that are finite on both sides and differ by more ulps than the
// limit's parameter. The expected value is rounded to the output's format.
std::int64_t count_far(const Limit& limit, const SubjectTensors& tensors, StatisticSubject subject,
                       std::int64_t begin, std::int64_t end) {
  const auto most = static_cast<std::uint64_t>(limit.parameter);
  const simd::Ordinals ordinals = ordinals_of(tensors.format());
  const auto [floats, theirs] = tensors.floats(subject);
  double values[kMetricsBlock], e[kMetricsBlock], rounded[kMetricsBlock];
  std::int64_t count = 0;
  for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
    const std::int64_t block = std::min(kMetricsBlock, end - first);
    const auto n = static_cast<std::size_t>(block);
    // Only the number of mismatches is read, so the kernel's argument `worst` may have any value.
    if (floats != nullptr &&
        simd::compare(floats + first, theirs + first, n, ordinals, most, kInfinity).mismatches ==
            0) {
      continue;
    }
    tensors.read(subject, first, block, values, e, rounded);
    if (simd::compare(values, rounded, n, ordinals, most).mismatches == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (!std::isfinite(values[i]) || !std::isfinite(e[i])) continue;
      const ComparedElement element{values[i], e[i], rounded[i], values[i] - e[i]};
      count += counts(limit, tensors.format(), element) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

double ulps_apart(const Format& format, double a, double b) {
  if (!format.is_float()) return std::abs(a - b);
  const auto distance = ulp_distance(format, encode(format, a), encode(format, b));
  return distance ? not_below(*distance) : kInfinity;
}

bool first_ones_exceed(const SubjectPieces& pieces, std::int64_t most, double within, bool rounded,
                       const std::function<bool(std::int64_t)>& are_enough) {
  std::int64_t count = 0;
  pieces.pass([&](const StatisticsPiece& piece) {
    const SubjectTensors tensors(piece, pieces.rounds);
    const std::int64_t size = std::min(piece.actual.size(), most - piece.begin);
    const auto [floats, theirs] = tensors.floats(StatisticSubject::kOutput);
    double zeros[kMetricsBlock], e[kMetricsBlock], round[kMetricsBlock];
    for (std::int64_t first = 0; first < size && !are_enough(count); first += kMetricsBlock) {
      const std::int64_t n = std::min(kMetricsBlock, size - first);
      if (floats != nullptr) {
        count += larger_floats(floats + first, theirs + first, n, within);
        continue;
      }
      tensors.read(StatisticSubject::kZeros, first, n, zeros, e, round);
      const double* const of = rounded ? round : e;
      for (std::int64_t i = 0; i < n; ++i) {
        count += zeros[i] == 0 && std::abs(of[i]) > within ? 1 : 0;
      }
    }
  });
  return are_enough(count);
}

bool counts_by_kernel(const Limit& limit, const Format& output) {
  return limit.row().parts == simd::kPartUlps && has_ordinals(output) && limit.parameter >= 0 &&
         limit.parameter < 0x1p53;
}

std::int64_t count_elements(const SubjectPieces& pieces, StatisticSubject subject,
                            const Metrics& metrics, const Limit& limit, int threads) {
  const auto known = counted(metrics, limit.statistic, limit.parameter, limit.second);
  if (known && known->first == known->second) return known->first;
  std::int64_t sum = 0;
  if (counts_by_kernel(limit, pieces.format)) {
    pieces.for_all_parts(
        threads,
        [&](const SubjectTensors& tensors, std::int64_t begin, std::int64_t end) {
          return count_far(limit, tensors, subject, begin, end);
        },
        [&](std::int64_t count) { sum += count; });
    return sum;
  }
  for_elements<std::int64_t>(
      pieces, subject, threads,
      [&](std::int64_t& count, const Format& format, const ComparedElement& element) {
        count += counts(limit, format, element) ? 1 : 0;
      },
      [&](std::int64_t count) { sum += count; });
  return sum;
}

namespace {

// Calls add(part, error, expected, weight) for each element with a finite error, and merge(part)
// for each part, in order.
template <typename Part, typename Add, typename Merge>
void for_weighted_errors(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                         const Add& add, const Merge& merge) {
  pieces.for_all_parts(
      threads,
      [&](const SubjectTensors& tensors, std::int64_t begin, std::int64_t end) {
        Part part;
        const bool in_place = subject == StatisticSubject::kOutput && !pieces.rounds;
        double values[kMetricsBlock], room[kMetricsBlock], weights[kMetricsBlock];
        for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
          const std::int64_t n = std::min(kMetricsBlock, end - first);
          const double* e = room;
          if (in_place) {
            tensors.actual.read(first, n, values);
            e = doubles_of(tensors.expected, first, n, room);
          } else {
            tensors.read(subject, first, n, values, room, nullptr);
          }
          const double* const w = doubles_of(*tensors.error_weights, first, n, weights);
          for (std::int64_t i = 0; i < n; ++i) {
            const double error = values[i] - e[i];
            if (std::isfinite(error)) add(part, error, e[i], w[i]);
          }
        }
        return part;
      },
      merge);
}

}  // namespace

double weighted_squares(const SubjectPieces& pieces, StatisticSubject subject, int threads) {
  struct Sum {
    double value = 0;
  } sum;
  for_weighted_errors<Sum>(
      pieces, subject, threads,
      [](Sum& part, double error, double, double weight) { part.value += weight * error * error; },
      [&](const Sum& part) { sum.value += part.value; });
  return sum.value;
}

ErrorBiasRule::ErrorBiasRule(const Format& format)
    : ulps(format), least(min_normal(format)), most(max_finite(format)) {}

double error_bias(const SubjectPieces& pieces, StatisticSubject subject, int threads) {
  struct Sum {
    double ulps = 0, weights = 0;
  } sum;
  const ErrorBiasRule rule(pieces.format);
  for_weighted_errors<Sum>(
      pieces, subject, threads,
      [&](Sum& part, double error, double expected, double weight) {
        if (!(weight > 0) || !rule.counts(expected)) return;
        const double ulp = rule.ulps.ulp(expected), of_error = weight * ulp;
        part.ulps += of_error * (expected > 0 ? error : -error);
        part.weights += of_error * ulp;
      },
      [&](const Sum& part) { sum.ulps += part.ulps, sum.weights += part.weights; });
  return sum.weights == 0 ? 0 : std::abs(sum.ulps) / sum.weights;
}

double normalised_squares(const SubjectPieces& pieces, int threads) {
  struct Sums {
    WideSum errors, values;
  } sums;
  for_elements<Sums>(
      pieces, StatisticSubject::kOutput, threads,
      [](Sums& part, const Format&, const ComparedElement& element) {
        part.errors.add_square(element.value, element.e);
        part.values.add_square(element.value, 0);
      },
      [&](const Sums& part) {
        sums.errors.add(part.errors);
        sums.values.add(part.values);
      });
  const Quad errors = sums.errors.value();
  return errors == 0 ? 0 : static_cast<double>(errors / sums.values.value());
}

std::pair<double, Quad> relative_errors(const SubjectPieces& pieces, int threads) {
  std::pair<double, WideSum> all;
  for_elements<std::pair<double, WideSum>>(
      pieces, StatisticSubject::kOutput, threads,
      [](auto& part, const Format&, const ComparedElement& element) {
        const double error = relative_error(element.value, element.e);
        part.first = std::max(part.first, error);
        part.second.add(error);
      },
      [&](const auto& part) {
        all.first = std::max(all.first, part.first);
        all.second.add(part.second);
      });
  return {all.first, all.second.value()};
}

double rounding_of_expected(const SubjectPieces& pieces, int threads) {
  double largest = 0;
  for_elements<double>(
      pieces, StatisticSubject::kOutput, threads,
      [&](double& part, const Format&, const ComparedElement& element) {
        const double e = element.rounded;
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

std::vector<QuantileErrors> quantiles_for(const SubjectPieces& pieces, std::int64_t elements,
                                          std::span<const Limit> limits, int threads) {
  std::vector<QuantileErrors> found;
  for (const Limit& limit : limits) {
    if (!is_quantile(limit.statistic)) continue;
    const bool relative = limit.statistic == Statistic::kQuantileRelative;
    const auto bracket = bracket_by_sample(pieces, StatisticSubject::kOutput, threads, elements,
                                           limit.parameter, relative);
    if (bracket) found.push_back({relative, limit.parameter, *bracket});
  }
  return found;
}

double error_quantile(const SubjectPieces& pieces, StatisticSubject subject, int threads,
                      const Limit& limit, const Metrics& output, const MetricsPass* pass) {
  const std::int64_t elements = output.compared;
  const bool relative = limit.statistic == Statistic::kQuantileRelative;
  const double share = limit.parameter;
  const QuantileRank rank(share, elements);
  const std::int64_t below = rank.below;
  const auto select = [&]() -> TwoErrors {
    std::optional<TwoErrors> found;
    const auto by = [&](const std::optional<simd::ErrorBracket>& bracket) {
      if (!bracket) return false;
      found =
          errors_about(pieces, subject, threads, {relative, share, *bracket}).at(below, elements);
      return found.has_value();
    };
    const QuantileErrors* known = nullptr;
    if (subject == StatisticSubject::kOutput) {
      // Histograms come only from a pass that computes all metrics.
      const bool has_all = output.abs_errors.total() > 0;
      if (has_all && output.max_abs_error == 0) return {0, below + 1 < elements ? 0 : kInfinity};
      if (pass != nullptr) known = pass->quantile(relative, share);
      if (known != nullptr && (found = known->at(below, elements))) return *found;
      if (has_all && by(bracket_by_histogram(output, below, relative))) return *found;
    }
    // `known` was collected by a sample, and a second sample would be the same one.
    if (known == nullptr &&
        by(bracket_by_sample(pieces, subject, threads, elements, share, relative))) {
      return *found;
    }
    return select_by_bits(pieces, subject, threads, below, relative);
  };
  return rank.between(select());
}

}  // namespace assay
