#include "assay/gate/expected_error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/gate/product_sample.h"
#include "assay/judge/subject_passes.h"
#include "assay/op/accumulation.h"
#include "assay/op/operator.h"
#include "assay/tensor/product.h"

namespace assay {
namespace {

// How far theory's standard deviations may be off.
constexpr double kMargin = 1.15;
// What float64 leaves of the sum of squares, generously.
constexpr double kSummation = 1e-6;
// A golden result of float64 is rounded itself, and functions are within some ulps of it.
constexpr double kGoldenError = 0x1p-51;

// One element's error, and its square, by chance.
struct SquareMoments {
  double mean = 0, variance = 0;
  double jump = 0;  // by how much the square may change at once, where it has but a few values
  double mean_error = 0;  // of the error itself
};

// The probability that a normal number is below z, to 1e-9: a table, and between its places a cubic
// with the right values and slopes. Beyond 7 it is taken as certain, which 3e-12 are not.
class NormalTable {
 public:
  NormalTable() {
    for (int i = 0; i <= kPlaces; ++i) {
      const double z = static_cast<double>(i) / kPerUnit - kCertain;
      below_[i] = std::erfc(-z / std::sqrt(2.0)) / 2;
      slope_[i] = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)) / kPerUnit;
    }
  }
  double below(double z) const {
    if (!(std::abs(z) < kCertain)) return z > 0 ? 1 : 0;
    const double place = (z + kCertain) * kPerUnit;
    const int i = std::min(static_cast<int>(place), kPlaces - 1);  // 7 less an ulp is rounded up
    const double t = place - i, rise = below_[i + 1] - below_[i];
    return below_[i] + t * (slope_[i] + t * (3 * rise - 2 * slope_[i] - slope_[i + 1] +
                                             t * (slope_[i] + slope_[i + 1] - 2 * rise)));
  }

 private:
  static constexpr int kCertain = 7, kPerUnit = 64, kPlaces = 2 * kCertain * kPerUnit;
  double below_[kPlaces + 1], slope_[kPlaces + 1];
};

double normal_below(double z) {
  static const NormalTable table;
  return table.below(z);
}

// The last rounding of a computation, to nearest. Of numbers between the format's smallest normal
// and its largest one the bits of the float64 are enough; others are asked of the format.
class LastRounding {
 public:
  explicit LastRounding(const Format& format)
      : format_(format),
        dropped_(52 - format.mantissa_bits()),
        ulp_of_one_(std::ldexp(1.0, -format.mantissa_bits())),
        least_(min_normal(format)),
        most_(max_finite(format)) {
    const bool has_exponents = format.is_float() && format.specials != Specials::kTapered &&
                               format.specials != Specials::kScale;
    if (!has_exponents || dropped_ < 1) least_ = std::numeric_limits<double>::infinity();
  }

  // Whether the format has fewer than 8 bits of precision.
  bool is_coarse() const { return dropped_ > 52 - 7; }

  double rounded(double x) const {
    const double absolute = std::abs(x);
    if (!(absolute >= least_ && absolute < most_)) return round_to(format_, x);
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t odd = bits >> dropped_ & 1;
    const std::uint64_t half = std::uint64_t{1} << (dropped_ - 1);
    return std::bit_cast<double>((bits + half - 1 + odd) >> dropped_ << dropped_);
  }

  // The next number above x, which is one of the format's.
  double next(double x) const {
    const double absolute = std::abs(x);
    if (absolute > least_ && absolute < most_) {
      const std::uint64_t step = std::uint64_t{1} << dropped_;
      const auto bits = std::bit_cast<std::uint64_t>(x);
      return std::bit_cast<double>(x > 0 ? bits + step : bits - step);
    }
    return decode(format_, *at_ordinal(format_, *ordinal(format_, encode(format_, x)) + 1));
  }

  double ulp(double x) const {
    const double absolute = std::abs(x);
    if (!(absolute >= least_ && absolute <= most_)) return ulp_of(format_, x);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(absolute) >> 52 << 52) * ulp_of_one_;
  }

 private:
  const Format& format_;
  int dropped_;  // bits of a float64's mantissa
  double ulp_of_one_, least_, most_;
};

std::optional<LastRounding> last_rounding(const ExpectedErrors& errors) {
  if (errors.last == nullptr) return std::nullopt;
  return LastRounding(*errors.last);
}

// Of round(e + x) - e, x normal with mean and deviation. Without `last`: of x itself.
SquareMoments square_moments(const std::optional<LastRounding>& last, double e, double mean,
                             double deviation) {
  const double square = deviation * deviation;
  const auto normal = [&](double variance) {
    return SquareMoments{mean * mean + variance,
                         2 * variance * variance + 4 * mean * mean * variance, 0, mean};
  };
  if (!last) return normal(square);
  const double centre = e + mean, ulp = last->ulp(centre);
  // By Poisson's summation formula the values of a rounded normal number have the moments of the
  // number and of the rounding, but for a part exp(-2 pi^2 (deviation / ulp)^2) < 1e-4 of them.
  // Ulps of few bits change within that reach: there every value is looked at up to 4.
  if (deviation > (last->is_coarse() ? 4 : 0.7) * ulp) return normal(square + ulp * ulp / 12);
  constexpr double kReach = 9;
  const double low = last->rounded(centre - kReach * deviation),
               high = last->rounded(centre + kReach * deviation);
  if (!std::isfinite(low) || !std::isfinite(high)) return {};
  if (low == high) return {(low - e) * (low - e), 0, 0, low - e};
  SquareMoments moments;
  double fourth = 0, below = 0;
  // What lies beyond 7 deviations has no part in the sums.
  constexpr double kSummed = 7;
  const double first = last->rounded(centre - kSummed * deviation),
               end = last->rounded(centre + kSummed * deviation);
  for (double value = first; value <= end;) {
    const double next = value == end ? value : last->next(value);
    const double up_to = value == end ? 1 : normal_below(((value + next) / 2 - centre) / deviation);
    const double error = (value - e) * (value - e);
    moments.mean += (up_to - below) * error;
    moments.mean_error += (up_to - below) * (value - e);
    fourth += (up_to - below) * error * error;
    below = up_to;
    if (value == end) break;
    value = next;
  }
  moments.variance = std::max(fourth - moments.mean * moments.mean, 0.0);
  moments.jump = 2 * std::min(kReach * deviation, ulp) * ulp;
  return moments;
}

// The standard deviation of an element's error before its last rounding, and of its golden value.
double deviation_of(const ExpectedErrors& errors, std::size_t i, double golden) {
  const double own = kGoldenError * golden;
  return std::sqrt(errors.variance[i] + own * own);
}

// Of infinite elements, and of those that the output cannot hold, nothing is expected.
bool has_error(double golden, double most_finite) {
  return std::isfinite(golden) && std::abs(golden) <= most_finite;
}

// The digits of a value, whatever its sign and power of two: elements that share them may be
// computed alike, with the same errors.
double digits_of(double value) {
  int e = 0;
  return std::abs(std::frexp(value, &e));
}

// Sums by key: of elements that share their digits.
class SumsByDigits {
 public:
  explicit SumsByDigits(std::size_t n)
      : shift_(std::countl_zero(std::bit_ceil(2 * n + 2)) + 1),
        keys_(std::size_t{1} << (64 - shift_)),
        sums_(keys_.size()) {}

  void add(double value, double more) {
    const auto key = std::bit_cast<std::uint64_t>(digits_of(value)) + 1;  // never 0
    const std::size_t mask = keys_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15u) >> shift_;
    while (keys_[at] != 0 && keys_[at] != key) at = (at + 1) & mask;
    keys_[at] = key;
    sums_[at] += more;
  }
  const std::vector<double>& sums() const { return sums_; }

 private:
  int shift_;
  std::vector<std::uint64_t> keys_;
  std::vector<double> sums_;
};

// The mean error of the elements towards or away from zero, in ulps of the output (error_bias() of
// judge/subject_passes.h), as chance has it.
class BiasTheory {
 public:
  BiasTheory(const ExpectedErrors& errors, const Format& output, std::size_t n)
      : errors_(errors), output_(output), last_(last_rounding(errors)), alike_(n) {}

  // Adds element i, whose golden value is e. `deviation`: of its error before the last rounding.
  // `weight`: ErrorTest::weights before they are scaled.
  void add(std::size_t i, double e, double deviation, double weight) {
    if (!has_error_bias(output_, e)) return;
    const double ulp = ulp_of(output_, e);
    const double factor = std::copysign(weight * ulp, e);
    weights_ += weight * ulp * ulp;
    drift_ += errors_.drift[i] * std::abs(factor);
    SquareMoments widest;
    for (int part = 0; part < kParts; ++part) {
      const double share = static_cast<double>(part) / (kParts - 1);
      widest = square_moments(last_, e, errors_.mean[i], share * deviation);
      centre_[part] += widest.mean_error * factor;
    }
    const double variance = widest.mean - widest.mean_error * widest.mean_error;
    alike_.add(e, std::sqrt(std::max(variance, 0.0)) * std::abs(factor));
    if (errors_.line.empty() || !errors_.pull.empty()) return;
    const auto line = static_cast<std::size_t>(errors_.line[i]);
    if (shared_.size() <= line) shared_.resize(line + 1);
    shared_[line] += std::sqrt(errors_.shared[i]) * std::abs(factor);
  }

  // The limit on their mean.
  std::optional<Limit> limit() const {
    if (weights_ == 0) return std::nullopt;
    double variance = std::accumulate(errors_.pull.begin(), errors_.pull.end(), 0.0);
    for (const std::vector<double>& sums : {alike_.sums(), shared_}) {
      for (const double sum : sums) variance += sum * sum;
    }
    double centre = 0;
    for (const double c : centre_) centre = std::max(centre, std::abs(c));
    const double kappa = std::sqrt(2 * std::log(4 / kErrorBudget));
    const double sum = centre + drift_ + kappa * kMargin * std::sqrt(variance);
    const double limit = kBiasAllowed + sum / weights_;
    if (!(limit < kBiasOfTruncation)) return std::nullopt;
    return Limit{.statistic = Statistic::kErrorBias, .limit = limit};
  }

 private:
  // What all elements may have in common that is counted as chance of each: a function's mean
  // error, the drift of a sum.
  static constexpr double kBiasAllowed = 0.125;
  static constexpr double kBiasOfTruncation = 0.5;
  // Errors may be smaller than theory has them: so many sizes are looked at, from none on.
  static constexpr int kParts = 3;

  const ExpectedErrors& errors_;
  const Format& output_;
  std::optional<LastRounding> last_;
  double weights_ = 0, centre_[kParts] = {}, drift_ = 0;
  SumsByDigits alike_;          // of the deviations
  std::vector<double> shared_;  // by line, of the deviations that its elements have in common
};

}  // namespace

double expected_rms(const ExpectedErrors& errors, const Tensor& golden, const Format& output) {
  const std::vector<double> expected = golden.view().values();
  const double most_finite = max_finite(output);
  const std::optional<LastRounding> last = last_rounding(errors);
  double squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i];
    if (!has_error(e, most_finite)) continue;
    squares += square_moments(last, e, errors.mean[i], deviation_of(errors, i, e)).mean;
  }
  return expected.empty() ? 0 : std::sqrt(squares / static_cast<double>(expected.size()));
}

ErrorTest error_test(const ExpectedErrors& errors, const Tensor& golden, const Format& output) {
  const std::vector<double> expected = golden.view().values();
  const std::size_t n = expected.size();
  const double kappa = std::sqrt(2 * std::log(4 * static_cast<double>(n) / kErrorBudget));
  const double most_finite = max_finite(output);
  const std::optional<LastRounding> last = last_rounding(errors);
  std::vector<double> bounds(n), weights(n);
  double expected_squares = 0, high = 0, low = 0, unlike = 0, largest = 0;
  SumsByDigits alike(n);       // of the deviations
  std::vector<double> shared;  // by line
  BiasTheory bias(errors, output, n);
  const bool is_rounded_last = errors.last == &output && output.precision < 24;
  for (std::size_t i = 0; i < n; ++i) {
    const double e = expected[i];
    if (!has_error(e, most_finite)) continue;
    double deviation = deviation_of(errors, i, e);
    if (std::isnan(deviation)) deviation = std::numeric_limits<double>::infinity();
    const double mean = errors.mean[i], drift = errors.drift[i];
    const double reach = drift + kappa * kMargin * deviation;
    for (const double x : {mean - reach, mean + reach}) {
      const double value = last ? last->rounded(e + x) : e + x;
      bounds[i] = std::max(bounds[i], std::abs(std::clamp(value, -most_finite, most_finite) - e));
    }
    const double ulp = last ? last->ulp(e) : 0;
    const double size = mean_square(errors, i, deviation, ulp);
    if (!(size > 0 && std::isfinite(size))) continue;
    const double farthest = std::copysign(std::abs(mean) + drift, mean),
                 nearest = std::copysign(std::max(std::abs(mean) - drift, 0.0), mean);
    SquareMoments most = square_moments(last, e, farthest, kMargin * deviation);
    if (drift > std::abs(mean)) {  // the mean may have either sign, and a tie lie on either side
      const SquareMoments other =
          square_moments(last, e, mean - std::copysign(drift, mean), kMargin * deviation);
      most = {std::max(most.mean, other.mean), std::max(most.variance, other.variance),
              std::max(most.jump, other.jump)};
    }
    const double w = weights[i] = 1 / size;
    if (is_rounded_last) bias.add(i, e, deviation, w);
    high += w * most.mean;
    if (!errors.at_most) {
      low += w * square_moments(last, e, nearest, deviation / kMargin).mean;
      expected_squares += w * square_moments(last, e, mean, deviation).mean;
    }
    const double spread = w * std::sqrt(most.variance);
    alike.add(e, spread);
    largest = std::max(largest, w * most.jump / 3);
    if (!errors.line.empty()) {
      const std::size_t line = static_cast<std::size_t>(errors.line[i]);
      if (shared.size() <= line) shared.resize(line + 1);
      shared[line] += w * kMargin * kMargin * errors.shared[i];
    }
  }
  for (const double spread : alike.sums()) {
    unlike += spread * spread;
    largest = std::max(largest, std::sqrt(2.0) * spread);
  }
  for (const double part : shared) {
    unlike += 2 * part * part;
    largest = std::max(largest, 2 * part);
  }
  ErrorTest test;
  // Of sums in any order nothing is expected but the most that they may have.
  if (errors.at_most) expected_squares = high;
  if (expected_squares > 0) {
    // Bernstein's inequality, as of sums of squares of normal numbers (Laurent and Massart, Annals
    // of Statistics 28(5), 2000, lemma 1).
    const double t = std::log(4 / kErrorBudget), wide = std::sqrt(2 * unlike * t);
    const double most = high + wide + largest * t;
    const double least = errors.at_most ? 0 : std::max(low - wide, 0.0);
    for (double& w : weights) w /= expected_squares;
    test.squares = Limit{.statistic = Statistic::kErrorSquares,
                         .limit = most / expected_squares * (1 + kSummation),
                         .parameter = least / expected_squares};
  }
  if (is_rounded_last) test.bias = bias.limit();
  const Format& wide = format_named("float64");
  test.bounds = std::make_shared<const Tensor>(Tensor::from_values(wide, golden.shape(), bounds));
  test.weights = std::make_shared<const Tensor>(Tensor::from_values(wide, golden.shape(), weights));
  return test;
}

std::vector<double> expected_squares(const ExpectedErrors& errors,
                                     const std::vector<double>& expected) {
  const std::optional<LastRounding> last = last_rounding(errors);
  std::vector<double> squares(expected.size());
  for (std::size_t i = 0; i < squares.size(); ++i) {
    squares[i] =
        square_moments(last, expected[i], errors.mean[i], std::sqrt(errors.variance[i])).mean;
  }
  return squares;
}

namespace {

std::int64_t elements_of_inputs(const Case& c) {
  std::int64_t all = 0;
  for (const auto& [name, input] : c.inputs) all += input.size();
  return all;
}

}  // namespace

std::optional<double> times_expected(
    const Case& c, const Machine& machine,
    const std::function<double(std::int64_t index, double exact)>& allowed) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 18, kSide = 16;
  const Format& output = c.output_format();
  const Operator* op = find_operator(c.op);
  if (op == nullptr || op->expected_errors == nullptr || output.name != "float32") return {};
  if (!op->product && elements_of_inputs(c) > kMostElements) return {};
  try {
    const std::optional<ProductSample> sample =
        op->product ? std::optional(sample_of_product(c, kSide)) : std::nullopt;
    const Case& asked = sample ? sample->test_case : c;
    const bool is_known = !sample && c.golden && c.golden->format().is_float64();
    const Tensor exact = is_known ? *c.golden : golden_result(asked);
    const double expected = expected_rms(expected_errors(asked, machine), exact, output);
    double squares = 0;
    std::int64_t finite = 0;
    for (std::int64_t i = 0; i < exact.size(); ++i) {
      const double value = exact.view().value_at(i);
      const double most = allowed(sample ? sample->index[static_cast<std::size_t>(i)] : i, value);
      if (!std::isfinite(most)) continue;
      squares += most * most;
      ++finite;
    }
    const double times = std::sqrt(squares / static_cast<double>(finite)) / expected;
    return std::isfinite(times) ? std::optional(times) : std::nullopt;
  } catch (const std::invalid_argument&) {
    return {};  // theory says nothing of these operands
  }
}

std::string times_text(double times) {
  if (times < 10) return short_number(times, 2);
  // Two digits: what is known of it.
  const double unit = std::pow(10.0, std::floor(std::log10(times)) - 1);
  return times < 1e15 ? grouped(static_cast<std::int64_t>(std::round(times / unit) * unit))
                      : short_number(times, 2);
}

DerivedTolerance explained_tolerance(const Case& c) {
  DerivedTolerance tolerance = derived_tolerance(c);
  const auto named = c.text("machine");
  const auto times = times_expected(c, named ? machine_named(*named) : any_machine(),
                                    [&](std::int64_t, double exact) {
                                      return tolerance.atol + tolerance.rtol * std::abs(exact);
                                    });
  if (times) tolerance.why += formatted("; {} times the expected error", times_text(*times));
  return tolerance;
}

}  // namespace assay
