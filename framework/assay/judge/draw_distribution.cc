#include "assay/judge/draw_distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "assay/base/call_text.h"
#include "assay/base/constants.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/draw_tests.h"

namespace assay::inline v0_2 {

struct Drawn {
  const TensorView& actual;
  const TensorView& expected;
  const LawSpec& spec;
  const JudgeOptions& options;
  Verdict& verdict;
  Draws draws = {};
  std::vector<std::function<DrawTest(const Draws& draws, double limit)>> tests = {};
  // Describes the values that the law cannot produce: "neither 0 nor 1".
  std::string impossible = {};
  std::optional<std::int64_t> first_impossible = {};
  // Returns in words which deviations this number of draws cannot show. `limit` is that of each
  // test.
  std::function<std::string(double limit)> untold = {};
  // True if an output that has one value in all elements would pass. Then nothing was tested.
  std::function<bool(double limit)> constant_passes = {};
  std::string why_not = {};  // why the law cannot judge the output, or empty if it can

  std::int64_t size() const { return actual.size(); }
  double get(std::string_view parameter) const { return spec.get(parameter); }

  // Records that element i cannot be a draw. `wanted` is the value that it should have, or NaN if
  // there is no single such value.
  void mismatch(std::int64_t i, double value, double wanted) {
    ++verdict.mismatches;
    if (!std::isfinite(value)) ++verdict.special_mismatches;
    if (!first_impossible) first_impossible = i;
    if (verdict.worst.size() >= options.worst || std::isnan(wanted)) return;
    Mismatch m{.linear = i,
               .index = actual.multi_index(i),
               .actual_bits = actual.bits_at(i),
               .expected_bits = encode(*actual.format, wanted),
               .actual = value,
               .expected = wanted,
               .error = std::abs(value - wanted)};
    verdict.worst.push_back(std::move(m));
  }
};

namespace {

// Kernels compare probabilities with random bits, and they store the probabilities at least as
// exactly as float32 does. So a given probability may be off by this much.
constexpr double kShareSlack = 0x1p-23;
// The error of a probability that a kernel computed in float32 and summed.
constexpr double kProbabilitySlack = 1e-6;
constexpr std::int64_t kMostCountedValues = 4096;

// -- Continuous laws ------------------------------------------------------------------------------

// The largest distance of a draw from the number that it was rounded from. It is one ulp of the
// output, for any rounding, plus one step of the grid that generators draw from. The grid has as
// many bits as the output's mantissa, but at most those of float32.
struct Slack {
  const Format& format;
  double grid;

  Slack(const Format& f, double scale)
      : format(f), grid(scale * std::ldexp(1.0, 1 - std::min(f.precision, 24))) {}
  double of(double x) const { return ulp_of(format, x) + grid; }
};

struct Support {
  double low, high;
  bool low_is_open = false, high_is_open = false;

  bool holds(const Format& f, double x) const {
    const auto end = [&](double edge, double away) {
      if (!std::isfinite(edge)) return edge;
      const bool exact = round_to(f, edge) == edge;
      return exact ? edge : edge + std::copysign(ulp_of(f, edge), away);
    };
    if (!std::isfinite(x) || x < end(low, -1) || x > end(high, 1)) return false;
    return !(low_is_open && x == low) && !(high_is_open && x == high);
  }
};

template <typename Function>
void look_at_continuous(Drawn& d, double scale, const Support& support, const Function& function) {
  if (!d.actual.format->is_float()) {
    d.why_not = formatted("the law {} is for floats, but the output is {}", d.spec.law->name,
                          d.actual.format->name);
    return;
  }
  const Slack slack(*d.actual.format, scale);
  Draws& draws = d.draws;
  draws.heaviest = 0;
  double half = 0;
  for (std::int64_t i = 0; i < d.size(); ++i) {
    const double x = d.actual.value_at(i);
    if (!support.holds(*d.actual.format, x)) {
      d.mismatch(i, x, kNan);
      continue;
    }
    const double open = slack.of(x);
    const double low = function(std::max(support.low, x - open));
    const double high = function(std::min(support.high, x + open));
    draws.add(low, high, (low + high) / 2, (high - low) / 2, std::bit_cast<std::uint64_t>(x));
    draws.heaviest = std::max(draws.heaviest, high - low);
    half += (high - low) / 2;
  }
  draws.heaviest = std::max(draws.heaviest, 0x1p-24);
  const double mean_half = half / static_cast<double>(std::max<std::int64_t>(d.size(), 1));
  d.tests = {function_test, ends_test, serial_test, repeats_test};
  d.untold = [&d, mean_half](double limit) {
    return formatted(
        "a distribution function that differs by less than {} from the law is not noticed with {} "
        "draws; {} of this is due to the rounding to {}",
        short_number(function_resolution(d.size(), limit) + mean_half), grouped(d.size()),
        short_number(mean_half), d.actual.format->name);
  };
  d.constant_passes = [&d, mean_half](double limit) {
    return function_resolution(d.size(), limit) + mean_half >= 0.5;
  };
}

void look_at_uniform(Drawn& d) {
  const double low = d.get("low"), high = d.get("high");
  if (!(low < high)) {
    d.why_not = formatted("the law uniform needs low below high, not {} and {}", number_text(low),
                          number_text(high));
    return;
  }
  d.impossible =
      formatted("outside the law's range from {} to {}", number_text(low), number_text(high));
  look_at_continuous(d, high - low, {low, high, d.get("open_low") != 0, d.get("open_high") != 0},
                     [=](double x) { return std::clamp((x - low) / (high - low), 0.0, 1.0); });
  if (d.why_not.empty()) d.tests.push_back(mean_test);
}

void look_at_normal(Drawn& d) {
  const double mean = d.get("mean"), deviation = d.get("deviation");
  d.impossible = "not finite";
  look_at_continuous(d, deviation, {-HUGE_VAL, HUGE_VAL}, [=](double x) {
    return std::erfc((mean - x) / (deviation * std::sqrt(2.0))) / 2;
  });
  if (!d.why_not.empty()) return;
  const Slack slack(*d.actual.format, deviation);
  const auto values = std::make_shared<std::vector<double>>(d.actual.values());
  const auto open = std::make_shared<std::vector<double>>();
  for (const double x : *values) open->push_back(std::isfinite(x) ? slack.of(x) : 0);
  d.tests.push_back(
      [=](const Draws&, double) { return normal_mean_test(*values, *open, mean, deviation); });
  d.tests.push_back(
      [=](const Draws&, double) { return normal_deviation_test(*values, *open, mean, deviation); });
}

void look_at_exponential(Drawn& d) {
  const double rate = d.get("rate");
  d.impossible = "below 0 or not finite";
  look_at_continuous(d, 1 / rate, {0, HUGE_VAL},
                     [=](double x) { return -std::expm1(-rate * std::max(0.0, x)); });
  if (d.why_not.empty()) d.tests.push_back(mean_test);
}

// -- Counted values -------------------------------------------------------------------------------

// One value, or set of values, of a discrete law. `share` is its probability.
struct Counted {
  std::string words;
  double share;
  std::int64_t count;
};

// Tests counts: the smallest p-value of all counts, times the number of counts. If the
// probabilities differ from draw to draw, `share` is their mean. By Hoeffding (The Annals of
// Mathematical Statistics 27, 1956, theorem 4), the tails more than one from the mean are then no
// heavier than the binomial tails.
DrawTest counts_test(std::string_view name, const std::vector<Counted>& counts, std::int64_t n,
                     double slack, bool same_law) {
  DrawTest test{.name = std::string(name), .p_value = 2};
  for (const Counted& c : counts) {
    const double expected = c.share * static_cast<double>(n);
    const bool near = std::abs(static_cast<double>(c.count) - expected) < 1;
    const double p = near && !same_law ? 1 : binomial_p_value(c.count, n, c.share, slack);
    const double of_all = std::min(1.0, p * static_cast<double>(counts.size()));
    if (of_all >= test.p_value) continue;
    test.p_value = of_all;
    test.statistic = static_cast<double>(c.count) / static_cast<double>(n);
    test.words = formatted("{} of {} {}, {} expected", grouped(c.count), grouped(n), c.words,
                           short_number(expected, 6));
  }
  return test;
}

// Returns about how far off a share must be for its count to be refused at this limit.
double share_resolution(std::int64_t n, double share, double limit) {
  const double spread = std::sqrt(share * (1 - share) / static_cast<double>(n));
  return spread * std::sqrt(2 * std::log(2 / limit));
}

// Tests draws of two values. `at` returns true if an element has the value that is drawn with
// probability `share`, and nothing if this cannot be known.
template <typename At>
void look_at_two(Drawn& d, double share, const char* words, const At& at) {
  Draws& draws = d.draws;
  std::int64_t told = 0, ones = 0;
  for (std::int64_t i = 0; i < d.size(); ++i) {
    const std::optional<bool> one = at(i);
    draws.middle.push_back(!one ? 0.5 : *one ? 1 - share / 2 : (1 - share) / 2);
    draws.half.push_back(0);
    if (!one) continue;
    ++told;
    ones += *one ? 1 : 0;
    draws.symbols.push_back(*one ? 1 : 0);
  }
  draws.heaviest = std::max(share, 1 - share);
  draws.variance = share * (1 - share) / 4;
  draws.proxy = 1.0 / 16;  // its range is 1/2
  if (told == 0) {
    d.why_not = "there is no element that tells whether it was drawn";
    return;
  }
  const std::vector<Counted> counts = {{words, share, ones}};
  d.tests = {[=](const Draws&, double) {
               return counts_test(formatted("share of {}", words), counts, told, kShareSlack, true);
             },
             serial_test, repeats_test};
  d.untold = [=](double limit) {
    return formatted(
        "a share of {} that differs by less than about {} from {} is not noticed with {} draws",
        words, short_number(share_resolution(told, share, limit)), number_text(share),
        grouped(told));
  };
  d.constant_passes = [=](double limit) {
    return binomial_p_value(0, told, share, kShareSlack) >= limit ||
           binomial_p_value(told, told, share, kShareSlack) >= limit;
  };
}

void look_at_bernoulli(Drawn& d) {
  d.impossible = "neither 0 nor 1";
  look_at_two(d, d.get("p"), "ones", [&](std::int64_t i) -> std::optional<bool> {
    const double x = d.actual.value_at(i);
    if (x != 0 && x != 1) {
      d.mismatch(i, x, kNan);
      return std::nullopt;
    }
    return x == 1;
  });
}

void look_at_dropout(Drawn& d) {
  if (d.expected.shape != d.actual.shape) {
    d.why_not = formatted(
        "the output's shape is {}, but the golden result, from which elements are dropped, has {}",
        shape_text(d.actual.shape), shape_text(d.expected.shape));
    return;
  }
  const Format& f = *d.actual.format;
  const double p = d.get("p"), factor = 1 / (1 - p);
  // The factor and the product may both be rounded to the output's format, so `slack` has room for
  // this.
  const double unit = f.is_float() ? unit_roundoff(f) : 0;
  const double least = f.is_float() ? min_subnormal(f) : 0;
  const double largest = f.is_float() ? max_finite(f) : 0x1p53;
  d.impossible = formatted("neither 0 nor {} times what was expected", short_number(factor, 6));
  look_at_two(d, p, "zeros", [&](std::int64_t i) -> std::optional<bool> {
    const double x = d.actual.value_at(i), e = d.expected.value_at(i) * factor;
    // If the kept value would be NaN or infinite, or overflow in the output's format, the output
    // may not show whether it was dropped. Such an element counts neither as kept nor as dropped.
    const double slack = 2.5 * unit * std::abs(e) + least;
    const bool overflows = !(std::abs(e) + slack < largest);
    if (overflows && (x == 0 || !(std::abs(x) < largest * (1 - 4 * unit)))) return std::nullopt;
    const bool kept = std::abs(x - e) <= slack;
    // A kept value that was rounded to 0 looks like a dropped one.
    if (kept && x == 0) return std::nullopt;
    if (!kept && x != 0) {
      d.mismatch(i, x, e);
      return std::nullopt;
    }
    if (!(std::abs(e) > slack)) return std::nullopt;
    return !kept;
  });
}

void look_at_integers(Drawn& d) {
  const double low = d.get("low"), high = d.get("high"), values = high - low + 1;
  if (!(low <= high)) {
    d.why_not = formatted("the law integers needs low of at most high, not {} and {}",
                          number_text(low), number_text(high));
    return;
  }
  d.impossible = formatted("no whole number from {} to {}", number_text(low), number_text(high));
  Draws& draws = d.draws;
  std::vector<Counted> counts;
  if (values <= static_cast<double>(kMostCountedValues)) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(values); ++i) {
      const double v = low + static_cast<double>(i);
      counts.push_back({formatted("are {}", number_text(v)), 1 / values, 0});
    }
  }
  for (std::int64_t i = 0; i < d.size(); ++i) {
    const double x = d.actual.value_at(i);
    if (!(x >= low && x <= high) || x != std::floor(x)) {
      d.mismatch(i, x, kNan);
      continue;
    }
    draws.add((x - low) / values, (x - low + 1) / values, (x - low + 0.5) / values, 0,
              std::bit_cast<std::uint64_t>(x));
    if (!counts.empty()) ++counts[static_cast<std::size_t>(x - low)].count;
  }
  draws.heaviest = 1 / values;
  draws.variance = (1 - 1 / (values * values)) / 12;
  draws.proxy = 0.25 * std::pow(1 - 1 / values, 2);
  d.tests = {function_test, serial_test, repeats_test};
  if (!counts.empty()) {
    d.tests.push_back([&d, counts](const Draws&, double) {
      return counts_test("counts", counts, d.size(), 1e-9, true);
    });
  }
  d.untold = [&d](double limit) {
    return formatted(
        "a distribution function that differs by less than {} from the law is not noticed with {} "
        "draws",
        short_number(function_resolution(d.size(), limit)), grouped(d.size()));
  };
  d.constant_passes = [&d, values](double limit) {
    return std::pow(values, -static_cast<double>(d.size())) * values >= limit;
  };
}

// The golden result holds the probabilities. Its shape is [..., classes] with one row for each
// draw, or [classes] with one row for all draws.
void look_at_categorical(Drawn& d) {
  const Shape& shape = d.expected.shape;
  const bool one_row = shape.size() == 1;
  if (shape.empty() || shape.back() < 2 ||
      (!one_row && Shape(shape.begin(), shape.end() - 1) != d.actual.shape)) {
    d.why_not = formatted(
        "draws of shape {} need probabilities of shape [classes], or of their own shape with "
        "classes after it; the golden result is {}",
        shape_text(d.actual.shape), shape_text(shape));
    return;
  }
  const std::int64_t classes = shape.back();
  const auto k = static_cast<std::size_t>(classes);
  d.impossible = formatted("no class from 0 to {} with a probability above 0", classes - 1);
  std::vector<double> row(k), means(k);
  std::vector<std::int64_t> counts(k);
  double own = 0, own_expected = 0, largest = 0, cubes = 0, range = 0;
  std::int64_t told = 0;
  Draws& draws = d.draws;
  draws.heaviest = 0;
  for (std::int64_t i = 0; i < d.size(); ++i) {
    if (i == 0 || !one_row) {
      double sum = 0;
      for (std::size_t j = 0; j < k; ++j) {
        row[j] = d.expected.value_at((one_row ? 0 : i * classes) + static_cast<std::int64_t>(j));
        if (!(row[j] >= 0) || !std::isfinite(row[j])) {
          d.why_not =
              formatted("the golden result holds {}, which is no probability", number_text(row[j]));
          return;
        }
        sum += row[j];
      }
      if (!(std::abs(sum - 1) <= 1e-3)) {
        d.why_not =
            formatted("the probabilities of draw {} sum to {}, not to 1", i, number_text(sum));
        return;
      }
      for (double& p : row) p /= sum;
    }
    const double x = d.actual.value_at(i);
    const bool whole = x >= 0 && x < static_cast<double>(classes) && x == std::floor(x);
    const std::size_t drawn = whole ? static_cast<std::size_t>(x) : 0;
    if (!whole || row[drawn] == 0) {
      d.mismatch(i, x, kNan);
      continue;
    }
    double before = 0, squares = 0, cube = 0;
    for (std::size_t j = 0; j < k; ++j) {
      if (j < drawn) before += row[j];
      means[j] += row[j];
      squares += row[j] * row[j];
      cube += row[j] * row[j] * row[j];
      largest = std::max(largest, row[j]);
    }
    ++told;
    ++counts[drawn];
    own += row[drawn];
    own_expected += squares;
    cubes += cube;
    range = std::max(range, 1 - (row.front() + row.back()) / 2);
    draws.add(std::max(0.0, before - kProbabilitySlack),
              std::min(1.0, before + row[drawn] + kProbabilitySlack), before + row[drawn] / 2,
              kProbabilitySlack, drawn);
  }
  if (told == 0) return;
  const auto n = static_cast<double>(told);
  draws.heaviest = std::min(largest + kProbabilitySlack, 1.0);
  draws.variance = (1 - cubes / n) / 12;
  draws.proxy = range * range / 4;
  std::vector<Counted> each, up_to;
  std::int64_t below = 0;
  double share = 0;
  for (std::size_t j = 0; j < k; ++j) {
    each.push_back({formatted("are class {}", j), means[j] / n, counts[j]});
    below += counts[j];
    share += means[j] / n;
    if (j + 1 < k) up_to.push_back({formatted("are at most class {}", j), share, below});
  }
  d.tests = {[=](const Draws&, double) {
               return counts_test("counts", each, told, kProbabilitySlack, one_row);
             },
             [=](const Draws&, double) {
               return counts_test("sums of counts", up_to, told, kProbabilitySlack, one_row);
             },
             function_test,
             [=](const Draws&, double) {
               // Hoeffding's inequality bounds the mean probability of the drawn values. Each
               // probability lies between 0 and `largest`.
               const double off =
                   std::max(0.0, std::abs(own - own_expected) / n - kProbabilitySlack);
               DrawTest test{.name = "probability of what was drawn", .statistic = own / n};
               test.p_value = std::min(1.0, 2 * std::exp(-2 * n * off * off / (largest * largest)));
               test.words = formatted("{} in the mean, expected {}", short_number(own / n, 5),
                                      short_number(own_expected / n, 5));
               return test;
             },
             serial_test,
             repeats_test};
  const double most = *std::ranges::max_element(means) / n;
  d.untold = [=](double limit) {
    return formatted(
        "for a class of probability {}, a share that differs by less than about {} is not noticed "
        "with {} draws",
        short_number(most),
        short_number(share_resolution(told, most, limit / static_cast<double>(classes))),
        grouped(told));
  };
  d.constant_passes = [=](double limit) {
    return binomial_p_value(told, told, most, kProbabilitySlack) * static_cast<double>(classes) >=
           limit;
  };
}

constexpr LawParameter kUniform[] = {
    {"low", 0, -kInfinity, kInfinity, false, false, "the least value"},
    {"high", 1, -kInfinity, kInfinity, false, false, "the largest value"},
    {"open_low", 0, 0, 1, false, true, "1: low itself is not drawn"},
    {"open_high", 0, 0, 1, false, true, "1: high itself is not drawn"}};
constexpr LawParameter kNormal[] = {
    {"mean", 0, -kInfinity, kInfinity, false, false, "the mean"},
    {"deviation", 1, 0, kInfinity, true, false, "the standard deviation"}};
constexpr LawParameter kExponential[] = {{"rate", 1, 0, kInfinity, true, false, "1 / mean"}};
constexpr LawParameter kIntegers[] = {
    {"low", 0, -0x1p53, 0x1p53, false, true, "the least value"},
    {"high", std::nullopt, -0x1p53, 0x1p53, false, true, "the largest value"}};
constexpr LawParameter kBernoulli[] = {
    {"p", std::nullopt, 0, 1, true, false, "the probability of 1"}};
constexpr LawParameter kDropout[] = {
    {"p", std::nullopt, 0, 1, true, false, "the probability of 0"}};

constexpr Law kLaws[] = {
    {"uniform", kUniform, "the same density from low to high", "floats", "", look_at_uniform},
    {"normal", kNormal, "the normal law", "floats", "", look_at_normal},
    {"exponential", kExponential, "density rate exp(-rate x), x >= 0", "floats", "",
     look_at_exponential},
    {"integers", kIntegers, "whole numbers from low to high, each as often", "any dtype", "",
     look_at_integers},
    {"bernoulli", kBernoulli, "1 with probability p, else 0", "any dtype", "", look_at_bernoulli},
    {"dropout", kDropout, "0 with probability p, else the golden value / (1 - p)", "any dtype",
     "the output without dropout", look_at_dropout},
    {"categorical",
     {},
     "class j with the j-th probability of its row",
     "any dtype",
     "the probabilities, [classes] or one row a draw",
     look_at_categorical},
};

}  // namespace

std::span<const Law> laws() { return kLaws; }

double LawSpec::get(std::string_view parameter) const {
  for (std::size_t i = 0; i < law->parameters.size(); ++i) {
    if (law->parameters[i].name == parameter) return values[i].value_or(kNan);
  }
  throw std::logic_error(formatted("the law {} has no parameter {}", law->name, parameter));
}

std::string LawSpec::text() const {
  std::string text(law->name);
  for (std::size_t i = 0; i < law->parameters.size(); ++i) {
    const LawParameter& p = law->parameters[i];
    if (!values[i] || (p.low == 0 && p.whole && p.default_value == values[i])) continue;
    text += formatted(",{}={}", p.name, number_text(*values[i]));
  }
  if (delta != LawSpec{}.delta) text += formatted(",delta={}", number_text(delta));
  return text;
}

LawSpec parse_law(std::string_view text) {
  const FloatEnvironment environment;
  const SpecText spec("distribution", text);
  const Law* const row = find_row(kLaws, spec.name(), &Law::name);
  if (row == nullptr) spec.refuse(unknown_word("law", spec.name(), names_of(kLaws)));
  LawSpec made{.law = row};
  std::vector<std::string> keys = names_of(row->parameters);
  for (const LawParameter& p : row->parameters) made.values.push_back(p.default_value);
  keys.emplace_back("delta");
  spec.check_keys(row->name, keys);
  for (const SpecText::Setting& s : spec.settings()) {
    if (s.key == "delta") {
      made.delta = spec.number(s, {.low = 0, .high = 0.5, .low_is_open = true});
      continue;
    }
    const auto place = static_cast<std::size_t>(std::ranges::find(keys, s.key) - keys.begin());
    const LawParameter& p = row->parameters[place];
    const double value =
        spec.number(s, {.low = p.low, .high = p.high, .low_is_open = p.open, .whole = p.whole});
    if (p.open && std::isfinite(p.high) && value >= p.high) {
      spec.refuse(formatted("{} must be below {}, not {}", p.name, number_text(p.high), s.value));
    }
    made.values[place] = value;
  }
  return made;
}

std::optional<std::string_view> law_of_standard(std::string_view standard) {
  return argument_of(standard, "distribution");
}

std::string complete_law(Bound& bound,
                         const std::function<std::optional<double>(std::string_view)>& attribute) {
  LawSpec spec = parse_law(bound.distribution);
  const SpecText given("distribution", bound.distribution);
  for (std::size_t i = 0; i < spec.values.size(); ++i) {
    const LawParameter& p = spec.law->parameters[i];
    if (given.find(p.name) != nullptr) continue;
    const std::optional<double> value = attribute(p.name);
    if (value) {
      const std::string text =
          formatted("{},{}={}", bound.distribution, p.name, number_text(*value));
      (void)parse_law(text);
      bound.distribution = text;
    } else if (!spec.values[i]) {
      return formatted(
          "the law {} needs {}, {}: give it in the standard, as in distribution({},{}=0.5), or as "
          "the case's attribute {}",
          spec.law->name, p.name, p.meaning, spec.law->name, p.name, p.name);
    }
  }
  return "";
}

Verdict judge_distribution(const TensorView& actual, const TensorView& expected, const Bound& bound,
                           const JudgeOptions& options) {
  const FloatEnvironment environment;
  const LawSpec spec = parse_law(bound.distribution);
  Verdict verdict{
      .sites = actual.size(), .bound = bound, .format = actual.format, .shape = actual.shape};
  if (verdict.sites == 0) return decide_without_elements(verdict);
  Bound complete = bound;
  if (std::string open = complete_law(complete, [](auto) { return std::nullopt; }); !open.empty()) {
    return verdict.decide(Outcome::kNotComparable, std::move(open));
  }
  Drawn drawn{actual, expected, spec, options, verdict};
  drawn.draws.shape = actual.shape;
  spec.law->look(drawn);
  if (verdict.mismatches > 0) {
    verdict.worst_ratio = HUGE_VAL;
    const std::int64_t first = *drawn.first_impossible;
    return verdict.decide(
        Outcome::kFail,
        formatted(
            "{} of {} elements cannot be draws of {}: they are {}; the first is element {}, {}",
            grouped(verdict.mismatches), grouped(verdict.sites), spec.text(), drawn.impossible,
            grouped(first), short_number(actual.value_at(first), 9)));
  }
  if (!drawn.why_not.empty()) return verdict.decide(Outcome::kNotComparable, drawn.why_not);
  const double limit = spec.delta / static_cast<double>(drawn.tests.size());
  std::string failed, least, all;
  double smallest = 2;
  for (const auto& run : drawn.tests) {
    DrawTest test = run(drawn.draws, limit);
    test.limit = limit;
    test.passed = test.p_value >= limit;
    const double p = std::max(test.p_value, std::numeric_limits<double>::min());
    verdict.worst_ratio = std::max(verdict.worst_ratio, std::log(p) / std::log(limit));
    const std::string words =
        formatted("{} {} (p {})", test.name, test.words, short_number(test.p_value));
    all += (all.empty() ? "" : "; ") + words;
    if (!test.passed) failed += (failed.empty() ? "" : "; ") + words;
    if (test.p_value < smallest) smallest = test.p_value, least = words;
    verdict.tests.push_back(std::move(test));
  }
  const std::string sample = formatted("{} draws", grouped(verdict.sites));
  verdict.notes.push_back(drawn.untold(limit));
  verdict.notes.push_back(
      formatted("tests of {} draws, each of which fails if its p is below {}: {}",
                grouped(verdict.sites), short_number(limit), all));
  if (!failed.empty()) {
    return verdict.decide(
        Outcome::kFail,
        formatted("{} do not follow {}: {}; right draws fail with a probability of at most {}",
                  sample, spec.text(), failed, short_number(spec.delta)));
  }
  if (drawn.constant_passes(limit)) {
    return verdict.decide(
        Outcome::kUntrusted,
        formatted(
            "{} are too few, because the same value throughout would pass as well; give more draws",
            sample));
  }
  return verdict.decide(Outcome::kPass,
                        formatted("{} agree with {}: the least p-value of {} tests is {}", sample,
                                  spec.text(), verdict.tests.size(), least));
}

}  // namespace assay
