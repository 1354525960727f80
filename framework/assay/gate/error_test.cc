#include "assay/gate/error_test.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "assay/base/parallel.h"
#include "assay/gate/digit_sums.h"
#include "assay/gate/square_moments.h"
#include "assay/judge/subject_passes.h"
#include "assay/simd/square_moments_kernel.h"

namespace assay::inline v0_2 {
namespace {

// The factor by which the theory's standard deviations may be wrong.
constexpr double kMargin = 1.15;
// A generous bound on the relative error of a sum of squares in float64.
constexpr double kSummation = 1e-6;
// A float64 golden result is itself rounded, and functions are within some ulps of the exact
// result.
constexpr double kGoldenError = 0x1p-51;
// The mean error, in ulps, that all elements may have in common although the theory counts it as
// chance in each of them. It is a function's mean error, or the drift of a sum.
constexpr double kBiasAllowed = 0.125;
constexpr double kBiasOfTruncation = 0.5;
// Right results may have smaller errors than the theory predicts. So the limit of the mean error is
// the largest one for this many sizes of the errors: from 0 to the predicted size, in equal steps.
constexpr std::size_t kParts = 3;

// Returns the standard deviation of an element's error before its last rounding, including the
// error of its golden value.
double deviation_of(const ExpectedErrors& errors, std::size_t i, double golden) {
  const double own = kGoldenError * golden;
  return std::sqrt(errors.variance[i] + own * own);
}

// True if the theory predicts an error for this element. It predicts none for infinite elements and
// those that the output cannot represent.
bool has_error(double golden, double most_finite) {
  return std::isfinite(golden) && std::abs(golden) <= most_finite;
}

// The error that the elements of a line have in common (a line is a set of elements such as a row):
// its part in each element's squared error, and its part in the error itself.
struct LineShare {
  std::int32_t line;
  double squares, errors;
};

// The sums over the elements of a stretch.
struct ErrorSums {
  // Predicted sums of the weighted squares of the errors, and in `largest` the largest step of one
  // term.
  double expected = 0, high = 0, low = 0, largest = 0;
  // For the mean error in ulps of the output, which is above 0 for errors away from zero: the sums
  // of its weights, of the drifts, and of the weighted mean errors.
  double weights = 0, drift = 0;
  std::array<double, kParts> centre = {};
  std::vector<LineShare> lines;

  void add(const ErrorSums& more) {
    expected += more.expected;
    high += more.high;
    low += more.low;
    largest = std::max(largest, more.largest);
    weights += more.weights;
    drift += more.drift;
    for (std::size_t part = 0; part < kParts; ++part) centre[part] += more.centre[part];
    lines.insert(lines.end(), more.lines.begin(), more.lines.end());
  }
  void add(const LineShare& share) {
    if (lines.empty() || lines.back().line != share.line) {
      lines.push_back(share);
    } else {
      lines.back().squares += share.squares;
      lines.back().errors += share.errors;
    }
  }
};

// The elements of a block that have an expected error, and the distribution of each one's error.
struct ErrorBlock {
  static constexpr std::size_t kMost = 256;
  using Values = std::array<double, kMost>;

  std::size_t n = 0;
  std::array<std::size_t, kMost> index;  // each element's index in the tensor
  Values e, mean, drift, deviation, weight;
  // The factor of an element's error in the mean error, and the element's weight there. The weight
  // is 0 if the element does not count.
  Values factor, share;
  // The standard deviations of each element's terms: in the sum of squares, and in the mean error.
  Values spread, bias_spread;
  Values square;
  Values of_mean, of_deviation;  // arguments of BlockMoments::compute(), which moments() fills
  BlockMoments most = BlockMoments(kMost), other = most, least = most, expected = most;
};

// Adds up the theory's predictions over all elements.
class ErrorTheory {
 public:
  ErrorTheory(const ExpectedErrors& errors, const Tensor& golden, const Format& output, int threads)
      : errors_(errors),
        golden_(golden.view()),
        last_(last_rounding(errors)),
        threads_(threads),
        kappa_(std::sqrt(2 * std::log(4 * static_cast<double>(golden.size()) / kErrorBudget))),
        most_finite_(max_finite(output)),
        bias_rule_(output),
        has_bias_(errors.last == &output && output.precision < 24),
        bounds_(format_named("float64"), golden.shape()),
        weights_(format_named("float64"), golden.shape()) {}

  ErrorTest test() {
    DigitSums alike(golden_, has_bias_ ? 2 : 1, threads_);
    std::vector<ErrorSums> stretches(static_cast<std::size_t>(alike.stretches()));
    parallel_for(alike.stretches(), threads_, [&](std::int64_t s) {
      add_stretch(alike.begin(s), alike.begin(s + 1), alike.stretch(s),
                  stretches[static_cast<std::size_t>(s)]);
    });
    ErrorSums all;
    for (const ErrorSums& stretch : stretches) all.add(stretch);
    const DigitSums::Totals totals = alike.totals();
    // For each line, the sums over all stretches.
    std::vector<double> squares, shared;
    for (const LineShare& share : all.lines) {
      const auto line = static_cast<std::size_t>(share.line);
      if (squares.size() <= line) squares.resize(line + 1), shared.resize(line + 1);
      squares[line] += share.squares;
      shared[line] += share.errors;
    }
    ErrorTest test{.squares = limit_of_squares(all, totals.terms, squares)};
    if (has_bias_) test.bias = limit_of_bias(all, totals.other_terms, shared);
    test.bounds = std::make_shared<const Tensor>(std::move(bounds_));
    test.weights = std::make_shared<const Tensor>(std::move(weights_));
    return test;
  }

 private:
  double* bounds() { return reinterpret_cast<double*>(bounds_.bytes()); }
  double* weights() { return reinterpret_cast<double*>(weights_.bytes()); }

  void add_stretch(std::int64_t begin, std::int64_t end, DigitSums::Stretch alike,
                   ErrorSums& sums) {
    constexpr auto kMost = static_cast<std::int64_t>(ErrorBlock::kMost);
    ErrorBlock block;
    for (std::int64_t first = begin; first < end; first += kMost) {
      bound(first, std::min(kMost, end - first), block, alike);
      compute_moments(block);
      add_squares(block, sums);
      if (has_bias_) add_bias(block, sums);
      if (!errors_.line.empty()) add_lines(block, sums);
      for (std::size_t j = 0; j < block.n; ++j) {
        alike.add(block.e[j], block.spread[j], has_bias_ ? block.bias_spread[j] : 0);
      }
    }
  }

  // Writes the bounds and weights of elements. The block then has only the elements that have a
  // weight.
  void bound(std::int64_t first, std::int64_t count, ErrorBlock& block, DigitSums::Stretch& alike) {
    const auto begin = static_cast<std::size_t>(first), n = static_cast<std::size_t>(count);
    double* const to = bounds() + first;
    double* const weight = weights() + first;
    ErrorBlock::Values golden, deviations, squares;
    golden_.read(first, count, golden.data());
    const bool by_kernel = last_ && last_->digits().most > 0;
    if (by_kernel) {
      simd::error_bounds(last_->digits(), kGoldenError, kappa_ * kMargin, n,
                         {golden.data(), errors_.mean.data() + first,
                          errors_.variance.data() + first, errors_.drift.data() + first},
                         {deviations.data(), to, squares.data()});
    }
    block.n = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = begin + k;
      const double e = golden[k];
      // Few elements need the scalar code. One of them is an element that may exceed the largest
      // finite output.
      if (!by_kernel || std::isnan(squares[k]) || !(std::abs(e) + to[k] < most_finite_)) {
        bound_one(i, e, deviations[k], to[k], squares[k]);
      }
      if (!(squares[k] > 0 && std::isfinite(squares[k]))) {
        weight[k] = 0;
        alike.add(e, 0);
        continue;
      }
      const std::size_t j = block.n++;
      block.index[j] = i;
      block.e[j] = e;
      block.mean[j] = errors_.mean[i];
      block.drift[j] = errors_.drift[i];
      block.deviation[j] = deviations[k];
      block.weight[j] = weight[k] = 1 / squares[k];
    }
    for (std::size_t j = 0; j < block.n && has_bias_; ++j) {
      const double e = block.e[j], ulp = bias_rule_.counts(e) ? bias_rule_.ulps.ulp(e) : 0;
      block.factor[j] = std::copysign(block.weight[j] * ulp, e);
      block.share[j] = block.weight[j] * ulp * ulp;
    }
  }

  // Computes one element that the kernel does not. If the square is 0, the theory predicts no
  // error.
  void bound_one(std::size_t i, double e, double& deviation, double& bound, double& square) const {
    deviation = bound = square = 0;
    if (!has_error(e, most_finite_)) return;
    deviation = deviation_of(errors_, i, e);
    if (std::isnan(deviation)) deviation = std::numeric_limits<double>::infinity();
    const double mean = errors_.mean[i], reach = errors_.drift[i] + kappa_ * kMargin * deviation;
    for (const double x : {mean - reach, mean + reach}) {
      const double value = last_ ? last_->rounded(e + x) : e + x;
      bound = std::max(bound, std::abs(std::clamp(value, -most_finite_, most_finite_) - e));
    }
    square = mean_square(errors_, i, deviation, last_ ? last_->ulp(e) : 0);
  }

  // Computes the moments of a block. The means come from `mean`, and the standard deviations are
  // those of the block times `factor`.
  template <typename Mean>
  void moments(ErrorBlock& block, double factor, const Mean& mean, BlockMoments& to) const {
    for (std::size_t j = 0; j < block.n; ++j) {
      block.of_mean[j] = mean(block.mean[j], block.drift[j]);
      block.of_deviation[j] = factor * block.deviation[j];
    }
    to.compute(last_, block.n, block.e.data(), block.of_mean.data(), block.of_deviation.data());
  }

  void compute_moments(ErrorBlock& block) const {
    moments(
        block, kMargin,
        [](double mean, double drift) { return std::copysign(std::abs(mean) + drift, mean); },
        block.most);
    // If the drift exceeds the mean, the error may have either sign. The nearest tie may then lie
    // on either side of the golden result, so both signs are tried and the larger moments are kept.
    const auto has_two_signs = [&](std::size_t j) {
      return block.drift[j] > std::abs(block.mean[j]);
    };
    bool any = false;
    for (std::size_t j = 0; j < block.n; ++j) any = any || has_two_signs(j);
    if (any) {
      moments(
          block, kMargin,
          [](double mean, double drift) { return mean - std::copysign(drift, mean); }, block.other);
      for (std::size_t j = 0; j < block.n; ++j) {
        if (has_two_signs(j)) block.most.raise(block.other, j);
      }
    }
    if (errors_.at_most && !has_bias_) return;
    moments(
        block, 1, [](double mean, double) { return mean; }, block.expected);
    if (errors_.at_most) return;
    block.of_deviation = block.deviation;
    for (std::size_t j = 0; j < block.n; ++j) block.of_deviation[j] /= kMargin;
    for (std::size_t j = 0; j < block.n; ++j) {
      block.of_mean[j] =
          std::copysign(std::max(std::abs(block.mean[j]) - block.drift[j], 0.0), block.mean[j]);
    }
    block.least.compute(last_, block.n, block.e.data(), block.of_mean.data(),
                        block.of_deviation.data());
  }

  void add_squares(ErrorBlock& block, ErrorSums& sums) const {
    for (std::size_t j = 0; j < block.n; ++j) {
      const double w = block.weight[j];
      sums.high += w * block.most.mean[j];
      sums.largest = std::max(sums.largest, w * block.most.jump[j] / 3);
      if (errors_.at_most) continue;
      sums.low += w * block.least.mean[j];
      sums.expected += w * block.expected.mean[j];
    }
    simd::scaled_roots(block.n, block.weight.data(), block.most.variance.data(),
                       block.spread.data());
  }

  // Adds the part of the errors that the elements of a line have in common.
  void add_lines(ErrorBlock& block, ErrorSums& sums) const {
    for (std::size_t j = 0; j < block.n; ++j) block.square[j] = errors_.shared[block.index[j]];
    const bool adds_errors = has_bias_ && errors_.pull.empty();
    ErrorBlock::Values of_errors;
    if (adds_errors) {
      simd::scaled_roots(block.n, block.factor.data(), block.square.data(), of_errors.data());
    }
    for (std::size_t j = 0; j < block.n; ++j) {
      sums.add(LineShare{errors_.line[block.index[j]],
                         block.weight[j] * kMargin * kMargin * block.square[j],
                         adds_errors ? of_errors[j] : 0});
    }
  }

  // Adds the distribution of the elements' mean error towards or away from zero, in ulps of the
  // output (error_bias() of judge/subject_passes.h).
  void add_bias(ErrorBlock& block, ErrorSums& sums) const {
    const auto own_mean = [](double mean, double) { return mean; };
    for (std::size_t part = 0; part + 1 < kParts; ++part) {
      moments(block, static_cast<double>(part) / (kParts - 1), own_mean, block.other);
      for (std::size_t j = 0; j < block.n; ++j) {
        sums.centre[part] += block.other.mean_error[j] * block.factor[j];
      }
    }
    for (std::size_t j = 0; j < block.n; ++j) {
      const double mean_error = block.expected.mean_error[j];
      sums.weights += block.share[j];
      sums.drift += block.drift[j] * std::abs(block.factor[j]);
      sums.centre[kParts - 1] += mean_error * block.factor[j];
      block.square[j] = block.expected.mean[j] - mean_error * mean_error;
    }
    simd::scaled_roots(block.n, block.factor.data(), block.square.data(), block.bias_spread.data());
  }

  // Scales the weights so that a sum of 1 is expected, and returns the limit of the sum. `alike`
  // and `lines` are sums of standard deviations: over elements that share their digits, and over
  // lines.
  std::optional<Limit> limit_of_squares(const ErrorSums& sums, const DigitSums::Total& alike,
                                        const std::vector<double>& lines) {
    double unlike = alike.squares;
    double largest = std::max(sums.largest, std::sqrt(2.0) * alike.largest);
    for (const double part : lines) {
      unlike += 2 * part * part;
      largest = std::max(largest, 2 * part);
    }
    // If sums are added in any order, the theory gives only the largest error, and not the expected
    // one.
    const double expected = errors_.at_most ? sums.high : sums.expected;
    if (!(expected > 0)) return std::nullopt;
    // Bernstein's inequality, as for sums of squares of normal numbers (Laurent and Massart, Annals
    // of Statistics 28(5), 2000, lemma 1).
    const double t = std::log(4 / kErrorBudget), wide = std::sqrt(2 * unlike * t);
    const double most = sums.high + wide + largest * t;
    const double least = errors_.at_most ? 0 : std::max(sums.low - wide, 0.0);
    parallel_ranges(weights_.size(), threads_, [&](std::int64_t first, std::int64_t count) {
      double* const w = weights() + first;
      for (std::int64_t i = 0; i < count; ++i) w[i] /= expected;
    });
    return Limit{.statistic = Statistic::kErrorSquares,
                 .limit = most / expected * (1 + kSummation),
                 .parameter = least / expected};
  }

  // Returns the limit of the mean error of all elements, in ulps of the output. Returns nothing if
  // the limit would be so large that truncated results could pass, or if no element counts. `alike`
  // and `lines` are sums of standard deviations: over elements that share their digits, and over
  // lines.
  std::optional<Limit> limit_of_bias(const ErrorSums& sums, const DigitSums::Total& alike,
                                     const std::vector<double>& lines) const {
    if (sums.weights == 0) return std::nullopt;
    double variance =
        std::accumulate(errors_.pull.begin(), errors_.pull.end(), 0.0) + alike.squares;
    for (const double sum : lines) variance += sum * sum;
    double centre = 0;
    for (const double c : sums.centre) centre = std::max(centre, std::abs(c));
    const double kappa = std::sqrt(2 * std::log(4 / kErrorBudget));
    const double sum = centre + sums.drift + kappa * kMargin * std::sqrt(variance);
    const double limit = kBiasAllowed + sum / sums.weights;
    if (!(limit < kBiasOfTruncation)) return std::nullopt;
    return Limit{.statistic = Statistic::kErrorBias, .limit = limit};
  }

  const ExpectedErrors& errors_;
  TensorView golden_;
  std::optional<LastRounding> last_;
  int threads_;
  double kappa_, most_finite_;
  ErrorBiasRule bias_rule_;
  // True if the last rounding is to the output's format, and if this format is coarse enough for
  // the test of the mean error.
  bool has_bias_;
  Tensor bounds_, weights_;
};

}  // namespace

double expected_rms(const ExpectedErrors& errors, const Tensor& golden, const Format& output) {
  const std::vector<double> expected = golden.view().values();
  const double most_finite = max_finite(output);
  const std::optional<LastRounding> last = last_rounding(errors);
  double squares = 0, count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i];
    if (!has_error(e, most_finite)) continue;
    squares += square_moments(last, e, errors.mean[i], deviation_of(errors, i, e)).mean;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(squares / count);
}

ErrorTest error_test(const ExpectedErrors& errors, const Tensor& golden, const Format& output,
                     int threads) {
  return ErrorTheory(errors, golden, output, threads).test();
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

}  // namespace assay
