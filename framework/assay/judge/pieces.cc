#include "assay/judge/pieces.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/exact.h"

namespace assay {
namespace {

constexpr std::size_t kKept = 64;  // misses kept of each piece, to see the pattern they form
constexpr std::int64_t kBlock = MetricsPass::kBlock;  // elements decoded at a time

}  // namespace

bool PiecewiseJudge::can_judge(const Bound& bound) {
  // Limits and budgets are about all elements at once.
  const bool of_all = !bound.limits.empty() || bound.max_mismatches || bound.max_mismatch_fraction;
  return !of_all && !bound.needs_benchmark() && bound.rule != Rule::kGiven &&
         bound.rule != Rule::kStatistics;
}

PiecewiseJudge::PiecewiseJudge(const Format& actual, Shape shape, const Bound& bound)
    : format_(actual), bound_(bound), metrics_(format_, bound_) {
  const FloatEnvironment environment;
  if (!can_judge(bound)) {
    throw std::invalid_argument(
        format("standard {} judges an array as a whole, not in pieces", bound.standard));
  }
  sum_.bound = bound;
  sum_.format = &format_;
  sum_.shape = std::move(shape);
}

void PiecewiseJudge::add(const TensorView& actual, const TensorView& expected) {
  const FloatEnvironment environment;
  if (actual.format != &format_ || actual.rank() != 1 || actual.shape != expected.shape ||
      sum_.sites % kUnit != 0 || sum_.sites + actual.size() > element_count(sum_.shape)) {
    throw std::invalid_argument("PiecewiseJudge: the pieces do not follow one another");
  }
  JudgeOptions options;
  options.metrics = false;
  options.worst = kKept;
  Verdict v = judge(actual, expected, bound_, options);
  if (v.outcome == Outcome::kNotComparable) throw std::invalid_argument(v.because);
  any_passed_ |= v.outcome == Outcome::kPass;
  any_failed_ |= v.outcome == Outcome::kFail;
  if (v.outcome == Outcome::kUntrusted && (untrusted_.empty() || v.misses == 0)) {
    untrusted_ = v.because;
  }
  for (Miss& miss : v.worst) {
    miss.linear += sum_.sites;
    sum_.worst.push_back(std::move(miss));
  }
  std::stable_sort(sum_.worst.begin(), sum_.worst.end(), worse_miss);
  if (sum_.worst.size() > kKept) sum_.worst.resize(kKept);
  add_metrics(actual, expected);
  sum_.sites += v.sites;
  sum_.misses += v.misses;
  sum_.special_misses += v.special_misses;
  sum_.worst_ratio = std::max(sum_.worst_ratio, v.worst_ratio);
}

void PiecewiseJudge::add_metrics(const TensorView& actual, const TensorView& expected) {
  const std::int64_t size = actual.size(), parts = (size + kUnit - 1) / kUnit;
  std::vector<MetricsPass> passes(static_cast<std::size_t>(parts), MetricsPass(format_, bound_));
  parallel_for(parts, 0, [&](std::int64_t p) {
    MetricsPass& pass = passes[static_cast<std::size_t>(p)];
    double a[kBlock], e[kBlock], rounded[kBlock], errors[kBlock];
    const std::int64_t end = std::min(size, (p + 1) * kUnit);
    for (std::int64_t first = p * kUnit; first < end; first += kBlock) {
      const std::int64_t count = std::min(kBlock, end - first);
      const auto n = static_cast<std::size_t>(count);
      actual.read(first, count, a);
      expected.read(first, count, e);
      double* judged = e;
      if (expected.format != &format_) {
        judged = rounded;
        std::memcpy(rounded, e, n * sizeof(double));
        round_array(format_, rounded, n);
      }
      const bool exact = exact_errors(actual, expected, first, n, errors);
      pass.add(a, e, judged, n, sum_.sites + first, exact ? errors : nullptr);
      compare_nan_bits(pass, actual, expected, first, n, a, judged);
    }
    pass.finish();
  });
  for (const MetricsPass& pass : passes) metrics_.merge(pass);
}

Verdict PiecewiseJudge::result() const {
  const FloatEnvironment environment;
  Verdict v = sum_;
  if (v.sites == 0) {
    v.outcome = Outcome::kUntrusted;
    v.because = "there are no elements to compare";
    return v;
  }
  v.metrics = metrics_.result();
  if (bound_.is_plain()) {
    v.worst_ratio = std::max(v.worst_ratio, metrics_.worst_ratio());
  }
  const TensorView whole{nullptr, &format_, v.shape, contiguous_strides(v.shape)};
  for (Miss& miss : v.worst) miss.index = whole.multi_index(miss.linear);
  if (v.misses > 0 && v.misses <= static_cast<std::int64_t>(v.worst.size())) {
    std::vector<std::int64_t> positions;
    for (const Miss& miss : v.worst) positions.push_back(miss.linear);
    std::sort(positions.begin(), positions.end());
    if (any_failed_) v.where = location_pattern(positions, v.shape);
  }
  const std::size_t listed = JudgeOptions{}.worst;
  if (v.worst.size() > listed) v.worst.resize(listed);
  if (v.misses == 0 && any_passed_) {
    v.because = format("all {} elements within {}", grouped(v.sites), bound_.text());
  } else if (v.misses == 0) {
    v.outcome = Outcome::kUntrusted;
    v.because = untrusted_;
  } else {
    v.outcome = any_failed_ ? Outcome::kFail : Outcome::kUntrusted;
    const double percent = 100.0 * static_cast<double>(v.misses) / static_cast<double>(v.sites);
    v.because =
        format("{} of {} elements ({} %) {} by more than {}", grouped(v.misses), grouped(v.sites),
               short_number(percent, 3), v.misses == 1 ? "differs" : "differ", bound_.text());
    if (!any_failed_) v.because += format(", which no {} result can meet", format_.name);
  }
  return v;
}

}  // namespace assay
