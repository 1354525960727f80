// The one table of error metrics: what each is called, how it is read, and how standards limit it.
// Standards, saved results (`assay regate`), matchers, JSON (written and read), text and HTML all
// read it; to add a metric is to add a field to Metrics and a row here. docs/judging.md says what
// the metrics are.
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

namespace assay {

// What standards limit over all elements that are finite on both sides; e is the expected value,
// d = actual - e, and a ratio's denominator is the same statistic of a benchmark's output.
enum class Statistic : std::uint8_t {
  kMere,              // mean |d| / (|e| + 1e-7)
  kMare,              // the largest of it
  kErrorBalance,      // |mean d / max(1, |e|)|
  kDiff1,             // sum |d| / sum |e|
  kDiff2,             // sqrt(sum d^2 / sum e^2)
  kCosine,            // must be above its limit, not at it (the matcher CosineAtLeast takes >=)
  kMaxAbs,            // max |d|
  kMeanAbs,           // mean |d|
  kMaxRelative,       // max |d| / |e|, where e is 0 |d| / 2^-52
  kMeanRelative,      // the mean of it
  kRmse,              // the root of the mean of d^2
  kNmse,              // sum d^2 / sum a^2: normalised by the output, as ggml does
  kQuantileAbs,       // the quantile `parameter` of |d|, between two elements by interpolation
  kQuantileRelative,  // of the relative error of kMaxRelative
  kShareAbs,          // share of elements with |d| > parameter
  kShareRelative,     // share of elements with |d| / |e| >= parameter, but for those with d = 0
  kShareUlps,         // share of elements more than `parameter` ulp apart
  kMeanUlps,          // mean distance in ulp
  kCalcDiff,          // 1 - 2 sum a e / sum (a^2 + e^2)
  kMareRatio,         // of MARE; denominators are floored (docs/judging.md)
  kMereRatio,         // of MERE
  kRmseRatio,         // of the root of the mean of d^2
  kSmallErrors,       // of the number of elements with |e| < parameter and |d| > second
  kMaxAbsUlps,        // max |d| in ulp of the expected value there, rounded to the output's dtype
  // Over the elements with |e| >= parameter alone, where there are any; denominators are floored at
  // the parameter itself.
  kLargeMareRatio,
  kLargeMereRatio,
  kLargeRmseRatio,
  // max |d| over twice the benchmark's and twice what rounding does to e + 0.3 - 0.3 in the
  // output's format, the largest |(e + 0.3) - 0.3 - e|.
  kNoiseRatio,
  // sum w d^2, w an element's own weight: no file names it, for the weights are a case's.
  kErrorSquares,
  // |sum w ulp(e)^2 (d sign(e) / ulp(e))| / sum w ulp(e)^2: how far results lie towards zero, or
  // away from it. No file names it either.
  kErrorBias,
};
inline constexpr int kStatisticCount = 28;  // that files may name

// Known exactly (low == high) or to the resolution of the histograms.
struct MetricValue {
  double low = 0, high = 0;
};

// What a statistic is read from. `output` has elements that are finite on both sides.
struct StatisticSource {
  const Metrics* output = nullptr;
  const Metrics* benchmark = nullptr;  // of a benchmark's output, over the same elements
  double roundoff = 0;                 // the unit roundoff of the output's format
  double expected_rms = 0;             // the root mean square of the expected values
};

enum class LimitSense : std::uint8_t { kBelow, kAtMost, kAbove, kAtLeast };
struct LimitSenseRow {
  LimitSense sense;
  std::string_view name, sign;  // "at_most" in files, "<=" in sentences
  bool (*met)(double value, double limit);
};
std::span<const LimitSenseRow> limit_senses();
const LimitSenseRow& row_of(LimitSense sense);
// Whether both say that the statistic is to be small, or both that it is to be large.
bool same_direction(LimitSense a, LimitSense b);

// Elements, at least and at most, as far as metrics know.
using MetricCount = std::optional<std::pair<std::int64_t, std::int64_t>>;

// How standards limit a metric.
struct MetricLimit {
  Statistic statistic;
  LimitSense sense;
  // The name and the words that standards use, where they differ from the metric's own; '{}' in
  // the words is replaced by the first parameter.
  std::string_view name = {}, words = {};
  int parameters = 0;           // numbers that belong to the statistic: 0, 1 or 2
  bool over_benchmark = false;  // divided by the benchmark's
  unsigned parts = 1;           // of simd::MetricsPart: what a pass over the elements has to take
  // The elements that a share or a number of errors counts. Null for other statistics.
  MetricCount (*counted)(const Metrics& metrics, double parameter, double second) = nullptr;
  // The error of the elements with |e| >= parameter, over the benchmark's. Null for other
  // statistics.
  double Metrics::*of_large = nullptr;
  // Null: the share of what `counted` counts, or the metric's own value. Returns nothing if the
  // metrics do not hold the statistic.
  std::optional<MetricValue> (*read)(const StatisticSource& source, double parameter,
                                     double second) = nullptr;
};

enum class Better : std::uint8_t { kNeither, kSmaller, kLarger };

// How a field of two parts of a tensor becomes that of both. kNot: it is computed from others.
enum class Merge : std::uint8_t { kNot, kSum, kLargest };

using MetricField =
    std::variant<std::monostate, bool Metrics::*, std::int64_t Metrics::*, std::uint64_t Metrics::*,
                 double Metrics::*, Tally Metrics::*, Histogram Metrics::*>;

struct Metric {
  std::string_view name;             // in JSON, in files of standards, and for matchers
  std::string_view words = {};       // in sentences and tables
  std::string_view unit = {};        // what follows the number: " dB"
  Better better = Better::kNeither;  // kNeither: outputs are not told apart by it
  int digits = 4;                    // that a text shows
  MetricField field = {};            // empty: known to standards alone
  std::optional<MetricLimit> limit = {};
  // Needs a sign or an order of the values: complex elements have none, and texts say '-'.
  bool real_only = false;
  Merge merge = Merge::kNot;

  // Of a field that is one number; NaN of another.
  double value(const Metrics& metrics) const;
  // That number with its unit; a whole number in full.
  std::string text(const Metrics& metrics) const;
  std::string text(double value) const;
  // In tables: the words with the unit above a column, and in it a number of three digits, a
  // whole one in full.
  std::string heading() const;
  std::string cell(const Metrics& metrics) const;
};

// Those with a field come in the order of JSON.
std::span<const Metric> metric_table();
// Null where no metric has the name.
const Metric* find_metric(std::string_view name);
// One by which outputs can be told better or worse. Throws std::invalid_argument with the nearest
// known name.
const Metric& metric_named(std::string_view name);

// The row that a statistic limits, the name of a statistic in files and JSON ("mere"), and back,
// empty where it is unknown.
const Metric& metric_of(Statistic statistic);
std::string_view statistic_name(Statistic statistic);
std::optional<Statistic> find_statistic(std::string_view name);
std::vector<std::string> statistic_names();

// Adds the fields of the part of a tensor that follows.
void merge(Metrics& metrics, const Metrics& later);

// Elements that a share or a number of errors counts. Empty for other statistics.
MetricCount counted(const Metrics& metrics, Statistic statistic, double parameter, double second);
// Empty where the metrics do not hold it: of no elements, of a ratio without a benchmark. Of
// kSmallErrors without a benchmark it is the number of errors itself.
std::optional<MetricValue> read_statistic(const StatisticSource& source, Statistic statistic,
                                          double parameter = 0, double second = 0);

// The same statistic of another output over the elements of `source.output`, whose errors are
// `times` the expected values: zeros where that is 1, the negated expected values where it is 2.
// Empty where the sums in the metrics do not tell it.
std::optional<double> trivial_statistic(const StatisticSource& source, int times,
                                        Statistic statistic, double parameter = 0,
                                        double second = 0);

}  // namespace assay
