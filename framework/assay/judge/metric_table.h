// The one table of error metrics: the name of each, how it is read, and how standards limit it.
// Standards, saved results (`assay regate`), matchers, JSON (written and read), text and HTML all
// use this table. docs/judging.md defines the metrics. docs/how_to_add.md lists the steps for a new
// one: a field of Metrics, its computation in metrics_pass.cc, a row here, and a Statistic if it
// can be limited.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "assay/judge/metrics.h"

namespace assay::inline v0_2 {

// The statistics that standards limit. They cover all elements that are finite on both sides. `e`
// is the expected value, `a` the output, and d = a - e. The denominator of a ratio is the same
// statistic of a reference implementation's output.
enum class Statistic : std::uint8_t {
  kMere,          // mean |d| / (|e| + 1e-7)
  kMare,          // max |d| / (|e| + 1e-7)
  kErrorBalance,  // |mean d / max(1, |e|)|
  kDiff1,         // sum |d| / sum |e|
  kDiff2,         // sqrt(sum d^2 / sum e^2)
  // The cosine of the angle between both tensors. A standard's limit allows only values above it,
  // but the matcher CosineAtLeast also allows the limit itself.
  kCosine,
  kMaxAbs,        // max |d|
  kMeanAbs,       // mean |d|
  kMaxRelative,   // max |d| / |e|, with 2^-52 in place of an |e| of 0
  kMeanRelative,  // the mean of the relative errors of kMaxRelative
  kRmse,          // the root mean square of d
  kNmse,          // sum d^2 / sum a^2: divided by the output's squares, as ggml does
  // The quantile `parameter` of |d|, interpolated linearly between two elements.
  kQuantileAbs,
  // The same quantile of the relative errors, which kMaxRelative defines.
  kQuantileRelative,
  kShareAbs,       // share of elements with |d| > parameter
  kShareRelative,  // share of elements with |d| / |e| >= parameter and d not 0
  kShareUlps,      // share of elements more than `parameter` ulp apart
  kMeanUlps,       // mean distance in ulp
  kCalcDiff,       // 1 - 2 sum a e / sum (a^2 + e^2)
  // The output's MARE divided by that of the reference implementation. The divisor is at least a
  // floor (docs/judging.md).
  kMareRatio,
  kMereRatio,  // a ratio like kMareRatio, but of MERE
  kRmseRatio,  // a ratio like kMareRatio, but of kRmse
  // The number of elements with |e| < parameter and |d| > second, divided by this number for the
  // reference implementation.
  kSmallErrors,
  kMaxAbsUlps,  // max |d| in ulp of the expected value, rounded to the output's dtype
  // kMareRatio, kMereRatio and kRmseRatio, computed only from the elements with |e| >= parameter.
  // They are 0 if there are no such elements. The divisors are at least the parameter.
  kLargeMareRatio,
  kLargeMereRatio,
  kLargeRmseRatio,
  // max |d| divided by a sum. The sum is twice max |d| of the reference implementation, plus twice
  // the largest |(e + 0.3) - 0.3 - e|. The latter is the error that rounding in the output's format
  // makes in (e + 0.3) - 0.3.
  kNoiseRatio,
  // sum w d^2, where w is the weight of an element. Files cannot name it, because a case gives the
  // weights.
  kErrorSquares,
  // |sum w ulp(e)^2 (d sign(e) / ulp(e))| / sum w ulp(e)^2: how far results lie towards zero, or
  // away from it. Files cannot name this statistic, because a case gives the weights.
  kErrorBias,
};
// Number of the statistics that files may name, which come first.
inline constexpr int kStatisticCount = 28;

// The value of a metric: exact if low == high, otherwise known to the resolution of the histograms.
struct MetricValue {
  double low = 0, high = 0;
};

// The inputs of a statistic. `output` covers the elements that are finite on both sides.
struct StatisticSource {
  const Metrics* output = nullptr;
  // Metrics of the reference implementation's output, over the same elements.
  const Metrics* reference_implementation = nullptr;
  double roundoff = 0;      // the unit roundoff of the output's format
  double expected_rms = 0;  // the root mean square of the expected values
};

// The ways in which a value is compared with its limit.
enum class LimitSense : std::uint8_t { kBelow, kAtMost, kAbove, kAtLeast };
// A row of the table of these ways. `met` returns true if the value keeps the limit.
struct LimitSenseRow {
  LimitSense sense;
  std::string_view name, sign;  // "at_most" is the name in files, and "<=" the sign in sentences
  bool (*met)(double value, double limit);
};
// Return all rows of the table, and the row of one way.
std::span<const LimitSenseRow> limit_senses();
const LimitSenseRow& row_of(LimitSense sense);
// True if both limits ask for a small value, or both for a large one.
bool same_direction(LimitSense a, LimitSense b);

// A number of elements: the smallest and the largest that fit the metrics. Empty if the metrics do
// not give it.
using MetricCount = std::optional<std::pair<std::int64_t, std::int64_t>>;

// The way in which standards limit a metric.
struct MetricLimit {
  Statistic statistic;
  LimitSense sense;
  // The name and the words that standards use, if they differ from the metric's own. '{}' in the
  // words is replaced by the first parameter.
  std::string_view name = {}, words = {};
  int parameters = 0;           // how many numbers the statistic takes: 0, 1 or 2
  bool over_reference = false;  // the statistic is divided by that of the reference implementation
  unsigned parts = 1;           // the simd::MetricsPart that a pass must compute
  // Returns the number of elements that a share or a number of errors counts. Null for other
  // statistics.
  MetricCount (*counted)(const Metrics& metrics, double parameter, double second) = nullptr;
  // For a ratio of errors over the elements with |e| >= parameter only: the error metric. Null for
  // other statistics.
  double Metrics::*of_large = nullptr;
  // Returns the statistic, or nothing if the metrics do not hold it. If the pointer is null, the
  // statistic is the share of the elements that `counted` counts, or the metric's own value.
  std::optional<MetricValue> (*read)(const StatisticSource& source, double parameter,
                                     double second) = nullptr;
};

// The values of a metric that stand for the better output.
enum class Better : std::uint8_t { kNeither, kSmaller, kLarger };

// The way in which a field is combined from two parts of a tensor. kNot means that it is computed
// from other fields, or combined in another way.
enum class Merge : std::uint8_t { kNot, kSum, kLargest };

// The member of Metrics that holds a metric. std::monostate means that there is no such member.
using MetricField =
    std::variant<std::monostate, bool Metrics::*, std::int64_t Metrics::*, std::uint64_t Metrics::*,
                 double Metrics::*, Tally Metrics::*, Histogram Metrics::*>;

// A row of the table of metrics.
struct Metric {
  std::string_view name;        // the name in JSON, in files of standards and for matchers
  std::string_view words = {};  // the name in sentences and tables
  std::string_view unit = {};   // the text after the number: " dB"
  // kNeither if the metric cannot say which of two outputs is better.
  Better better = Better::kNeither;
  int digits = 4;          // significant digits in texts
  MetricField field = {};  // the member of Metrics, or empty if only standards use the metric
  std::optional<MetricLimit> limit = {};
  // True if the metric needs a sign or an order of the values. Complex elements have neither, so
  // texts show '-' for them.
  bool real_only = false;
  Merge merge = Merge::kNot;

  // Returns the value of the metric's field if it is one number, and NaN if not.
  double value(const Metrics& metrics) const;
  // Returns the value with its unit. Whole numbers are written in full.
  std::string text(const Metrics& metrics) const;
  std::string text(double value) const;
  // The texts for tables. The heading of a column is the words with the unit. A cell is a number
  // with three digits, or a whole number in full.
  std::string heading() const;
  std::string cell(const Metrics& metrics) const;
};

// All metrics. Those with a field come in the order of JSON.
std::span<const Metric> metric_table();
// Returns the metric with this name, or nullptr if no metric has it.
const Metric* find_metric(std::string_view name);
// Returns a metric that can rank outputs. Throws Refusal, which names the nearest
// known metric, if there is no such metric.
const Metric& metric_named(std::string_view name);

// Return the row of a statistic, its name in files and JSON ("mere"), and the statistic of a name.
// find_statistic() returns nothing if the name is unknown.
const Metric& metric_of(Statistic statistic);
std::string_view statistic_name(Statistic statistic);
std::optional<Statistic> find_statistic(std::string_view name);
std::vector<std::string> statistic_names();

// Adds the fields of the next part of a tensor.
void merge(Metrics& metrics, const Metrics& later);

// Returns the number of elements that a share or a number of errors counts. Empty for other
// statistics.
MetricCount counted(const Metrics& metrics, Statistic statistic, double parameter, double second);
// Returns a statistic, or nothing if the metrics do not hold it: there are no elements, or a ratio
// lacks the reference implementation. Without it, kSmallErrors is the number of errors.
std::optional<MetricValue> read_statistic(const StatisticSource& source, Statistic statistic,
                                          double parameter = 0, double second = 0);

// Returns the statistic of another output over the elements of `source.output`. The errors of that
// output are `times` the expected values: it is all zeros if `times` is 1, and the negated expected
// values if it is 2. Returns nothing if the sums in the metrics do not give the statistic.
std::optional<double> trivial_statistic(const StatisticSource& source, int times,
                                        Statistic statistic, double parameter = 0,
                                        double second = 0);

}  // namespace assay
