// Compares bounds, indices, laws of draws, saved metrics and small parts of the judge with recorded
// lines. Each covers a range of inputs, including the ends of every branch. A failure says how to
// record the values again.
#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/judge/blindness.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/draw_tests.h"
#include "assay/judge/indices.h"
#include "assay/judge/published_standards.h"
#include "assay/judge/regate.h"
#include "assay/judge/rule_table.h"
#include "assay/judge/standards.h"
#include "error_of.h"
#include "verdict_lines.h"

namespace assay {
namespace {

using lines::digest;
using lines::golden_values;
using lines::json_line;
using lines::output_values;
using lines::short_line;
using oracle::tolerance;

std::string line_of(const std::optional<Bound>& bound) {
  if (!bound) return "none";
  const Bound& b = *bound;
  std::string text =
      formatted("{} {} {} {} {} {} {} {} {} {} '{}' '{}' {} {} {} {}", static_cast<int>(b.rule),
                b.rtol, b.atol, b.ulps, b.or_ulps, b.nan_equal, b.nan_accepts, b.round_expected,
                infinity_word(b.infinity), b.floor, b.machine, b.distribution, b.small_value,
                b.small_atol, b.max_mismatch_fraction.value_or(-1), b.as_published);
  for (const Limit& l : b.limits) {
    text += formatted("; {} {} {} {}", l.text(), l.parameter, l.second, l.group);
  }
  return with_digits(text, 10) + " " + b.text();
}

TEST(RecordedBounds, OfEveryStandardAndDtype) {
  std::vector<std::string> recorded;
  std::vector<std::string> names = {"ulp(0)",
                                    "ulp(18446744073709551615)",
                                    "bit_equal",
                                    "accumulation",
                                    "accumulation(hopper)",
                                    "expected_error",
                                    "expected_error(cpu_fma)",
                                    "distribution(normal)",
                                    "distribution(integers,low=0,high=7)",
                                    "distribution(dropout)",
                                    "indices",
                                    "indices(torch)",
                                    "indices(ulp(2),unsorted,flattened)",
                                    "ttk_close,as_published",
                                    "atb,as_published",
                                    "torch,as_published",
                                    "ulp(x)",
                                    "accumulation()",
                                    "indices(accumulation)",
                                    "indices(torch,numpy)"};
  for (const Standard& s : standards()) names.emplace_back(s.name);
  for (const std::string& name : names) {
    recorded.push_back(formatted("{} needs operands: {}", name,
                                 error_of([&] { (void)needs_operands(name); }) == "no error"
                                     ? formatted("{}", needs_operands(name))
                                     : "error"));
    std::string line = formatted("{}:", name);
    for (const std::span<const Format> table : {formats(), complex_formats()}) {
      for (const Format& f : table) {
        std::string of_all;
        for (const std::int64_t k : {0, 1, 2047, 2048, 16384}) {
          std::string bound;
          const std::string error = error_of([&] { bound = line_of(standard_bound(name, f, k)); });
          of_all += (of_all.empty() ? "" : " | ") + (error == "no error" ? bound : error);
        }
        line += formatted(" {} {}", f.name, digest(of_all));
      }
    }
    recorded.push_back(line);
  }
  expect_recorded("judge/recorded/bounds.txt", recorded);
}

TEST(RecordedBounds, TolerancesOfElements) {
  std::vector<std::string> recorded;
  for (const Rule rule : {Rule::kTolerance, Rule::kLargest, Rule::kSymmetric, Rule::kEither,
                          Rule::kAccumulation, Rule::kUlps}) {
    for (const double small : {0.0, 0.5}) {
      Bound b = tolerance(0.25, 0.125);
      b.rule = rule;
      b.floor = 4;
      b.ulps = 3;
      b.or_ulps = 2;
      b.small_value = small;
      b.small_atol = 0.0625;
      std::string values;
      for (const double e : {0.0, -0.25, 0.5, -1.0, 2.0, 3.0, -64.0, 1e308, kInfinity}) {
        for (const double a : {0.0, 1.0, -8.0}) values += formatted(" {}", tolerance_at(b, e, a));
      }
      recorded.push_back(
          formatted("{} {}: plain {},{}", static_cast<int>(rule), b.text(), b.is_plain(), values));
    }
  }
  Bound budget;
  for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, std::int64_t{999},
                                      std::int64_t{1000}, std::int64_t{1} << 62}) {
    for (const double fraction : {-1.0, 0.0, 1e-3, 0.5, 1.0, 1e30}) {
      for (const std::int64_t most : {-1, 0, 1, 500}) {
        budget.max_mismatches = most < 0 ? std::nullopt : std::optional(most);
        budget.max_mismatch_fraction = fraction < 0 ? std::nullopt : std::optional(fraction);
        recorded.push_back(formatted("{} of {} and at most {}: {}", fraction, elements, most,
                                     budget.forgiven(elements)));
      }
    }
  }
  for (const char* text :
       {"", " ", "torch", " torch , numpy ", "a(b,c),d", "ttk_close,as_published", "as_published",
        "a,,b", "a),b", "a(b,(c,d),e),f,as_published"}) {
    std::string words;
    for (const std::string& word : standard_words(text)) words += formatted(" [{}]", word);
    recorded.push_back(formatted("'{}':{}", text, words));
  }
  for (const char* word :
       {"torch", "float16=torch", "=torch", "distribution(a=1)", "x=y(z=1)", "="}) {
    const StandardWord parts = standard_word(word);
    recorded.push_back(formatted("'{}': '{}' '{}'", word, parts.dtype, parts.standard));
  }
  expect_recorded("judge/recorded/tolerances.txt", recorded);
}

// Records the standards that a dtype has, together with standards of the user: none, one, up to
// five, and more.
TEST(RecordedBounds, WhichStandardsHaveADtype) {
  std::vector<std::string> recorded;
  for (const std::span<const Format> table : {formats(), complex_formats()}) {
    for (const Format& f : table) {
      recorded.push_back(formatted("{}: {}", f.name, standards_with(f)));
    }
  }
  for (const Standard& s : standards()) {
    for (const auto& [dtype, rule] : standard_rules(s)) {
      recorded.push_back(formatted("{} {}: {}", s.name, dtype, rule));
    }
  }
  expect_recorded("judge/recorded/standard_texts.txt", recorded);
}

// ------------------------------------------------------------------ indices

TEST(RecordedIndices, OfEveryShapeAxisAndRule) {
  std::vector<std::string> recorded;
  oracle::Dice dice(71);
  struct Case {
    Shape source, output;
    std::int64_t axis;
  };
  const Case cases[] = {{{9}, {4}, 0},           {{9}, {}, 0},
                        {{9}, {}, -1},           {{4, 7}, {4, 3}, 1},
                        {{4, 7}, {4, 3}, -1},    {{4, 7}, {2, 7}, 0},
                        {{4, 7}, {4}, 1},        {{4, 7}, {7}, 0},
                        {{3, 4, 5}, {3, 5}, 1},  {{3, 4, 5}, {3, 2, 5}, 1},
                        {{3, 4, 5}, {4, 5}, 0},  {{3, 4, 5}, {3, 4, 2}, 2},
                        {{3, 4, 5}, {3, 4}, -1}, {{5, 4, 5}, {5, 4}, 0},
                        {{4, 7}, {4, 3}, 2},     {{4, 7}, {4, 3}, -3},
                        {{4, 7}, {3, 3}, 1},     {{1, 6}, {1, 6}, 1}};
  for (const Case& c : cases) {
    std::vector<double> values(static_cast<std::size_t>(element_count(c.source)));
    for (double& v : values) v = std::nearbyint(8 * dice.uniform());
    if (values.size() > 20) values[3] = kNan;
    const Tensor source = Tensor::from_values(format_named("float32"), c.source, values);
    const std::int64_t rank = std::ssize(c.source), along = c.axis < 0 ? c.axis + rank : c.axis;
    const bool on_axis = along >= 0 && along < rank;
    const std::int64_t n = on_axis ? c.source[static_cast<std::size_t>(along)] : 7;
    const std::int64_t count = element_count(c.output);
    std::int64_t inner = 1;
    const bool is_kept = c.output.size() == c.source.size();
    for (std::int64_t d = along + 1; on_axis && d < rank; ++d) {
      inner *= c.source[static_cast<std::size_t>(d)];
    }
    const std::int64_t k = is_kept && on_axis ? c.output[static_cast<std::size_t>(along)] : 1;
    std::vector<double> right(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      // The element is the j-th of its row. Rows begin at different indices, and no index occurs
      // twice in a row.
      const std::int64_t j = i / inner % k, row = i / inner / k * inner + i % inner;
      right[static_cast<std::size_t>(i)] = static_cast<double>((row * 2 + j) % n);
    }
    const Tensor expected = Tensor::from_values(format_named("int64"), c.output, right);
    for (const char* standard :
         {"indices", "indices(unsorted)", "indices(flattened)", "indices(ulp(3))"}) {
      for (int change = 0; change < 6; ++change) {
        std::vector<double> own = right;
        const std::size_t last = own.size() - 1;
        if (change == 1) own[last] = static_cast<double>(n);
        if (change == 2) own[0] = -1;
        if (change == 3 && own.size() > 1) std::swap(own[0], own[last]);
        if (change == 4) own[0] = static_cast<double>((static_cast<std::int64_t>(own[0]) + 1) % n);
        if (change == 5) own[last] = own[0];
        const Tensor actual = Tensor::from_values(format_named("int32"), c.output, own);
        for (const double atol : {0.0, 2.0}) {
          Bound bound = *standard_bound(standard, actual.format());
          bound.atol = atol;
          bound.max_mismatches = change == 4 ? std::optional<std::int64_t>(1) : std::nullopt;
          bound.max_blind = atol > 0 ? 0.9 : kMaxBlind;
          JudgeOptions options;
          options.index_source = source.view();
          options.index_axis = c.axis;
          const Verdict v = judge(actual, expected, bound, options);
          recorded.push_back(formatted("{} {} along {}, {}, change {}, atol {}: {} {}",
                                       shape_text(c.source), shape_text(c.output), c.axis, standard,
                                       change, atol, v.because, digest(json_line(v))));
        }
      }
    }
  }
  expect_recorded("judge/recorded/indices.txt", recorded);
}

// ------------------------------------------------------------------ draws

// Judges right and wrong draws by each law. They come from uniform numbers.
TEST(RecordedLaws, OfRightAndWrongDraws) {
  std::vector<std::string> recorded;
  const auto uniform = [](std::int64_t i) {
    return (static_cast<double>(substream(static_cast<std::uint64_t>(i), 7) >> 11) + 0.5) * 0x1p-53;
  };
  using Draw = std::function<double(std::int64_t)>;
  const auto normal = [&](std::int64_t i) {
    return std::sqrt(-2 * std::log(uniform(2 * i))) *
           std::cos(2 * std::numbers::pi * uniform(2 * i + 1));
  };
  const auto whole = [&](double n) {
    return [=](std::int64_t i) { return std::floor(n * uniform(i)); };
  };
  const std::pair<const char*, Draw> draws[] = {
      {"uniform", uniform},
      {"uniform,low=-2,high=6", [&](std::int64_t i) { return 8 * uniform(i) - 2; }},
      {"uniform,low=-2,high=6,open_low=1", [&](std::int64_t i) { return 7 * uniform(i) - 2; }},
      {"uniform,delta=1e-3", [&](std::int64_t i) { return uniform(i % 100); }},
      {"uniform,open_high=1", [&](std::int64_t i) { return uniform(i) < 0.9 ? uniform(i) : 1.0; }},
      {"normal", normal},
      {"normal,mean=3,deviation=0.5", [&](std::int64_t i) { return 3 + 0.5 * normal(i); }},
      {"normal,mean=0.1", normal},
      {"normal,deviation=1.1", normal},
      {"exponential", [&](std::int64_t i) { return -std::log(uniform(i)); }},
      {"exponential,rate=4", [&](std::int64_t i) { return -std::log(uniform(i)) / 4; }},
      {"exponential,rate=2", [&](std::int64_t i) { return -std::log(uniform(i)) / 1.9; }},
      {"integers,low=0,high=9", whole(10)},
      {"integers,low=0,high=10", whole(10)},
      {"integers,low=0,high=8", whole(10)},
      {"integers,low=0,high=99999", whole(100000)},
      {"bernoulli,p=0.25", [&](std::int64_t i) { return uniform(i) < 0.25 ? 1.0 : 0.0; }},
      {"bernoulli,p=0.5", [&](std::int64_t i) { return uniform(i) < 0.47 ? 1.0 : 0.0; }},
      {"bernoulli,p=0.5", [](std::int64_t i) { return i % 2 == 0 ? 1.0 : 0.0; }},
      {"bernoulli,p=0.75", [&](std::int64_t i) { return uniform(i) < 0.75 ? 1.0 : 0.5; }},
  };
  for (const auto& [law, draw] : draws) {
    for (const std::int64_t n : {1, 10, 50, 4000}) {
      for (const char* dtype : {"float32", "float16"}) {
        std::vector<double> values(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = draw(i);
        const Shape shape = n % 50 == 0 ? Shape{n / 50, 50} : Shape{n};
        const Tensor actual = Tensor::from_values(format_named(dtype), shape, values);
        const Bound bound = *standard_bound(formatted("distribution({})", law), actual.format());
        const Verdict v = judge(actual, actual, bound);
        recorded.push_back(formatted("{} {} {}: {} {}", law, n, dtype, with_digits(v.because, 5),
                                     with_digits(formatted("{}", v.worst_ratio), 8)));
        for (const DrawTest& t : v.tests) {
          recorded.push_back(
              with_digits(formatted("  {} {:.8} {:.6} {:.6} {}: {}", t.name, t.statistic, t.p_value,
                                    t.limit, t.passed, t.words),
                          6));
        }
        if (!v.notes.empty()) recorded.push_back("  " + with_digits(v.notes[0], 5));
      }
    }
  }
  expect_recorded("judge/recorded/laws.txt", recorded);
}

TEST(RecordedLaws, OfDropoutAndClasses) {
  std::vector<std::string> recorded;
  const auto uniform = [](std::int64_t i) {
    return (static_cast<double>(substream(static_cast<std::uint64_t>(i), 9) >> 11) + 0.5) * 0x1p-53;
  };
  const auto add = [&](const std::string& what, const Tensor& actual, const Tensor& expected,
                       const std::string& law) {
    const Bound bound = *standard_bound(formatted("distribution({})", law), actual.format());
    const Verdict v = judge(actual, expected, bound);
    recorded.push_back(formatted("{} {}: {}", law, what, with_digits(v.because, 5)));
    for (const DrawTest& t : v.tests) {
      recorded.push_back(with_digits(
          formatted("  {} {:.8} {:.6} {}", t.name, t.statistic, t.p_value, t.words), 6));
    }
    if (!v.notes.empty()) recorded.push_back("  " + with_digits(v.notes[0], 5));
    for (const Mismatch& m : v.worst) {
      recorded.push_back(formatted("  mismatch {} {} {} {:x} {:.6}", m.linear, m.actual, m.expected,
                                   m.expected_bits, m.error));
    }
  };
  constexpr std::int64_t kN = 3000;
  for (const char* dtype : {"float32", "bfloat16", "float8_e4m3fn", "int16"}) {
    const Format& f = format_named(dtype);
    for (const double p : {0.25, 0.5, 0.9}) {
      for (const double dropped : {p, p + 0.07}) {
        for (const double factor : {1.0, 1.03, 1.25}) {
          std::vector<double> x(kN), y(kN);
          for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = std::nearbyint(20 * uniform(static_cast<std::int64_t>(i) + 1000000) - 3);
            y[i] = uniform(static_cast<std::int64_t>(i)) < dropped ? 0 : factor * x[i] / (1 - p);
          }
          x[5] = 1e30, x[6] = f.is_float() ? kNan : 3, y[5] = f.is_float() ? kInfinity : 0;
          y[6] = f.is_float() ? 2 : 0;
          if (!f.is_float()) {
            for (double& v : y) v = std::nearbyint(v);
            x[5] = 1;
          }
          const Tensor expected = Tensor::from_values(format_named("float64"), {30, 100}, x);
          add(formatted("{} dropped {} times {}", dtype, dropped, factor),
              Tensor::from_values(f, {30, 100}, y), expected, formatted("dropout,p={}", p));
        }
      }
    }
  }
  for (const bool one_row : {true, false}) {
    for (const std::int64_t classes : {2, 3, 7}) {
      for (const double tilt : {0.0, 0.1}) {
        std::vector<double> probabilities, draws(kN);
        for (std::int64_t i = 0; i < kN; ++i) {
          std::vector<double> row;
          double sum = 0;
          for (std::int64_t j = 0; j < classes; ++j) {
            row.push_back(1 + static_cast<double>((one_row ? 0 : i) % 3 * j));
            sum += row.back();
          }
          if (!one_row || i == 0) {
            for (const double v : row) probabilities.push_back(v / sum);
          }
          double u = std::max(0.0, uniform(i) - tilt) * sum;
          std::int64_t j = 0;
          while (j + 1 < classes && u >= row[static_cast<std::size_t>(j)]) {
            u -= row[static_cast<std::size_t>(j++)];
          }
          draws[static_cast<std::size_t>(i)] = static_cast<double>(j);
        }
        const Shape shape = one_row ? Shape{classes} : Shape{kN, classes};
        const Tensor expected = Tensor::from_values(format_named("float64"), shape, probabilities);
        add(formatted("{} classes, {} tilt {}", classes, one_row ? "one row" : "rows", tilt),
            Tensor::from_values(format_named("int32"), {kN}, draws), expected, "categorical");
      }
    }
  }
  expect_recorded("judge/recorded/dropout.txt", recorded);
}

TEST(RecordedLaws, BinomialTailsAndWords) {
  std::vector<std::string> recorded;
  for (const std::int64_t n : {1, 10, 1000}) {
    for (const double share : {0.0, 0.01, 0.5, 0.999, 1.0}) {
      std::string line = formatted("{} {}:", n, share);
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, n / 2, n - 1, n}) {
        line += formatted(" {:.6} {:.6}", binomial_p_value(count, n, share, 0),
                          binomial_p_value(count, n, share, 1e-3));
      }
      recorded.push_back(with_digits(line, 6));
    }
  }
  for (const char* law : {"uniform",
                          "uniform,low=1,high=1",
                          "uniform,open_low=2",
                          "uniform,open_low=0.5",
                          "normal,deviation=0",
                          "normal,deviation=1e-9",
                          "normal,mean=nan",
                          "exponential,rate=0",
                          "exponential,rate=inf",
                          "integers",
                          "integers,low=0.5,high=2",
                          "integers,low=3,high=2",
                          "integers,low=2,high=2",
                          "bernoulli",
                          "bernoulli,p=0",
                          "bernoulli,p=1",
                          "bernoulli,p=0.5",
                          "dropout,p=1",
                          "uniform,delta=0",
                          "uniform,delta=0.5",
                          "uniform,delta=0.6",
                          "uniform,delta=1e-9",
                          "uniform,delta=1e-6",
                          "gauss"}) {
    std::string line;
    const std::string error = error_of([&] {
      const LawSpec spec = parse_law(law);
      line = spec.text();
      const Tensor two = oracle::vector_of("float32", {1, 0, 1});
      Bound bound = *standard_bound(formatted("distribution({})", law), two.format());
      line += ": " + judge(two, two, bound).because;
    });
    recorded.push_back(formatted("{}: {}", law, error == "no error" ? line : error));
  }
  expect_recorded("judge/recorded/law_words.txt", recorded);
}

// ------------------------------------------------------------------ saved metrics

TEST(RecordedRegate, OfEveryBound) {
  std::vector<std::string> recorded;
  for (const char* dtype : {"float32", "float16"}) {
    const Format& f = format_named(dtype);
    for (const double off : {0.0, 0x1p-12, 0x1p-6}) {
      for (const bool specials : {false, true}) {
        for (const bool round : {false, true}) {
          const std::vector<double> golden = golden_values(f, 500, 81, specials);
          const Tensor expected = Tensor::from_values(format_named("float64"), {500}, golden);
          const Tensor actual =
              Tensor::from_values(f, {500}, output_values(f, golden, 82, specials, off));
          const Verdict v = judge(actual, expected, tolerance(1e-4, 1e-3, round));
          const SavedResult saved{"case", &f, 500, v.because, {*v.metrics}};
          std::vector<Bound> bounds;
          for (const Standard& s : standards()) {
            if (const auto bound = standard_bound(s.name, f, 100)) bounds.push_back(*bound);
          }
          const Metrics& m = *v.metrics;
          for (const double times : {0.5, 1.0, 2.0}) {
            for (const bool rounds : {false, true}) {
              bounds.push_back(tolerance(m.required_at_atol, times * m.required_rtol, rounds));
              bounds.push_back(
                  tolerance(times * m.required_atol, m.required_at_rtol, rounds, true));
              bounds.push_back(tolerance(times * m.max_abs_error, 0, rounds));
              bounds.push_back(tolerance(2 * m.required_at_atol, times * m.required_rtol, rounds));
            }
          }
          for (const std::uint64_t ulps : {std::uint64_t{0}, std::uint64_t{1}, m.max_ulps}) {
            bounds.push_back(oracle::within_ulps(ulps));
          }
          bounds.push_back(oracle::same_bits());
          bounds.push_back(tolerance(1e30, 0));
          bounds.push_back(tolerance(kInfinity, 0));
          Bound budget = tolerance(1e-4, 1e-3, round);
          budget.max_mismatches = 3;
          bounds.push_back(budget);
          std::string line = formatted("{} off {}{}{}:", dtype, off, specials ? " specials" : "",
                                       round ? " rounded" : "");
          for (const Bound& bound : bounds) {
            const Verdict again = regate(saved, bound);
            line += formatted(" {} {} {}", bound.standard, outcome_word(again.outcome),
                              digest(with_digits(again.because, 3)));
          }
          recorded.push_back(line);
        }
      }
    }
  }
  expect_recorded("judge/recorded/regate.txt", recorded);
}

// ------------------------------------------------------------------ small parts

TEST(RecordedParts, SampledPositionsAndBlindShares) {
  std::vector<std::string> recorded;
  for (const std::int64_t size :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{100}, kSampledElements - 1, kSampledElements,
        kSampledElements + 1, 3 * kSampledElements - 7, std::int64_t{1} << 40}) {
    std::string positions;
    for (const std::int64_t p : sampled_positions(size)) positions += formatted("{},", p);
    recorded.push_back(formatted("{}: {}", size, digest(positions)));
  }
  const Tensor expected = oracle::vector_of("float64", {0, 5, -3, 0.1, 2, 0, 7, 1e-9, 4, 6, -8});
  for (std::int64_t refused = 0; refused < 12; ++refused) {
    // The trial's judge refuses an output that has `refused` or more zeros.
    const double share =
        blind_share_by_trial(expected, format_named("float32"), [&](const TensorView& output) {
          std::int64_t zeros = 0;
          for (std::int64_t i = 0; i < output.size(); ++i) zeros += output.value_at(i) == 0 ? 1 : 0;
          return zeros < refused;
        });
    recorded.push_back(formatted("refused from {} zeros on: {}", refused, share));
  }
  for (const double max_blind : {0.0, 0.1, 0.5, 0.99, 1.0}) {
    for (const std::size_t n : {0u, 1u, 2u, 9u, 100u}) {
      Verdict v;
      v.bound.max_blind = max_blind;
      std::vector<double> sizes = {0, kInfinity, kNan};
      for (std::size_t i = 0; i < n; ++i) sizes.push_back(static_cast<double>(i * 7 % n + 1));
      recorded.push_back(
          formatted("{} of {}: '{}'", max_blind, n, tolerance_that_sees(v, [&] { return sizes; })));
    }
  }
  for (const std::int64_t sites : {kSampledElements, kSampledElements + 1}) {
    for (const bool limits : {false, true}) {
      Verdict v;
      v.sites = sites;
      v.nonzero = 50;
      for (const std::int64_t blind : {0, 1, 12}) {
        v.blind = blind;
        if (limits) v.bound.limits = {{.statistic = Statistic::kMere, .limit = 1}};
        recorded.push_back(formatted("{} {} {}: '{}'", sites, limits, blind, blind_words(v)));
      }
    }
  }
  expect_recorded("judge/recorded/blind.txt", recorded);
}

// Rules as they were published, for outputs with special values on one side or both, and far off.
TEST(RecordedParts, RulesAsPublished) {
  std::vector<std::string> recorded;
  for (const char* standard :
       {"ttk_close", "ttk_requant", "ttk_cross_check_l0", "ttk_cross_check_l1",
        "ttk_cross_check_l2", "verify_result", "atb", "atb_high_precision"}) {
    const std::string name = std::string(standard) + ",as_published";
    for (const char* dtype :
         {"float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"}) {
      const Format& f = format_named(dtype);
      const auto bound = standard_bound(name, f, 1);
      if (!bound) continue;
      for (const double off : {0.0, 0x1p-16, 0x1p-11, 0x1p-7, 0.5}) {
        for (const int specials : {0, 1, 2}) {
          std::vector<double> golden = golden_values(f, 400, 92, specials == 2);
          std::vector<double> output = output_values(f, golden, 93, specials == 2, off);
          if (specials == 1) output[7] = kNan;
          std::vector<double> third = output_values(f, golden, 94, false, 0x1p-10);
          const Tensor expected =
              Tensor::from_values(f.is_float64() ? f : format_named("float32"), {400}, golden);
          const Tensor actual = Tensor::from_values(f, {400}, output);
          const Tensor reference_implementation = Tensor::from_values(f, {400}, third);
          JudgeOptions options;
          options.reference_implementation = reference_implementation.view();
          options.metrics = false;
          const Verdict v = judge(actual, expected, *bound, options);
          recorded.push_back(formatted(
              "{} {} off {} specials {}: {} {} of {} {}", standard, dtype, off, specials,
              outcome_word(v.outcome), v.mismatches, v.forgiven,
              digest(with_digits(v.because + (v.notes.empty() ? "" : v.notes.back()), 4))));
        }
      }
    }
  }
  expect_recorded("judge/recorded/published.txt", recorded);
}

}  // namespace
}  // namespace assay
