// Compares the checks of attention with the formulas of docs/abft.md, for every row, one element at
// a time in long double. Also tests that a verdict counts the results of its rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/abft.h"
#include "assay/abft/attention_check.h"
#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/machine/machine.h"

namespace assay::attention_oracle {
namespace {

using Real = long double;
constexpr Real kUnit = 0x1p-24L;  // of float32

struct Kind {
  const char *dtype, *output, *machine;
  // The attribute `tile`. The case does not have it if this is negative.
  std::int64_t tile;
  bool causal;
  double spread;  // of scores
};
const Kind kKinds[] = {
    {"float32", "float32", "", -1, true, 1},
    {"bfloat16", "bfloat16", "ascend910b", 32, false, 2},
    {"float16", "float16", "hopper", -1, true, 3},
    {"float16", "float32", "volta", 0, false, 3},
    {"float16", "bfloat16", "", 64, false, 4},
    {"tfloat32", "float32", "hopper", -1, false, 1},
    {"float8_e4m3fn", "bfloat16", "hopper,kept_bits=25,mantissa_bits=23", 32, false, 1},
    {"float8_e5m2", "float16", "hopper,kept_bits=25,mantissa_bits=23", -1, false, 1},
    // Here truncation makes up most of an element's bound.
    {"float32", "float32", "cpu_fma,rounding=toward_zero", -1, false, 0.02},
};

std::string words_of(const Kind& kind) {
  return formatted("{} {} {} tile {}", kind.dtype, kind.output, kind.machine, kind.tile);
}

constexpr std::int64_t kBatch = 2, kKeys = 43, kDepth = 12, kWidth = 37, kColumns = 16;

Case attention_of(const Kind& kind, std::int64_t queries) {
  Random random(20261125, 3);
  const Format& f = format_named(kind.dtype);
  Case c;
  c.name = "case";
  c.op = "attention";
  c.attributes["output_dtype"] = std::string(kind.output);
  c.attributes["scale"] = 0.4;
  c.attributes["causal"] = std::int64_t{kind.causal};
  if (kind.tile >= 0) c.attributes["tile"] = kind.tile;
  const auto drawn = [&](std::int64_t rows, std::int64_t columns, double deviation) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < kBatch * rows * columns; ++i) {
      // The rows and the columns are of different sizes.
      const double size = 1 + 0.02 * static_cast<double>(i % 71);
      values.push_back(round_to(f, deviation * size * random.normal()));
    }
    return Tensor::from_values(f, {kBatch, rows, columns}, values);
  };
  c.inputs["q"] = drawn(queries, kDepth, kind.spread);
  c.inputs["k"] = drawn(kKeys, kDepth, 1);
  c.inputs["v"] = drawn(kKeys, kWidth, 1);
  return c;
}

// The weights of one query and their errors.
struct PlainRow {
  std::vector<Real> weights, variances, lost;
  Real sum = 0, error_square = 0;
};

class PlainAttention {
 public:
  PlainAttention(const Kind& kind, const Case& c, std::int64_t queries)
      : q_(c.input("q").view().values()),
        k_(c.input("k").view().values()),
        v_(c.input("v").view().values()),
        in_(format_named(kind.dtype)),
        out_(format_named(kind.output)),
        kind_(kind),
        queries_(queries) {
    if (*kind.machine != '\0') {
      const DotModel& model = dot_model(machine_named(kind.machine), in_);
      chunk_ = model.chunk.value;
      truncates_ = model.rounding.value != Rounding::kNearestEven;
    }
    const auto kappa_of = [](std::int64_t checks) {
      return std::sqrt(2 * std::log(2 * static_cast<Real>(checks) / 1e-9L));
    };
    kappa_ = kappa_of(kBatch * queries * 3);
    kappa_of_element_ = kappa_of(kBatch * queries * 3 * kColumns);
  }

  PlainRow row(std::int64_t i) const {
    const std::int64_t batch = i / queries_, query = i % queries_;
    const std::int64_t seen = kind_.causal ? std::min(kKeys, query + 1) : kKeys;
    std::vector<Real> scores;
    Real length = 0, longest = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      Real score = 0, square = 0;
      for (std::int64_t d = 0; d < kDepth; ++d) {
        const Real key = k_[at((batch * kKeys + j) * kDepth + d)];
        score += q_[at(i * kDepth + d)] * key;
        square += key * key;
      }
      longest = std::max(longest, std::sqrt(square));
      if (j < seen) scores.push_back(Real(0.4) * score);
    }
    for (std::int64_t d = 0; d < kDepth; ++d) length += std::pow(Real(q_[at(i * kDepth + d)]), 2);
    const Real high = *std::max_element(scores.begin(), scores.end());
    const Real low = *std::min_element(scores.begin(), scores.end());
    const Real largest = std::max(std::abs(high), std::abs(low));
    const Real lengths = Real(0.4) * std::sqrt(length) * longest;
    PlainRow r;
    Real square = (Real(kDepth) / 3 + 8) * largest * largest + lengths * lengths / 6 + 64;
    if (truncates_) square += std::pow(2 * roundings(kDepth) * lengths, 2);
    r.error_square = kUnit * kUnit * square;
    const Real unit = unit_roundoff(in_), relative = r.error_square + unit * unit / 3;
    for (const Real s : scores) {
      r.weights.push_back(std::exp(s - high));
      r.sum += r.weights.back();
    }
    const Real tiny = min_subnormal(in_) * (kind_.tile > 0 ? 1 : r.sum);
    const bool narrow = in_.exponent_bits < 8;
    for (const Real p : r.weights) {
      const bool subnormal = narrow && p < tiny * std::ldexp(Real(1), in_.precision - 1);
      const bool gone = narrow && p < tiny;
      r.variances.push_back(!subnormal ? relative * p * p
                                       : r.error_square * p * p + (gone ? 0 : tiny * tiny / 12));
      r.lost.push_back(gone ? std::min(p, tiny / 2) : 0);
    }
    return r;
  }

  struct Check {
    Real reference = 0, variance = 0, threshold = 0;
    bool blind = false;
  };
  Check check(const PlainRow& r, std::int64_t i, std::int64_t g, const double* c) const {
    const std::int64_t first = g * kColumns, last = std::min(kWidth, first + kColumns);
    Real spread = 0, squares = 0, most = 0, beside = 0;
    Check result;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      Real sum = 0, square = 0, size = 0;
      for (std::int64_t e = first; e < last; ++e) {
        const Real v = value(i, j, e);
        sum += v, square += v * v, size += std::abs(v);
      }
      for (std::int64_t begin = 0; begin < kWidth; begin += kColumns) {
        Real group = 0;
        for (std::int64_t e = begin; e < std::min(kWidth, begin + kColumns); ++e) {
          group += value(i, j, e) * value(i, j, e);
        }
        most = std::max(most, group);
      }
      if (at(j) >= r.weights.size()) continue;
      const Real p = r.weights[at(j)];
      result.reference += p * sum / r.sum;
      spread += r.variances[at(j)] * sum * sum / (r.sum * r.sum);
      squares += p * p * square / (r.sum * r.sum);
      beside += r.lost[at(j)] * size / r.sum;
      if (truncates_) beside += 2 * kUnit * roundings(kKeys) * p * size / r.sum;
    }
    // For outputs of at most 16 bits, the checker replaces the squares by a bound: the largest sum
    // of squared values that a key has in any group of columns.
    if (out_.precision <= 16) squares = most / r.sum;
    Real outputs = 0, ulps = 0, ulp_squares = 0, largest = 0;
    for (std::int64_t e = first; e < last; ++e) {
      const Real ulp = ulp_of(out_, c[e]);
      outputs += Real(c[e]) * c[e], ulps += ulp, ulp_squares += ulp * ulp;
      largest = std::max(largest, std::abs(Real(c[e])));
    }
    const Real of_weights =
        spread + sums(outputs, squares) + r.error_square * result.reference * result.reference;
    result.variance = ulp_squares / 12 + of_weights;
    result.threshold =
        std::min(kappa_ * std::sqrt(result.variance), ulps / 2 + kappa_ * std::sqrt(of_weights)) +
        beside;
    result.blind = kappa_ * std::sqrt(of_weights) + beside >= largest;
    return result;
  }

  // The reference of an element, and the largest error that its output may have.
  struct Bound {
    Real reference = 0, bound = 0;
  };
  Bound element(const PlainRow& r, std::int64_t i, std::int64_t e) const {
    Bound b;
    Real spread = 0, squares = 0, beside = 0;
    for (std::size_t j = 0; j < r.weights.size(); ++j) {
      const Real v = value(i, static_cast<std::int64_t>(j), e), p = r.weights[j];
      b.reference += p * v / r.sum;
      spread += r.variances[j] * v * v / (r.sum * r.sum);
      squares += p * p * v * v / (r.sum * r.sum);
      beside += r.lost[j] * std::abs(v) / r.sum;
      if (truncates_) beside += 2 * kUnit * roundings(kKeys) * p * std::abs(v) / r.sum;
    }
    const Real square = b.reference * b.reference;
    const Real slack =
        kappa_of_element_ * std::sqrt(spread + sums(square, squares) + r.error_square * square) +
        beside;
    b.bound = ulp_of(out_, static_cast<double>(std::abs(b.reference) + slack)) / 2 + slack;
    return b;
  }

 private:
  Real value(std::int64_t i, std::int64_t j, std::int64_t e) const {
    return v_[at((i / queries_ * kKeys + j) * kWidth + e)];
  }
  Real roundings(std::int64_t n) const { return static_cast<Real>((n + chunk_ - 1) / chunk_); }
  static Real sums(Real outputs, Real squares) {
    return kUnit * kUnit * (kKeys + 8) * (outputs / 3 + squares / 6);
  }

  std::vector<double> q_, k_, v_;
  const Format &in_, &out_;
  const Kind& kind_;
  std::int64_t queries_;
  std::int64_t chunk_ = 1;
  bool truncates_ = false;
  Real kappa_ = 0, kappa_of_element_ = 0;
};

AbftOptions options_for(const Kind& kind) {
  AbftOptions options;
  options.threads = 1;
  if (*kind.machine != '\0') {
    options.model = &dot_model(machine_named(kind.machine), format_named(kind.dtype));
  }
  return options;
}

// Returns the outputs of all rows: the references, rounded.
std::vector<double> outputs_of(const PlainAttention& plain, const Format& f, std::int64_t rows) {
  std::vector<double> outputs;
  for (std::int64_t i = 0; i < rows; ++i) {
    const PlainRow row = plain.row(i);
    for (std::int64_t e = 0; e < kWidth; ++e) {
      outputs.push_back(round_to(f, static_cast<double>(plain.element(row, i, e).reference)));
    }
  }
  return outputs;
}

void expect_near(double got, Real wanted, const char* what) {
  EXPECT_NEAR(got, static_cast<double>(wanted), 1e-5 * static_cast<double>(std::abs(wanted)))
      << what;
}

TEST(AttentionOracle, EveryCheckIsByItsFormula) {
  constexpr std::int64_t kQueries = 9;
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(words_of(kind));
    const Case c = attention_of(kind, kQueries);
    const PlainAttention plain(kind, c, kQueries);
    const Format& f = format_named(kind.output);
    const std::vector<double> outputs = outputs_of(plain, f, kBatch * kQueries);
    const abft::AttentionRows rows(c, f, options_for(kind));
    ASSERT_EQ(rows.groups_per_row(), 3);
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      const PlainRow of = plain.row(i);
      const abft::AttentionRow row = rows.row(i);
      const double* elements = outputs.data() + i * kWidth;
      for (std::int64_t g = 0; g < 3; ++g) {
        const PlainAttention::Check wanted = plain.check(of, i, g, elements);
        const abft::Reading got = row.read(g, elements);
        Real total = 0;
        for (std::int64_t e = g * kColumns; e < std::min(kWidth, (g + 1) * kColumns); ++e) {
          total += elements[e];
        }
        ASSERT_NEAR(got.difference, static_cast<double>(std::abs(total - wanted.reference)), 1e-4);
        expect_near(got.variance, wanted.variance, "variance");
        expect_near(got.threshold, wanted.threshold, "threshold");
        ASSERT_FALSE(HasFailure()) << "row " << i << " group " << g;
      }
    }
  }
}

TEST(AttentionOracle, EveryElementHasItsBound) {
  constexpr std::int64_t kQueries = 4;
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(words_of(kind));
    const Case c = attention_of(kind, kQueries);
    const PlainAttention plain(kind, c, kQueries);
    const abft::AttentionRows rows(c, format_named(kind.output), options_for(kind));
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      const PlainRow of = plain.row(i);
      const abft::AttentionRow row = rows.row(i);
      std::vector<double> elements;
      std::vector<PlainAttention::Bound> bounds;
      for (std::int64_t e = 0; e < kWidth; ++e) {
        bounds.push_back(plain.element(of, i, e));
        elements.push_back(static_cast<double>(bounds.back().reference));
      }
      for (std::int64_t e = 0; e < kWidth; ++e) {
        for (const double sign : {1.0, -1.0}) {
          // The references of float32 weights are accurate to some 1e-7 of the values.
          const auto off = [&](double part) {
            std::vector<double> changed = elements;
            const auto bound = static_cast<double>(bounds[at(e)].bound);
            changed[at(e)] += sign * (part * bound + (part > 1 ? 1 : -1) * 1e-6);
            return row.is_wrong(e / kColumns, changed.data());
          };
          ASSERT_FALSE(off(0.99)) << "row " << i << " element " << e;
          ASSERT_TRUE(off(1.01)) << "row " << i << " element " << e;
        }
      }
    }
  }
}

// More queries than one block, and two matrices. A verdict's counts and means are those of the
// readings of its rows, and its flags name the rows.
TEST(AttentionOracle, AVerdictIsThatOfItsRows) {
  constexpr std::int64_t kQueries = 150;
  for (const Kind& kind : {kKinds[0], kKinds[2], kKinds[6]}) {
    SCOPED_TRACE(words_of(kind));
    const Case c = attention_of(kind, kQueries);
    const PlainAttention plain(kind, c, kQueries);
    const Format& f = format_named(kind.output);
    std::vector<double> outputs = outputs_of(plain, f, kBatch * kQueries);
    // Two faults in the second block of queries of the second matrix.
    for (const std::int64_t place : {290 * kWidth + 20, 291 * kWidth + 36})
      outputs[at(place)] += 64;
    const Tensor output = Tensor::from_values(f, {kBatch, kQueries, kWidth}, outputs);
    outputs = output.view().values();
    const AbftOptions options = options_for(kind);
    const AbftVerdict v = abft::check_attention(c, output.view(), options);
    const abft::AttentionRows rows(c, f, options);
    std::int64_t measured = 0, blind = 0;
    double square = 0, sum = 0, worst = 0;
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      const abft::AttentionRow row = rows.row(i);
      const PlainRow of = plain.row(i);
      for (std::int64_t g = 0; g < 3; ++g) {
        const double* elements = outputs.data() + i * kWidth;
        const abft::Reading r = row.read(g, elements);
        ++measured;
        square += r.difference * r.difference / r.variance;
        sum += (r.below ? -r.difference : r.difference) / std::sqrt(r.variance);
        worst = std::max(worst, r.difference / r.threshold);
        blind += plain.check(of, i, g, elements).blind && !r.flagged() ? 1 : 0;
      }
    }
    EXPECT_EQ(v.checks, measured);
    EXPECT_EQ(v.measured, measured);
    EXPECT_EQ(v.blind, blind);
    EXPECT_EQ(v.worst_ratio, worst);
    EXPECT_NEAR(v.rms_z, std::sqrt(square / static_cast<double>(measured)), 1e-9 * v.rms_z);
    EXPECT_NEAR(v.mean_z, sum / static_cast<double>(measured), 1e-9 * v.rms_z);
    ASSERT_EQ(v.flags.size(), 2u) << v.because;
    EXPECT_EQ(v.flagged, 2);
    for (const AbftFlag& flag : v.flags) {
      EXPECT_EQ(flag.batch, 1);
      ASSERT_TRUE(flag.element);
      EXPECT_EQ(flag.element->row, flag.index);
      const bool first = flag.index == 140;
      EXPECT_EQ(flag.index, first ? 140 : 141);
      EXPECT_EQ(flag.element->column, first ? 20 : 36);
      EXPECT_EQ(flag.first, first ? 16 : 32);
      EXPECT_EQ(flag.last, first ? 31 : 36);
      EXPECT_EQ(flag.element->actual,
                outputs[at((150 + flag.index) * kWidth + flag.element->column)]);
      EXPECT_EQ(flag.element->bits,
                output.bits_at((150 + flag.index) * kWidth + flag.element->column));
    }
  }
}

// If nothing differs and every threshold is 0, the verdict is untrusted.
TEST(AttentionOracle, NoDifferenceAndNoThresholdIsUntrusted) {
  const Format& f = format_named("float32");
  Case c;
  c.name = "case";
  c.op = "attention";
  c.attributes["output_dtype"] = std::string("float32");
  c.inputs["q"] = Tensor::from_values(f, {1, 1}, std::vector<double>{1});
  c.inputs["k"] = Tensor::from_values(f, {2, 1}, std::vector<double>{1, 2});
  c.inputs["v"] = Tensor::from_values(f, {2, 1}, std::vector<double>{0, 0});
  AbftOptions options;
  options.spec = parse_threshold("rounding_variance,kappa=1e-300");
  const Tensor zero = Tensor::from_values(f, {1, 1}, std::vector<double>{0});
  const AbftVerdict v = abft::check_attention(c, zero.view(), options);
  EXPECT_EQ(v.uninformative, 1);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_EQ(v.because,
            "no check shows anything, because every difference and every threshold is 0");
}

}  // namespace
}  // namespace assay::attention_oracle
