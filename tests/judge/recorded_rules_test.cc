// Compares the texts about indices and the tests of draws with recorded lines. Each covers a range
// of inputs, including the ends of every branch. A failure says how to record the values again.
#include <gtest/gtest.h>

#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/draw_tests.h"
#include "error_of.h"
#include "oracle.h"
#include "recorded.h"

namespace assay {
namespace {

// ------------------------------------------------------------------ indices

// Each text is recorded once, with the first case that has it.
TEST(RecordedIndices, OfEveryShapeAxisAndRule) {
  std::vector<std::string> recorded;
  std::set<std::string> said;
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
          if (!said.insert(v.because).second) continue;
          recorded.push_back(formatted("{} {} along {}, {}, change {}, atol {}: {}",
                                       shape_text(c.source), shape_text(c.output), c.axis, standard,
                                       change, atol, v.because));
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

}  // namespace
}  // namespace assay
