#include "assay/study/fp8.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/machine/dot_oracle.h"
#include "assay/machine/exact_matmul.h"

namespace assay::inline v0_2::study {
namespace {

constexpr double kDeviation = 0.01;
constexpr std::int64_t kLength = 1024, kLong = 4096;

// Rounds a number to a format, with ties away from zero, as the published experiment does. A value
// beyond the largest finite value becomes that value.
class HalfUp {
 public:
  explicit HalfUp(const Format& f)
      : least_(f.min_exponent()), bits_(f.mantissa_bits()), most_(max_finite(f)) {}
  double operator()(double v) const {
    if (v == 0) return v;
    int exponent;
    (void)std::frexp(v, &exponent);  // v = fraction * 2^exponent, and the fraction is in [1/2, 1)
    const double unit = std::ldexp(1.0, std::max(exponent - 1, least_) - bits_);
    const double size = std::floor(std::abs(v) / unit + 0.5) * unit;
    return std::copysign(std::min(size, most_), v);
  }

 private:
  int least_, bits_;
  double most_;
};

const HalfUp& e4m3() {
  static const HalfUp row(format_named("float8_e4m3fn"));
  return row;
}
const HalfUp& e8m8() {
  static const HalfUp row(custom_float(8, 8, 127, Specials::kInfNan));
  return row;
}

// A way to compute a dot product in model (a), in which products and sums are rounded to
// float8_e4m3fn.
struct Method {
  std::string text;
  double scale = 1;  // factor of both operands before they are rounded
  // The products are summed in chunks of this many, and the sums of the chunks are added in
  // float32. 0 means one sum.
  std::int64_t chunk = 0;
  // If true, each chunk of an operand has its own scale, amax / 224 (amax is the largest magnitude
  // in the chunk). The chunk is summed in an accumulator of 8 mantissa bits.
  bool block_scale = false;
};

// Returns the dot product of the elements [first, last) of x and y by the method.
double sum_of(const Method& m, const std::vector<double>& x, const std::vector<double>& y,
              std::size_t first, std::size_t last) {
  if (!m.block_scale) {
    double sum = 0;
    for (std::size_t k = first; k < last; ++k) {
      sum = e4m3()(sum + e4m3()(e4m3()(x[k] * m.scale) * e4m3()(y[k] * m.scale)));
    }
    return sum / (m.scale * m.scale);
  }
  double amax_x = 1e-30, amax_y = 1e-30;
  for (std::size_t k = first; k < last; ++k) {
    amax_x = std::max(amax_x, std::abs(x[k]));
    amax_y = std::max(amax_y, std::abs(y[k]));
  }
  const double sx = amax_x / 224, sy = amax_y / 224;
  double sum = 0;
  for (std::size_t k = first; k < last; ++k) {
    sum = e8m8()(sum + e8m8()(e4m3()(x[k] / sx) * e4m3()(y[k] / sy)));
  }
  return sum * sx * sy;
}

double exact_dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  exact_matmul(1, 1, static_cast<std::int64_t>(x.size()), x.data(), y.data(), &sum, 1);
  return sum;
}

// Two correlated vectors: x = z1 and y = rho z1 + (1 - rho) z2. z1 and z2 are normal with a
// standard deviation of 0.01.
struct Pair {
  std::vector<double> x, y;
};
Pair draw_pair(const StudyOptions& options, std::uint64_t stream, std::int64_t length, double rho) {
  Random random(options.seed, stream);
  Pair p;
  for (std::int64_t k = 0; k < length; ++k) {
    const double z1 = kDeviation * random.normal(), z2 = kDeviation * random.normal();
    p.x.push_back(z1);
    p.y.push_back(rho * z1 + (1 - rho) * z2);
  }
  return p;
}

// Returns the dot product of a pair of vectors by the method.
double computed(const Method& m, const Pair& p) {
  const std::size_t size = p.x.size();
  const std::size_t step = m.chunk > 0 ? static_cast<std::size_t>(m.chunk) : size;
  float total = 0;
  for (std::size_t first = 0; first < size; first += step) {
    total += static_cast<float>(sum_of(m, p.x, p.y, first, std::min(size, first + step)));
  }
  return static_cast<double>(total);
}

// Collects the signal-to-noise ratio (SNR) of repeated dot products.
struct Ratio {
  double signal = 0, noise = 0;  // sum of the squares of the exact results, and of their errors
  std::vector<double> each;      // SNR of every repeat, in dB

  void add(double exact, double got) {
    const double e2 = exact * exact, d2 = (got - exact) * (got - exact);
    signal += e2;
    noise += d2;
    each.push_back(d2 > 0 ? std::clamp(10 * std::log10(e2 / d2), -60.0, 120.0) : 120.0);
  }
  double db() const { return 10 * std::log10(signal / noise); }
  // Returns the root mean square of the errors of n repeats.
  double error(double n) const { return std::sqrt(noise / n); }
  // Returns the quantile `share` of the repeats' SNRs: 0 gives the smallest one, and 1 the largest.
  double at(double share) const {
    std::vector<double> sorted = each;
    std::ranges::sort(sorted);
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  }
};

// Computes `repeats` dot products of random pairs by `dot`. Returns their signal-to-noise ratio.
template <typename Dot>
Ratio run(const StudyOptions& options, std::int64_t repeats, std::int64_t length, double rho,
          const Dot& dot) {
  std::vector<double> exact(static_cast<std::size_t>(repeats)), got(exact.size());
  parallel_for(repeats, options.threads, [&](std::int64_t i) {
    const Pair p = draw_pair(options, 1000 + static_cast<std::uint64_t>(i), length, rho);
    exact[static_cast<std::size_t>(i)] = exact_dot(p.x, p.y);
    got[static_cast<std::size_t>(i)] = dot(p);
  });
  Ratio ratio;
  for (std::size_t i = 0; i < exact.size(); ++i) ratio.add(exact[i], got[i]);
  return ratio;
}

const std::vector<std::string> kSnrColumns = {"SNR, dB", "least",      "10 percent",
                                              "median",  "90 percent", "most"};
void append_snr(std::vector<StudyCell>& row, const Ratio& r) {
  for (const double v : {r.db(), r.at(0), r.at(0.1), r.at(0.5), r.at(0.9), r.at(1)}) {
    row.emplace_back(v);
  }
}
std::vector<std::string> columns_with_snr(std::vector<std::string> first) {
  first.insert(first.end(), kSnrColumns.begin(), kSnrColumns.end());
  return first;
}

// Applies the remedies to model (a) one after the other: scales, chunks, block scales.
void step_by_step(const StudyOptions& options, std::int64_t repeats, StudyResult& result) {
  std::vector<Method> methods;
  for (int power = 0; power <= 6; ++power) {
    const double scale = std::ldexp(1.0, power);
    methods.push_back({.text = scale == 1 ? "no scale" : formatted("scale {}", number_text(scale)),
                       .scale = scale});
  }
  methods.push_back({.text = "scale 64, chunks of 512", .scale = 64, .chunk = 512});
  methods.push_back({.text = "scale 64, chunks of 128", .scale = 64, .chunk = 128});
  methods.push_back({.text = "block scale, 512", .chunk = 512, .block_scale = true});
  methods.push_back({.text = "block scale, 128", .chunk = 128, .block_scale = true});
  StudyTable table{
      .name = "rounded_products",
      .title = formatted("(a) products and running sum rounded to e4m3, half up; K = {}, deviation "
                         "0.01; the block scales amax / 224 with an e8m8 accumulator",
                         kLength),
      .columns = columns_with_snr({"method", "repeats"})};
  StudyChart chart{.name = "rounded_products",
                   .title = "(a) SNR of one dot product",
                   .x_label = "SNR, dB",
                   .y_label = "dot products"};
  std::vector<double> snr;
  for (const Method& m : methods) {
    const Ratio r =
        run(options, repeats, kLength, 0, [&](const Pair& p) { return computed(m, p); });
    std::vector<StudyCell> row = {m.text, repeats};
    append_snr(row, r);
    table.add(row);
    snr.push_back(r.db());
    // Only these methods have bars. Without a scale all results are 0, and their single bar would
    // hide the others.
    if (m.block_scale || m.scale == 64) {
      chart.series.push_back(histogram(m.text, r.each, -20, 60, 20));
    }
  }
  result.tables.push_back(std::move(table));
  result.charts.push_back(std::move(chart));
  const double scaled = snr[6];
  result.found(snr[0] > -1 && snr[0] < 1, "(a) without a scale the SNR is {} dB", snr[0]);
  result.found(scaled > 1 && scaled < 10 && scaled > snr[0] + 1,
               "(a) a scale of 64 raises it to {} dB", scaled);
  result.found(snr[7] > scaled && snr[8] > snr[7],
               "(a) chunks raise it further: {} dB (512), {} dB (128)", snr[7], snr[8]);
  result.found(snr[9] > snr[8] && snr[10] > snr[9],
               "(a) block scales most: {} dB (512), {} dB (128)", snr[9], snr[10]);
}

// Studies model (a) with vectors that are more and more correlated, for short vectors and long
// ones.
void correlated(const StudyOptions& options, std::int64_t repeats, StudyResult& result) {
  const Method methods[] = {{.text = "scale 64", .scale = 64},
                            {.text = "scale 64, chunks of 128", .scale = 64, .chunk = 128},
                            {.text = "block scale, 128", .chunk = 128, .block_scale = true}};
  const std::int64_t lengths[] = {512, kLong};
  const double rhos[] = {0, 0.25, 0.5, 0.75, 0.9, 0.99};
  StudyTable table{.name = "correlated",
                   .title = "(a) with correlated vectors, y = rho z1 + (1 - rho) z2",
                   .columns = columns_with_snr({"method", "K", "rho", "repeats", "error"})};
  StudyChart errors{.name = "correlated_error",
                    .title = "(a) error of correlated vectors",
                    .x_label = "rho",
                    .y_label = "error",
                    .log_y = true};
  StudyChart snr{.name = "correlated_snr",
                 .title = formatted("(a) SNR of correlated vectors, K = {}", kLong),
                 .x_label = "rho",
                 .y_label = "SNR, dB"};
  // The results at the smallest correlation rho, 0, and at the largest, 0.99. The indices are
  // [method][length].
  Ratio first[3][2], last[3][2];
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t l = 0; l < 2; ++l) {
      StudySeries error{.name = formatted("{}, K = {}", methods[m].text, lengths[l])};
      StudySeries decibels{.name = methods[m].text};
      for (const double rho : rhos) {
        const Ratio r = run(options, repeats, lengths[l], rho,
                            [&](const Pair& p) { return computed(methods[m], p); });
        const double rms = r.error(static_cast<double>(repeats));
        std::vector<StudyCell> row = {methods[m].text, lengths[l], rho, repeats, rms};
        append_snr(row, r);
        table.add(row);
        error.add(rho, rms);
        decibels.add(rho, r.db());
        if (rho == rhos[0]) first[m][l] = r;
        last[m][l] = r;
      }
      errors.series.push_back(error);
      if (l == 1) snr.series.push_back(decibels);
    }
  }
  result.tables.push_back(std::move(table));
  result.charts.push_back(std::move(errors));
  result.charts.push_back(std::move(snr));
  const auto n = static_cast<double>(repeats);
  const auto growth = [&](std::size_t m, std::size_t l) {
    return last[m][l].error(n) / first[m][l].error(n);
  };
  result.found(
      growth(0, 0) > 1 && growth(0, 1) > growth(0, 0),
      "(a) from rho 0 to 0.99 the error of scale 64 grows {} times at K = {}, {} times at K = {}",
      growth(0, 0), lengths[0], growth(0, 1), lengths[1]);
  const auto width = [](const Ratio& r) { return r.at(0.9) - r.at(0.1); };
  bool narrower = true, better_worst = true;
  for (std::size_t m = 0; m < 3; ++m) {
    narrower = narrower && width(last[m][1]) < width(first[m][1]);
    better_worst = better_worst && last[m][1].at(0) > first[m][1].at(0);
  }
  result.found(narrower && better_worst,
               "(a) the SNR's distribution narrows ({} to {} dB between its tenths, one sum; {} to "
               "{} dB, block scale) and its worst case improves ({} to {} dB, {} to {} dB)",
               width(first[0][1]), width(last[0][1]), width(first[2][1]), width(last[2][1]),
               first[0][1].at(0), last[0][1].at(0), first[2][1].at(0), last[2][1].at(0));
  const bool lower_best =
      last[0][1].at(1) < first[0][1].at(1) && last[1][1].at(1) < first[1][1].at(1);
  result.found(lower_best,
               "(a) its best case falls ({} to {} dB with one sum, {} to {} dB with chunks; with "
               "block scales, whose errors stay small, {} to {} dB)",
               first[0][1].at(1), last[0][1].at(1), first[1][1].at(1), last[1][1].at(1),
               first[2][1].at(1), last[2][1].at(1));
  // Returns the gain of a method over one sum in dB, at rho = 0.99 and K = 4096.
  const auto gain = [&](std::size_t m) { return last[m][1].db() - last[0][1].db(); };
  result.found(
      gain(1) > 5 && gain(2) > gain(1) + 10,
      "(a) correlated vectors gain most from promotion and block scales: {} and {} dB over one sum",
      gain(1), gain(2));
}

// Returns the values times `scale`, rounded to float8_e4m3fn (to nearest, ties to even).
std::vector<double> coded(std::vector<double> values, double scale) {
  for (double& v : values) v = round_to(format_named("float8_e4m3fn"), v * scale);
  return values;
}

// Studies model (b): the SNR with and without a scale and promotion, and the error of long biased
// sums.
void tensor_core(const StudyOptions& options, std::int64_t repeats, StudyResult& result) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float8_e4m3fn"));
  DotModel promoted = model;
  promoted.promotion_interval.value = 128;
  StudyTable table{
      .name = "tensor_core",
      .title = formatted("(b) exact products in the tensor core's 14-bit accumulator; K = {}, "
                         "deviation 0.01, against the dot product before rounding to e4m3",
                         kLong),
      .columns = columns_with_snr({"method", "repeats"})};
  StudyChart chart{.name = "tensor_core",
                   .title = "(b) SNR of one dot product",
                   .x_label = "SNR, dB",
                   .y_label = "dot products"};
  double plain = 0;
  for (const double scale : {1.0, 64.0}) {
    for (const bool promotes : {false, true}) {
      const DotModel& unit = promotes ? promoted : model;
      const Ratio r = run(options, repeats, kLong, 0, [&](const Pair& p) {
        const std::vector<double> x = coded(p.x, scale), y = coded(p.y, scale);
        return dot_oracle(unit, kLong, x.data(), 1, y.data(), 1, 0) / (scale * scale);
      });
      std::vector<StudyCell> row = {formatted("{}{}", scale == 1 ? "no scale" : "scale 64",
                                              promotes ? ", promotion every 128" : ""),
                                    repeats};
      append_snr(row, r);
      chart.series.push_back(histogram(std::get<std::string>(row[0]), r.each, -10, 80, 18));
      table.add(row);
      if (scale == 1 && !promotes) plain = r.db();
    }
  }
  result.tables.push_back(std::move(table));
  result.charts.push_back(std::move(chart));
  result.found(plain > 20 && plain < 25, "(b) without a scale the SNR is {} dB", plain);

  StudyTable biased{
      .name = "promotion",
      .title = "(b) uniform(0, 1) values: mean relative error of the accumulator alone",
      .columns = {"K", "repeats", "without promotion", "promotion every 128"}};
  StudyChart lines{.name = "promotion",
                   .title = "(b) accumulator error, uniform(0, 1)",
                   .x_label = "K",
                   .y_label = "mean relative error",
                   .log_x = true,
                   .log_y = true,
                   .series = {{.name = "no promotion"}, {.name = "promotion every 128"}}};
  double without = 0, with = 0;
  for (const std::int64_t length : {128, 256, 512, 1024, 2048, 4096}) {
    std::vector<double> errors[2];
    for (auto& list : errors) list.resize(static_cast<std::size_t>(repeats));
    parallel_for(repeats, options.threads, [&](std::int64_t i) {
      Random random(options.seed, 5000 + static_cast<std::uint64_t>(i));
      std::vector<double> x, y;
      for (std::int64_t k = 0; k < length; ++k) {
        x.push_back(random.uniform());
        y.push_back(random.uniform());
      }
      x = coded(x, 1);
      y = coded(y, 1);
      const double exact = exact_dot(x, y);
      for (int promotes = 0; promotes < 2; ++promotes) {
        const double got =
            dot_oracle(promotes != 0 ? promoted : model, length, x.data(), 1, y.data(), 1, 0);
        errors[promotes][static_cast<std::size_t>(i)] = std::abs(got - exact) / exact;
      }
    });
    double means[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      for (const double e : errors[i]) means[i] += e / static_cast<double>(repeats);
      lines.series[static_cast<std::size_t>(i)].add(static_cast<double>(length), means[i]);
    }
    biased.add({length, repeats, means[0], means[1]});
    without = means[0];
    with = means[1];
  }
  result.tables.push_back(std::move(biased));
  result.charts.push_back(std::move(lines));
  result.found(without > 0.05 && without < 0.085 && with > 0.0002 && with < 0.001,
               "(b) long biased sums need promotion: uniform(0, 1), K = 4096, is {} percent off "
               "without, {} with one every 128",
               100 * without, 100 * with);
}

}  // namespace

StudyResult study_fp8(const StudyOptions& options) {
  const FloatEnvironment environment;
  const std::int64_t repeats = options.repeats > 0 ? options.repeats : 200;
  StudyResult result{
      .name = "fp8",
      .question = "What do scales, chunks and promotion do for dot products of fp8?"};
  step_by_step(options, repeats, result);
  correlated(options, repeats, result);
  tensor_core(options, repeats, result);
  return result;
}

}  // namespace assay::study
