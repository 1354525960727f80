// Compares the texts of failures with recorded texts. It covers every change of an output that is
// looked for, shapes of one to six dimensions, and shares of explained mismatches on both sides of
// the required share. A failure says how to record the texts again.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/pattern.h"
#include "assay/judge/standards.h"
#include "drawn_outputs.h"
#include "recorded.h"

namespace assay {
namespace {

using Positions = std::vector<std::int64_t>;

Tensor golden_of(const char* dtype, const Shape& shape, std::uint64_t seed = 61,
                 double smallest = 0.5, double largest = 8) {
  oracle::Dice dice(seed);
  const Format& f = format_named(dtype);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) {
    v = smallest + (largest - smallest) * dice.uniform();
    if (!f.is_float()) v = std::nearbyint(8 * v);
    if (f.is_signed() && dice.below(2) == 0) v = -v;
  }
  return Tensor::from_values(f, shape, values);
}

Tensor with_bits(const Tensor& golden, const std::function<std::uint64_t(std::int64_t)>& bits) {
  Tensor made = golden;
  for (std::int64_t i = 0; i < golden.size(); ++i) made.set_bits(i, bits(i));
  return made;
}

Tensor times(const Tensor& golden, double by, double noise = 0) {
  oracle::Dice dice(62);
  const Format& f = golden.format();
  return with_bits(golden, [&](std::int64_t p) {
    const double off = 1 + noise * (2 * dice.uniform() - 1);
    return encode(f, by * off * decode(f, golden.bits_at(p)));
  });
}

std::string pattern_of(const Tensor& output, const Tensor& golden, const Bound& bound,
                       const std::optional<Tensor>& reference_implementation = {}) {
  JudgeOptions options;
  options.metrics = false;
  if (reference_implementation) options.reference_implementation = reference_implementation->view();
  const Verdict v = judge(output, golden, bound, options);
  return formatted("{} {}: {}", outcome_word(v.outcome), v.mismatches,
                   v.where.empty() ? "nothing" : v.where);
}

TEST(RecordedPatterns, OfMovedElements) {
  std::vector<std::string> recorded;
  const Bound bound = oracle::tolerance(1e-4, 1e-3);
  for (const Shape& shape : {Shape{60}, Shape{6, 10}, Shape{8, 8}, Shape{1, 40}, Shape{40, 1},
                             Shape{3, 4, 5}, Shape{4, 1, 4}, Shape{5, 5, 5}, Shape{2, 3, 4, 3},
                             Shape{2, 2, 3, 2, 3}, Shape{2, 2, 2, 2, 2, 2}}) {
    const Tensor golden = golden_of("float32", shape);
    const Strides strides = contiguous_strides(shape);
    const auto add = [&](const std::string& what, const auto& from) {
      const Tensor output =
          with_bits(golden, [&](std::int64_t p) { return golden.bits_at(from(p)); });
      recorded.push_back(
          formatted("{} {}: {}", shape_text(shape), what, pattern_of(output, golden, bound)));
    };
    for (std::size_t d = 0; d < shape.size(); ++d) {
      for (const int step : {1, -1, 2}) {
        add(formatted("moved by {} along {}", step, d), [&](std::int64_t p) {
          const std::int64_t i = p / strides[d] % shape[d];
          return p + ((i + step + shape[d]) % shape[d] - i) * strides[d];
        });
      }
      for (std::size_t other = d + 1; other < shape.size(); ++other) {
        add(formatted("dimensions {} and {} exchanged", d, other), [&](std::int64_t p) {
          // The memory of the output belongs to the shape with the two dimensions exchanged.
          Shape stored = shape;
          std::swap(stored[d], stored[other]);
          Strides own = strides;
          std::swap(own[d], own[other]);
          std::int64_t rest = p, from = 0;
          for (std::size_t e = shape.size(); e-- > 0; rest /= stored[e]) {
            from += rest % stored[e] * own[e];
          }
          return from;
        });
      }
    }
    const std::int64_t size = golden.size(), columns = shape.back(), rows = size / columns;
    for (const std::int64_t step : {std::int64_t{1}, std::int64_t{-1}, std::int64_t{3}}) {
      add(formatted("moved by {} in memory", step),
          [&](std::int64_t p) { return (p + step + size) % size; });
    }
    const auto other = [](std::int64_t i, std::int64_t one, std::int64_t two) {
      return i == one ? two : i == two ? one : i;
    };
    if (rows > 2) {
      add("first and last row exchanged",
          [&](std::int64_t p) { return other(p / columns, 0, rows - 1) * columns + p % columns; });
    }
    if (columns > 2) {
      add("first and last column exchanged",
          [&](std::int64_t p) { return p - p % columns + other(p % columns, 0, columns - 1); });
    }
  }
  expect_recorded("judge/recorded/moves.txt", recorded);
}

TEST(RecordedPatterns, OfFactors) {
  std::vector<std::string> recorded;
  const Bound bound = oracle::tolerance(1e-4, 1e-3);
  for (const double by : {0.5, -1.0, 2.0, 3.0, 1.0 / 3, 0.7, 0.1, 10.0, 1.015, 1.021, 0.985, 0.979,
                          127.0, 1.0 / 127, -0.25, 1.05, 6.2831853, 1e30}) {
    for (const double noise : {0.0, 0x1p-12, 0x1p-6}) {
      const Tensor golden = golden_of("float32", {16, 24});
      recorded.push_back(formatted("times {} noise {}: {}", by, noise,
                                   pattern_of(times(golden, by, noise), golden, bound)));
    }
  }
  // Records outputs of few elements, and of values that have nearly one size.
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 9, 31, 32, 33}) {
    for (const double by : {1.5, 1.015, 3.0}) {
      for (const double largest : {8.0, 0.745, 0.755}) {
        const Tensor golden = golden_of("float32", {n}, 61, 0.5, largest);
        recorded.push_back(formatted("{} elements up to {} times {}: {}", n, largest, by,
                                     pattern_of(times(golden, by), golden, bound)));
      }
    }
  }
  // Records outputs in which only a part of the mismatches has a pattern.
  for (const int wrong : {0, 8, 19, 20, 21, 22, 30, 40, 60}) {
    for (const int right : {0, 20, 100, 150}) {
      const Tensor golden = golden_of("float32", {200});
      const Tensor twice = times(golden, 2);
      const Tensor output = with_bits(golden, [&](std::int64_t p) {
        if (p % 200 < wrong) return encode(golden.format(), 100 + static_cast<double>(p * p));
        return p < wrong + right ? golden.bits_at(p) : twice.bits_at(p);
      });
      recorded.push_back(
          formatted("{} wrong, {} right: {}", wrong, right, pattern_of(output, golden, bound)));
    }
  }
  expect_recorded("judge/recorded/factors.txt", recorded);
}

TEST(RecordedPatterns, OfBits) {
  std::vector<std::string> recorded;
  for (const char* dtype : {"float32", "float16", "bfloat16", "float64", "tfloat32",
                            "float8_e4m3fn", "int16", "int8"}) {
    const Format& f = format_named(dtype);
    const Bound bound =
        f.is_float() ? oracle::tolerance(1e-4, 2 * unit_roundoff(f) * 8) : oracle::tolerance(0, 0);
    const Tensor golden = golden_of(dtype, {12, 16});
    for (const std::int64_t mismatches : {1, 2, 3, 5, 60}) {
      for (int bit = f.padding; bit < f.padding + f.bits; ++bit) {
        if (mismatches != 1 && bit % 3 != 0) continue;
        const Tensor output = with_bits(golden, [&](std::int64_t p) {
          return p % 3 == 1 && p / 3 < mismatches ? golden.bits_at(p) ^ std::uint64_t{1} << bit
                                                  : golden.bits_at(p);
        });
        recorded.push_back(formatted("{} bit {} of {}: {}", dtype, bit, mismatches,
                                     pattern_of(output, golden, bound)));
      }
    }
    for (const Format& other : formats()) {
      if (other.storage_bytes != f.storage_bytes || &other == &f) continue;
      std::vector<double> values = golden.view().values();
      for (double& v : values) {
        if (!other.is_signed()) v = std::abs(v);
        if (!other.is_float()) v = std::clamp(std::nearbyint(v), -100.0, 100.0);
        if (other.kind == Kind::kBool) v = 1;
      }
      const Tensor stored = Tensor::from_values(other, golden.shape(), values);
      const Tensor output = with_bits(golden, [&](std::int64_t p) {
        const std::uint64_t bits = stored.bits_at(p);
        return is_valid_code(f, bits) ? bits : 0;
      });
      recorded.push_back(formatted("{} with bits of {}: {}", dtype, other.name,
                                   pattern_of(output, golden, bound)));
    }
    const int width = f.storage_bytes;
    const Tensor reversed = with_bits(golden, [&](std::int64_t p) {
      const std::uint64_t bits = __builtin_bswap64(golden.bits_at(p)) >> (64 - 8 * width);
      return is_valid_code(f, bits) ? bits : 0;
    });
    recorded.push_back(formatted("{} reversed: {}", dtype, pattern_of(reversed, golden, bound)));
  }
  expect_recorded("judge/recorded/bits.txt", recorded);
}

TEST(RecordedPatterns, OfWhatWasNotWritten) {
  std::vector<std::string> recorded;
  for (const char* dtype : {"float32", "float16", "float8_e4m3fn", "int8"}) {
    const Format& f = format_named(dtype);
    const Bound bound = oracle::tolerance(1e-4, f.is_float() ? 0.1 : 0);
    const double values[] = {0,   -0.0,  1,   max_finite(f), -max_finite(f),
                             448, 65504, 127, kInfinity,     kNan};
    for (const double value : values) {
      if (!f.is_float() && !std::isfinite(value)) continue;
      const double stored = std::clamp(value, -max_finite(f), max_finite(f));
      const std::uint64_t bits = encode(f, std::isfinite(value) ? stored : value);
      for (const double smallest : {0.5, 1e-9}) {
        const Tensor golden = golden_of(dtype, {10, 20}, 63, smallest, smallest == 0.5 ? 8 : 1e-8);
        for (const std::int64_t from : {0, 1, 150, 196, 197, 199}) {
          const Tensor output = with_bits(
              golden, [&](std::int64_t p) { return p >= from ? bits : golden.bits_at(p); });
          recorded.push_back(formatted("{} is {} from {} on, {}: {}", dtype, value, from, smallest,
                                       pattern_of(output, golden, bound)));
        }
        const Tensor output = with_bits(golden, [&](std::int64_t p) {
          return golden.view().value_at(p) < 0 ? bits : golden.bits_at(p);
        });
        recorded.push_back(formatted("{} is {} for negative ones, {}: {}", dtype, value, smallest,
                                     pattern_of(output, golden, bound)));
      }
    }
  }
  expect_recorded("judge/recorded/not_written.txt", recorded);
}

// Records the texts of failures under rules in which only statistics fail, or in which each element
// has its own bound.
TEST(RecordedPatterns, UnderOtherRules) {
  std::vector<std::string> recorded;
  const Tensor golden = golden_of("float32", {20, 20});
  const Tensor halved = times(golden, 2), noisy = times(golden, 1, 0x1p-8);
  const Tensor zeros = times(golden, 0);
  const Tensor transposed =
      with_bits(golden, [&](std::int64_t p) { return golden.bits_at(p % 20 * 20 + p / 20); });
  const Tensor reference_implementation = times(golden, 1, 0x1p-18);
  for (const Standard& s : standards()) {
    const auto bound = standard_bound(s.name, golden.format(), 100);
    if (!bound) continue;
    for (const auto& [name, output] :
         {std::pair("twice", &halved), std::pair("noise", &noisy), std::pair("zeros", &zeros),
          std::pair("transposed", &transposed)}) {
      recorded.push_back(formatted("{}, {}: {}", s.name, name,
                                   pattern_of(*output, golden, *bound, reference_implementation)));
    }
  }
  expect_recorded("judge/recorded/other_rules.txt", recorded);
}

// Records the texts for mismatches at positions of every kind.
TEST(RecordedPatterns, OfPlaces) {
  std::vector<std::string> recorded;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{37}, Shape{12, 16}, Shape{3, 3}, Shape{1, 30},
                             Shape{30, 1}, Shape{2, 6, 8}, Shape{1, 6, 8}, Shape{2, 2, 4, 6}}) {
    const std::int64_t size = element_count(shape);
    const std::int64_t columns = shape.empty() ? 1 : shape.back();
    const auto add = [&](const std::string& what, const auto& is) {
      Positions positions;
      for (std::int64_t p = 0; p < size; ++p) {
        if (is(p)) positions.push_back(p);
      }
      if (positions.empty()) return;
      recorded.push_back(
          formatted("{} {}: '{}'", shape_text(shape), what, location_pattern(positions, shape)));
    };
    const auto row = [&](std::int64_t p) { return p / columns; };
    const auto column = [&](std::int64_t p) { return p % columns; };
    add("all", [](std::int64_t) { return true; });
    for (std::int64_t n = 1; n < 6; ++n) {
      add(formatted("first {}", n), [&](std::int64_t p) { return p < n; });
      add(formatted("last {}", n), [&](std::int64_t p) { return p >= size - n; });
      add(formatted("{} from 2 on", n), [&](std::int64_t p) { return p >= 2 && p < 2 + n; });
      add(formatted("every {}", n), [&](std::int64_t p) { return p % n == 0; });
      add(formatted("every {} from 1", n), [&](std::int64_t p) { return p % n == 1; });
      add(formatted("every {} but the last", n),
          [&](std::int64_t p) { return p % n == 0 && p < size - n; });
      add(formatted("row {}", n), [&](std::int64_t p) { return row(p) == n; });
      add(formatted("column {}", n), [&](std::int64_t p) { return column(p) == n; });
      add(formatted("rows up to {}", n), [&](std::int64_t p) { return row(p) <= n; });
      for (std::int64_t m = 1; m < 6; ++m) {
        add(formatted("tile {} {}", n, m), [&](std::int64_t p) {
          return row(p) >= n && row(p) < n + m && column(p) >= m && column(p) < 2 * m;
        });
        add(formatted("aligned tile {} {}", n, m), [&](std::int64_t p) {
          return row(p) >= n * m && row(p) < n * m + m && column(p) >= 4 && column(p) < 8;
        });
        add(formatted("sparse tile {} {}", n, m), [&](std::int64_t p) {
          return row(p) >= n && row(p) < n + m && column(p) < m && (row(p) + column(p)) % 2 == 0;
        });
      }
    }
    const std::int64_t rows = size / columns;
    const auto on_edge = [&](std::int64_t p) {
      return row(p) == 0 || row(p) == rows - 1 || column(p) == 0 || column(p) == columns - 1;
    };
    add("edges", on_edge);
    for (const std::int64_t n : {2, 3, 4}) {
      add(formatted("edges, every {}", n),
          [&](std::int64_t p) { return on_edge(p) && p % n != 0; });
      add(formatted("some edges, every {}", n),
          [&](std::int64_t p) { return on_edge(p) && (row(p) + 2 * column(p)) % n == 0; });
    }
    for (const std::int64_t step : {5, 7, 11}) {
      add(formatted("multiples of {} squared", step),
          [&](std::int64_t p) { return p * p % step == 1; });
    }
  }
  expect_recorded("judge/recorded/places.txt", recorded);
}

}  // namespace
}  // namespace assay
