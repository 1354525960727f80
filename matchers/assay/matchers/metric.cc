#include "assay/matchers/metric.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay {
namespace {

// The metrics of a pair, or why there are none.
struct Reading {
  std::optional<MatchReport> refused;
  Metrics metrics;
};

Reading read_metrics(const TensorView& actual, const TensorView& expected, bool nan_equal) {
  // Of finite elements every error passes this bound; NaN and infinity are the judge's to settle.
  Bound bound;
  bound.atol = std::numeric_limits<double>::max();
  bound.round_expected = false;
  bound.nan_equal = nan_equal;
  const Verdict v = judge(actual, expected, bound, {.patterns = false});
  if (v.outcome == Outcome::kNotComparable || v.sites == 0) {
    return {MatchReport{v.outcome, v.because}, {}};
  }
  if (v.special_misses > 0) {
    std::string text = format("NaN or infinity differ in {} of {} elements",
                              grouped(v.special_misses), grouped(v.sites));
    for (const Miss& miss : v.worst) {
      text += format("\n  {}: actual {}, expected {}", shape_text(miss.index),
                     short_number(miss.actual, 9), short_number(miss.expected, 9));
    }
    return {MatchReport{Outcome::kFail, text}, *v.metrics};
  }
  if (v.metrics->compared == 0) {
    return {MatchReport{Outcome::kUntrusted, "no element is finite on both sides"}, {}};
  }
  return {std::nullopt, *v.metrics};
}

bool larger_is_better(const Metric& metric) { return metric.better == Better::kLarger; }

// Why an output cannot be held against a reference: what CloseTo says of a case.
std::optional<MatchReport> unfit(const Reference& reference, const TensorView& actual) {
  const Case* c = reference.as_case();
  if (c == nullptr) return std::nullopt;
  if (!c->golden) {
    return MatchReport{Outcome::kNotComparable, format("case {} has no golden result", c->name)};
  }
  std::string why_not = c->why_not_output(*actual.format);
  if (why_not.empty()) return std::nullopt;
  return MatchReport{Outcome::kNotComparable, std::move(why_not)};
}

// An output of zeros, without memory for it.
class Zeros {
 public:
  Zeros(const Format& f, const Shape& shape) {
    view_ = view_bytes(bits_, f, shape, Strides(shape.size(), 0));
  }
  const TensorView& view() const { return view_; }

 private:
  std::uint64_t bits_[1] = {};
  TensorView view_;
};

// Where the largest error is, and the other numbers beside it.
std::string context(const Metrics& m, const TensorView& actual, const TensorView& expected) {
  const auto number = [&](const char* name) {
    const Metric& metric = metric_named(name);
    return format("{} {}", metric.words, metric.text(m));
  };
  std::string text = "\n" + number("max_abs_error");
  if (m.max_abs_index >= 0) {
    text +=
        format(" at {}: actual {}, expected {}", shape_text(actual.multi_index(m.max_abs_index)),
               short_number(actual.value_at(m.max_abs_index), 9),
               short_number(expected.value_at(m.max_abs_index), 9));
  }
  return text + format("\n{}, {}, {}, over {} finite elements", number("snr_db"), number("cosine"),
                       number("relative_l2"), grouped(m.compared));
}

}  // namespace

MetricMatcher::MetricMatcher(Reference reference, std::string_view metric, double limit)
    : reference_(std::move(reference)), metric_(&metric_named(metric)), limit_(limit) {
  const FloatEnvironment environment;
  if (std::isnan(limit)) {
    throw std::invalid_argument(format("the limit of {} must be a number, not NaN", metric));
  }
}

MatchReport MetricMatcher::check(const TensorView& actual) const {
  const FloatEnvironment environment;
  if (const auto report = unfit(reference_, actual)) return *report;
  const TensorView expected = reference_.tensor_or_golden();
  const Reading reading = read_metrics(actual, expected, equal_nan_.value_or(false));
  if (reading.refused) return *reading.refused;
  const auto met = [&](const Metrics& m) {
    const double value = metric_->value(m);
    return larger_is_better(*metric_) ? value >= limit_ : value <= limit_;
  };
  const double value = metric_->value(reading.metrics);
  if (!met(reading.metrics)) {
    return {Outcome::kFail,
            format("{} {}, {} {}", metric_->words, metric_->text(value),
                   larger_is_better(*metric_) ? "below" : "above", metric_->text(limit_)) +
                context(reading.metrics, actual, expected)};
  }
  const Zeros zeros(*actual.format, actual.shape);
  const Reading of_zeros = read_metrics(zeros.view(), expected, equal_nan_.value_or(false));
  if (!of_zeros.refused && met(of_zeros.metrics)) {
    return {Outcome::kUntrusted,
            format("an output of zeros would pass too: its {} is {}", metric_->words,
                   metric_->text(metric_->value(of_zeros.metrics)))};
  }
  return {Outcome::kPass, format("{} {} over {} elements", metric_->words, metric_->text(value),
                                 grouped(reading.metrics.compared))};
}

std::string MetricMatcher::describe(bool negated) const {
  return format("{} {} {} {} against {}", negated ? "does not have" : "has", metric_->words,
                larger_is_better(*metric_) ? ">=" : "<=", metric_->text(limit_), reference_.text());
}

NoWorseMatcher::NoWorseMatcher(Reference benchmark, Reference golden)
    : benchmark_(std::move(benchmark)),
      golden_(std::move(golden)),
      metric_(&metric_named("rmse")) {}

NoWorseMatcher NoWorseMatcher::by(std::string_view metric) const {
  const Metric& row = metric_named(metric);
  if (larger_is_better(row)) {
    throw std::invalid_argument(
        format("NoWorseThan compares errors, and {} is none: larger is better", metric));
  }
  return with([&](auto& m) { m.metric_ = &row; });
}
NoWorseMatcher NoWorseMatcher::factor(double value) const {
  const FloatEnvironment environment;
  if (!(value > 0 && std::isfinite(value))) {
    throw std::invalid_argument(
        format("NoWorseThan's factor must be above 0, but it is {}", value));
  }
  return with([&](auto& m) { m.factor_ = value; });
}
NoWorseMatcher NoWorseMatcher::floor(double value) const {
  const FloatEnvironment environment;
  if (!(value >= 0 && std::isfinite(value))) {
    throw std::invalid_argument(
        format("NoWorseThan's floor must be at least 0, but it is {}", value));
  }
  return with([&](auto& m) { m.floor_ = value; });
}

MatchReport NoWorseMatcher::check(const TensorView& actual) const {
  const FloatEnvironment environment;
  if (const auto report = unfit(golden_, actual)) return *report;
  const TensorView golden = golden_.tensor_or_golden();
  const TensorView benchmark = benchmark_.tensor_or_golden();
  if (benchmark.data != nullptr && benchmark.data == actual.data) {
    return {Outcome::kUntrusted, "the output is the benchmark itself"};
  }
  if (benchmark.data != nullptr && benchmark.data == golden.data) {
    return {Outcome::kUntrusted, "the golden result is the benchmark itself"};
  }
  const Reading of_benchmark = read_metrics(benchmark, golden, equal_nan_.value_or(false));
  if (const auto& refused = of_benchmark.refused) {
    // A benchmark that is broken says nothing about the output.
    return {refused->outcome == Outcome::kFail ? Outcome::kUntrusted : refused->outcome,
            "of the benchmark: " + refused->text};
  }
  const Reading reading = read_metrics(actual, golden, equal_nan_.value_or(false));
  if (reading.refused) return *reading.refused;
  const double theirs = metric_->value(of_benchmark.metrics);
  const double limit = factor_ * std::max(theirs, floor_);
  const double ours = metric_->value(reading.metrics);
  const std::string numbers = format("{} {}, the benchmark's {}", metric_->words,
                                     metric_->text(ours), metric_->text(theirs));
  const std::string allowed =
      format("allowed is {} x the benchmark's{}", short_number(factor_, 4),
             theirs < floor_ ? format(", its floor {} taken", short_number(floor_, 4)) : "");
  if (!(ours <= limit)) {
    const std::string ratio =
        theirs > 0 ? format(": {} times as large", short_number(ours / theirs, 4)) : "";
    return {Outcome::kFail,
            numbers + ratio + "; " + allowed + context(reading.metrics, actual, golden)};
  }
  const Zeros zeros(*actual.format, actual.shape);
  const Reading of_zeros = read_metrics(zeros.view(), golden, equal_nan_.value_or(false));
  if (!of_zeros.refused && metric_->value(of_zeros.metrics) <= limit) {
    return {Outcome::kUntrusted,
            format("an output of zeros would pass too: its {} is {}, the benchmark's {}",
                   metric_->words, metric_->text(metric_->value(of_zeros.metrics)),
                   metric_->text(theirs))};
  }
  return {Outcome::kPass, numbers + "; " + allowed};
}

std::string NoWorseMatcher::describe(bool negated) const {
  const TensorView b = benchmark_.tensor_or_golden();
  return format("is {} than the {} benchmark of shape {} against {} ({} at most {} x)",
                negated ? "worse" : "no worse", b.format->name, shape_text(b.shape), golden_.text(),
                metric_->words, short_number(factor_, 4));
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
NoWorseMatcher NoWorseThan(Reference benchmark, Reference golden) {
  return {std::move(benchmark), std::move(golden)};
}

}  // namespace assay
