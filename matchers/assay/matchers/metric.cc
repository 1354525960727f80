#include "assay/matchers/metric.h"

#include <cmath>
#include <limits>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/blindness.h"
#include "assay/judge/complex.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

// The metrics of an output and its reference, or the reason why there are no metrics.
struct MetricsRead {
  std::optional<MatchReport> refused;
  Metrics metrics;
};

MetricsRead read_metrics(const TensorView& actual, const TensorView& expected, bool nan_equal) {
  // No error of a finite element exceeds this bound. So judge() finds only mismatches by NaN and
  // infinity.
  Bound bound;
  bound.atol = std::numeric_limits<double>::max();
  bound.round_expected = false;
  bound.nan_equal = nan_equal;
  const Verdict v = judge(actual, expected, bound, {.patterns = false});
  if (v.outcome == Outcome::kNotComparable || v.sites == 0) {
    return {MatchReport{v.outcome, v.because}, {}};
  }
  if (v.special_mismatches > 0) {
    std::string text = formatted("NaN or infinity differ in {} of {} elements",
                                 grouped(v.special_mismatches), grouped(v.sites));
    for (const Mismatch& mismatch : v.worst) {
      text += formatted("\n  {}: actual {}, expected {}", shape_text(mismatch.index),
                        value_text(actual, mismatch.linear, 9),
                        value_text(expected, mismatch.linear, 9));
    }
    return {MatchReport{Outcome::kFail, text}, *v.metrics};
  }
  if (v.metrics->compared == 0) {
    return {MatchReport{Outcome::kUntrusted, "no element is finite on both sides"}, {}};
  }
  return {std::nullopt, *v.metrics};
}

bool larger_is_better(const Metric& metric) { return metric.better == Better::kLarger; }

// Returns the reason why an output cannot be compared with a reference by a metric, as CloseTo does
// for a case.
std::optional<MatchReport> unfit(const Reference& reference, const Metric& metric,
                                 const TensorView& actual) {
  if (metric.real_only && actual.format != nullptr && actual.format->is_complex()) {
    return MatchReport{
        Outcome::kNotComparable,
        formatted("{} needs an order of the values, and complex numbers have none", metric.words)};
  }
  const Case* c = reference.as_case();
  if (c == nullptr) return std::nullopt;
  if (!c->output().golden) {
    return MatchReport{Outcome::kNotComparable, formatted("case {} has no golden result", c->name)};
  }
  std::string why_not = why_not_output(*c, *actual.format);
  if (why_not.empty()) return std::nullopt;
  return MatchReport{Outcome::kNotComparable, std::move(why_not)};
}

// Returns the report of a check that passed. It is untrusted if the check is blind to too many
// elements. `passes` returns true if an output of a sample's shape would pass. `rule` is the check
// in words.
template <typename Passes>
MatchReport passed(std::string text, const Metrics& m, const TensorView& actual,
                   const TensorView& expected, const std::string& rule, double max_blind,
                   const Passes& passes) {
  std::vector<std::int64_t> positions;
  for (const std::int64_t position : sampled_positions(expected.size())) {
    if (std::isfinite(magnitude_at(expected, position))) positions.push_back(position);
  }
  const Tensor sample = elements_at(expected, positions);
  const double share = blind_share_by_trial(
      sample, *actual.format, [&](const TensorView& output) { return passes(output, sample); });
  if (share < kNotedBlindness && m.relative > 0) return {Outcome::kPass, std::move(text)};
  if (m.relative == 0) {
    return {Outcome::kUntrusted, "an output of zeros would pass too: nothing else is expected"};
  }
  const auto blind =
      static_cast<std::int64_t>(std::llround(share * static_cast<double>(m.relative)));
  const std::string words =
      blind_words(blind, m.relative, expected.size() > kSampledElements, rule);
  if (share > max_blind || share == 1) return {Outcome::kUntrusted, words};
  return {Outcome::kPass, text + "\nnote: " + words, {words}};
}

// Returns the lines of an explanation with the position of the largest error, and with the other
// metrics.
std::string context(const Metrics& m, const TensorView& actual, const TensorView& expected) {
  const auto number = [&](const char* name) {
    const Metric& metric = metric_named(name);
    return formatted("{} {}", metric.words, metric.text(m));
  };
  std::string text = "\n" + number("max_abs_error");
  if (m.max_abs_index >= 0) {
    text +=
        formatted(" at {}: actual {}, expected {}", shape_text(actual.multi_index(m.max_abs_index)),
                  value_text(actual, m.max_abs_index, 9), value_text(expected, m.max_abs_index, 9));
  }
  return text + formatted("\n{}, {}, {}, over {} finite elements", number("snr_db"),
                          number("cosine"), number("relative_l2"), grouped(m.compared));
}

}  // namespace

MetricMatcher::MetricMatcher(Reference reference, std::string_view metric, double limit)
    : reference_(std::move(reference)), metric_(&metric_named(metric)), limit_(limit) {
  const FloatEnvironment environment;
  if (std::isnan(limit)) {
    refuse("the limit of {} must be a number, not NaN", metric);
  }
}

MatchReport MetricMatcher::check_on_host(const TensorView& actual, HostCopies& copies) const {
  const FloatEnvironment environment;
  if (const auto report = unfit(reference_, *metric_, actual)) return *report;
  const TensorView expected = copies.add(reference_.tensor_or_golden(), kReferenceName);
  const MetricsRead reading = read_metrics(actual, expected, equal_nan_.value_or(false));
  if (reading.refused) return *reading.refused;
  const auto met = [&](const Metrics& m) {
    const double value = metric_->value(m);
    return larger_is_better(*metric_) ? value >= limit_ : value <= limit_;
  };
  const double value = metric_->value(reading.metrics);
  if (!met(reading.metrics)) {
    return {Outcome::kFail,
            formatted("{} {}, {} {}", metric_->words, metric_->text(value),
                      larger_is_better(*metric_) ? "below" : "above", metric_->text(limit_)) +
                context(reading.metrics, actual, expected)};
  }
  return passed(formatted("{} {} over {} elements", metric_->words, metric_->text(value),
                          grouped(reading.metrics.compared)),
                reading.metrics, actual, expected,
                formatted("{} {} {}", metric_->words,
                          larger_is_better(*metric_) ? ">=" : "<=", metric_->text(limit_)),
                max_blind_.value_or(kMaxBlind),
                [&](const TensorView& output, const TensorView& sample) {
                  const MetricsRead trial = read_metrics(output, sample, true);
                  return !trial.refused && met(trial.metrics);
                });
}

std::string MetricMatcher::describe(bool negated) const {
  return formatted("{} {} {} {} against {}", negated ? "does not have" : "has", metric_->words,
                   larger_is_better(*metric_) ? ">=" : "<=", metric_->text(limit_),
                   reference_.text());
}

NoWorseMatcher::NoWorseMatcher(Reference reference_implementation, Reference golden)
    : reference_(std::move(reference_implementation)),
      golden_(std::move(golden)),
      metric_(&metric_named("rmse")) {}

NoWorseMatcher NoWorseMatcher::by(std::string_view metric) const {
  const Metric& row = metric_named(metric);
  if (larger_is_better(row)) {
    refuse(
        "NoWorseThan compares errors, but {} is no error, because larger is better; choose another "
        "metric",
        metric);
  }
  return with([&](auto& m) { m.metric_ = &row; });
}
NoWorseMatcher NoWorseMatcher::factor(double value) const {
  const FloatEnvironment environment;
  if (!(value > 0 && std::isfinite(value))) {
    refuse("NoWorseThan's factor must be above 0, but it is {}", value);
  }
  return with([&](auto& m) { m.factor_ = value; });
}
NoWorseMatcher NoWorseMatcher::floor(double value) const {
  const FloatEnvironment environment;
  if (!(value >= 0 && std::isfinite(value))) {
    refuse("NoWorseThan's floor must be at least 0, but it is {}", value);
  }
  return with([&](auto& m) { m.floor_ = value; });
}

MatchReport NoWorseMatcher::check_on_host(const TensorView& actual, HostCopies& copies) const {
  const FloatEnvironment environment;
  if (const auto report = unfit(golden_, *metric_, actual)) return *report;
  const TensorView golden = copies.add(golden_.tensor_or_golden(), "the golden result");
  const TensorView reference_implementation =
      copies.add(reference_.tensor_or_golden(), "the reference implementation");
  if (reference_implementation.data != nullptr && reference_implementation.data == actual.data) {
    return {Outcome::kUntrusted, "the output is the reference implementation itself"};
  }
  if (reference_implementation.data != nullptr && reference_implementation.data == golden.data) {
    return {Outcome::kUntrusted, "the golden result is the reference implementation itself"};
  }
  const MetricsRead of_reference =
      read_metrics(reference_implementation, golden, equal_nan_.value_or(false));
  if (const auto& refused = of_reference.refused) {
    // If the reference implementation fails the check for NaN and infinity, it says nothing about
    // the output.
    return {refused->outcome == Outcome::kFail ? Outcome::kUntrusted : refused->outcome,
            "of the reference implementation: " + refused->text};
  }
  const MetricsRead reading = read_metrics(actual, golden, equal_nan_.value_or(false));
  if (reading.refused) return *reading.refused;
  const double theirs = metric_->value(of_reference.metrics);
  const double limit = factor_ * std::max(theirs, floor_);
  const double ours = metric_->value(reading.metrics);
  const std::string numbers = formatted("{} {}, the reference implementation's {}", metric_->words,
                                        metric_->text(ours), metric_->text(theirs));
  const std::string allowed =
      formatted("allowed is {} x the reference implementation's{}", short_number(factor_, 4),
                theirs < floor_ ? formatted(", its floor {} taken", short_number(floor_, 4)) : "");
  if (!(ours <= limit)) {
    const std::string ratio =
        theirs > 0 ? formatted(": {} times as large", short_number(ours / theirs, 4)) : "";
    return {Outcome::kFail,
            numbers + ratio + "; " + allowed + context(reading.metrics, actual, golden)};
  }
  return passed(numbers + "; " + allowed, reading.metrics, actual, golden,
                formatted("{} <= {}", metric_->words, metric_->text(limit)),
                max_blind_.value_or(kMaxBlind),
                [&](const TensorView& output, const TensorView& sample) {
                  const MetricsRead trial = read_metrics(output, sample, true);
                  return !trial.refused && metric_->value(trial.metrics) <= limit;
                });
}

std::string NoWorseMatcher::describe(bool negated) const {
  const AnyView reference = reference_.tensor_or_golden();
  const TensorView& b = layout_of(reference);
  return formatted(
      "is {} than the {} reference implementation of shape {}: its {} is {} {} times that of the "
      "reference implementation, both measured against {}",
      negated ? "worse" : "no worse", b.format->name, shape_text(b.shape), metric_->words,
      negated ? "more than" : "at most", short_number(factor_, 4), golden_.text());
}

MetricMatcher SnrAtLeast(Reference reference, double decibels) {
  return {std::move(reference), "snr_db", decibels};
}
MetricMatcher CosineAtLeast(Reference reference, double cosine) {
  return {std::move(reference), "cosine", cosine};
}
MetricMatcher RelativeL2AtMost(Reference reference, double limit) {
  return {std::move(reference), "relative_l2", limit};
}
NoWorseMatcher NoWorseThan(Reference reference_implementation, Reference golden) {
  return {std::move(reference_implementation), std::move(golden)};
}

}  // namespace assay
