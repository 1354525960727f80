// Checksums of attention: right outputs of every machine pass, also on hard data, and faults are
// found and located.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "assay/abft.h"
#include "assay/abft/attention_check.h"
#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/machine/dot.h"
#include "assay/op/operator.h"
#include "assay/report.h"
#include "assay/tensor/distribution.h"

namespace assay {
namespace {

using testing::HasSubstr;

struct Made {
  std::string dtype = "bfloat16", output = "bfloat16", data = "normal", values = "normal";
  Shape batch = {};
  std::int64_t queries = 48, keys = 160, depth = 32, width = 48;
  std::map<std::string, Attribute> attributes = {};
  std::uint64_t seed = 1;

  Case made() const {
    Case c;
    c.name = "case";
    c.op = "attention";
    c.attributes = attributes;
    c.attributes["output_dtype"] = output;
    const auto draw_input = [&](const char* name, const std::string& from, std::int64_t rows,
                                std::int64_t columns) {
      Shape shape = batch;
      shape.insert(shape.end(), {rows, columns});
      c.inputs[name] =
          draw(parse_distribution(from), format_named(dtype), shape, seed, stream_of(name));
    };
    draw_input("q", data, queries, depth);
    draw_input("k", data, keys, depth);
    draw_input("v", values, keys, width);
    return c;
  }
};

AbftVerdict checked(const Case& c, const Tensor& output, const std::string& threshold = "",
                    const Machine* machine = nullptr) {
  GateRequest request;
  request.elements = false;
  request.machine = machine;
  request.checksums = parse_threshold(threshold.empty() ? "rounding_variance" : threshold);
  return *gate_case(c, output.view(), request).abft;
}

Tensor emulated(const Case& c, const char* machine = "ascend910b") {
  return emulate(c, machine_named(machine), 1);
}

// -- Right outputs --------------------------------------------------------------------------------

TEST(AttentionCheck, RightOutputsPassWhateverComputedThem) {
  for (const char* machine :
       {"ascend910b", "hopper", "ampere", "volta", "cpu_fma", "cpu_mul_add"}) {
    for (const char* dtype : {"float16", "bfloat16", "float32"}) {
      for (const std::int64_t tile : {-1, 0, 32}) {
        Made m{.dtype = dtype, .output = dtype, .batch = {2, 3}};
        if (tile >= 0) m.attributes["tile"] = tile;
        m.attributes["causal"] = std::int64_t{tile == 32};
        const Case c = m.made();
        SCOPED_TRACE(formatted("{} {} tile {}", machine, dtype, tile));
        Tensor output;
        try {
          output = emulated(c, machine);
        } catch (const std::invalid_argument&) {
          // The machine does not take the dtype.
          continue;
        }
        for (const Machine* known :
             {static_cast<const Machine*>(nullptr), &machine_named(machine)}) {
          const AbftVerdict v = checked(c, output, "", known);
          EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
          EXPECT_EQ(v.checks, 2 * 3 * 48 * 3);
          EXPECT_EQ(v.confirmed_clean, 0);
          EXPECT_LT(v.worst_ratio, 0.9);
          EXPECT_EQ(v.blind, 0);
        }
      }
    }
  }
}

TEST(AttentionCheck, RightOutputsPassOnHardData) {
  for (const char* data : {"normal,deviation=4", "uniform,low=0,high=1", "uniform,low=0.9,high=1.1",
                           "student_t,nu=2", "normal,mean=2", "normal,deviation=1e-3"}) {
    for (const char* values : {"normal", "normal,mean=1", "normal,mean=100", "student_t,nu=2",
                               "uniform,low=0.9,high=1.1", "normal,deviation=1e-30"}) {
      for (const char* output : {"bfloat16", "float32", "float8_e4m3fn"}) {
        const bool tiny = std::string(values).find("1e-30") != std::string::npos;
        const bool narrow = std::string(output) == "float8_e4m3fn";
        if (narrow && (tiny || std::string(values) == "normal,mean=100")) continue;
        SCOPED_TRACE(formatted("{} {} {}", data, values, output));
        const Case c = Made{.output = output, .data = data, .values = values}.made();
        const AbftVerdict v = checked(c, emulated(c));
        EXPECT_EQ(v.flagged, 0) << v.because;
        EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
      }
    }
  }
}

TEST(AttentionCheck, RightOutputsOfSmallShapesPass) {
  for (const std::int64_t keys : {1, 2, 7}) {
    for (const std::int64_t width : {1, 5, 17}) {
      const Case c = Made{.queries = 3, .keys = keys, .depth = 5, .width = width}.made();
      const AbftVerdict v = checked(c, emulated(c));
      EXPECT_EQ(v.flagged, 0) << keys << " " << width << " " << v.because;
    }
  }
}

// A kernel of plain loops with a running maximum over tiles of keys. It rounds the weights to the
// operands' dtype before it divides by their sum. It takes operands that no machine's vector unit
// takes.
Tensor plain_kernel(const Case& c, std::int64_t tile) {
  const TensorView q = c.input("q").view(), k = c.input("k").view(), v = c.input("v").view();
  const std::int64_t depth = q.shape[1], keys = k.shape[0], width = v.shape[1];
  const Format& f = *q.format;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(depth)));
  std::vector<double> out;
  for (std::int64_t i = 0; i < q.shape[0]; ++i) {
    std::vector<float> row(static_cast<std::size_t>(width), 0.0f);
    float most = -HUGE_VALF, total = 0;
    for (std::int64_t begin = 0; begin < keys; begin += tile) {
      std::vector<float> scores;
      const float before = most;
      for (std::int64_t j = begin; j < std::min(keys, begin + tile); ++j) {
        float sum = 0;
        for (std::int64_t d = 0; d < depth; ++d) {
          sum += static_cast<float>(q.value_at(i * depth + d) * k.value_at(j * depth + d));
        }
        scores.push_back(sum * scale);
        most = std::max(most, scores.back());
      }
      const float factor = std::exp(before - most);
      total *= factor;
      for (float& x : row) x *= factor;
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const float weight = std::exp(scores[j] - most);
        total += weight;
        const double rounded = round_to(f, static_cast<double>(weight));
        for (std::int64_t e = 0; e < width; ++e) {
          const std::int64_t key = begin + static_cast<std::int64_t>(j);
          row[static_cast<std::size_t>(e)] +=
              static_cast<float>(rounded * v.value_at(key * width + e));
        }
      }
    }
    for (const float x : row) out.push_back(static_cast<double>(x / total));
  }
  return Tensor::from_values(output_format(c), {q.shape[0], width}, out);
}

TEST(AttentionCheck, NoFalseAlarmOnOperandsOfEightBits) {
  const Machine& wide = machine_named("hopper,kept_bits=25,mantissa_bits=23");
  for (const char* dtype : {"float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"}) {
    for (const char* data : {"normal", "normal,deviation=4", "uniform,low=0,high=1"}) {
      for (const char* values : {"normal", "normal,mean=1"}) {
        SCOPED_TRACE(formatted("{} {} {}", dtype, data, values));
        const Case c = Made{.dtype = dtype,
                            .data = data,
                            .values = values,
                            .attributes = {{"tile", std::int64_t{32}}}}
                           .made();
        Tensor output = plain_kernel(c, 32);
        const AbftVerdict v = checked(c, output, "", &wide);
        // With 3 or 4 bits of precision, the roundings of the weights may hide whole elements, and
        // the verdict says so.
        EXPECT_EQ(v.outcome, 2 * v.blind > v.checks ? Outcome::kUntrusted : Outcome::kPass)
            << v.because;
        EXPECT_EQ(v.flagged, 0);
        EXPECT_EQ(v.confirmed_clean, 0);
        EXPECT_LT(v.worst_ratio, 0.9);
        // Without the attribute `tile`, the checker does not know if the kernel rounds the weights
        // before or after it divides them by their sum. It must allow for both.
        Case open = c;
        open.attributes.erase("tile");
        EXPECT_EQ(checked(open, output, "", &wide).flagged, 0);
        output.set_bits(100, encode(output.format(), 100.0));
        EXPECT_EQ(checked(c, output, "", &wide).flagged, 1);
      }
    }
  }
}

// -- Faults ---------------------------------------------------------------------------------------

TEST(AttentionCheck, AFlippedBitIsBroughtHome) {
  const Case c = Made{.batch = {2}}.made();
  Tensor output = emulated(c);
  const std::int64_t at = (1 * 48 + 7) * 48 + 20;
  const std::uint64_t bits = output.bits_at(at);
  output.set_bits(at, bits ^ (1u << 12));
  const AbftVerdict v = checked(c, output);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  ASSERT_EQ(v.flags.size(), 1u);
  EXPECT_EQ(v.because, "1 of 288 checks of 16 columns is above rounding_variance");
  EXPECT_EQ(v.flags[0].batch, 1);
  EXPECT_EQ(v.flags[0].index, 7);
  EXPECT_EQ(v.flags[0].first, 16);
  EXPECT_EQ(v.flags[0].last, 31);
  ASSERT_TRUE(v.flags[0].element);
  EXPECT_EQ(v.flags[0].element->column, 20);
  EXPECT_EQ(v.flags[0].element->flipped_bit, 12);
  EXPECT_EQ(v.flags[0].element->repaired_bits, bits);
}

// If all values are 0, every weighted mean is 0, and any other output is a fault.
TEST(AttentionCheck, AnElementBesideZerosIsFound) {
  Case c = Made{}.made();
  for (std::int64_t j = 0; j < 160; ++j) c.inputs["v"].set_bits(j * 48 + 20, 0);
  Tensor output = emulated(c);
  EXPECT_EQ(checked(c, output).outcome, Outcome::kPass);
  output.set_bits(7 * 48 + 20, encode(output.format(), 2.0));
  const AbftVerdict v = checked(c, output);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  ASSERT_EQ(v.flags.size(), 1u);
  ASSERT_TRUE(v.flags[0].element);
  EXPECT_EQ(v.flags[0].element->row, 7);
  EXPECT_EQ(v.flags[0].element->column, 20);
  EXPECT_EQ(v.flags[0].element->reference, 0);
}

// Sums above a threshold that is too small are confirmed element by element. Each element is within
// its own bound.
TEST(AttentionCheck, RightElementsOfAFlaggedSumAreClean) {
  const Case c = Made{}.made();
  const AbftVerdict v = checked(c, emulated(c), "rounding_variance,kappa=1e-12");
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  EXPECT_GT(v.confirmed_clean, 100);
  EXPECT_EQ(v.flagged, 0);
  EXPECT_TRUE(v.flags.empty());
}

// Compares D and the reference of an element with plain loops in long double.
TEST(AttentionCheck, TheDifferenceIsThatOfPlainLoops) {
  const Made m{.attributes = {{"causal", std::int64_t{1}}, {"scale", 0.25}}};
  const Case c = m.made();
  Tensor output = emulated(c);
  const std::int64_t row = 30, column = 33;
  output.set_bits(row * m.width + column, encode(output.format(), 7.0));
  const AbftVerdict v = checked(c, output);
  ASSERT_EQ(v.flags.size(), 1u);
  const TensorView q = c.input("q").view(), k = c.input("k").view(), values = c.input("v").view();
  std::vector<long double> weights;
  long double sum = 0;
  for (std::int64_t j = 0; j <= row; ++j) {
    long double score = 0;
    for (std::int64_t d = 0; d < m.depth; ++d) {
      score +=
          static_cast<long double>(q.value_at(row * m.depth + d)) * k.value_at(j * m.depth + d);
    }
    weights.push_back(std::exp(0.25L * score));
    sum += weights.back();
  }
  long double difference = 0, reference = 0;
  for (std::int64_t e = 32; e < 48; ++e) {
    long double value = 0;
    for (std::int64_t j = 0; j <= row; ++j) {
      value += weights[static_cast<std::size_t>(j)] * values.value_at(j * m.width + e);
    }
    difference += output.view().value_at(row * m.width + e) - value / sum;
    if (e == column) reference = value / sum;
  }
  EXPECT_NEAR(v.flags[0].reading.difference, static_cast<double>(difference), 1e-5);
  EXPECT_NEAR(v.flags[0].element->reference, static_cast<double>(reference), 1e-6);
}

struct Wrong {
  const char* name;
  // Changes the case to the one that the kernel computed instead.
  std::function<void(Case&)> computed;
};

TEST(AttentionCheck, AnotherAttentionIsFound) {
  const Case c = Made{.keys = 96, .attributes = {{"causal", std::int64_t{1}}}}.made();
  const std::vector<Wrong> wrong = {
      {"no mask", [](Case& d) { d.attributes["causal"] = std::int64_t{0}; }},
      {"no scale", [](Case& d) { d.attributes["scale"] = 1.0; }},
      {"scale of another depth", [](Case& d) { d.attributes["scale"] = 1 / std::sqrt(64.0); }},
      {"a key that is left out",
       [](Case& d) {
         for (std::int64_t i = 0; i < 32; ++i) d.inputs["k"].set_bits(20 * 32 + i, 0xff80);
       }},
      {"values of another row", [](Case& d) {
         for (std::int64_t i = 0; i < 48; ++i) {
           d.inputs["v"].set_bits(3 * 48 + i, d.inputs["v"].bits_at(4 * 48 + i));
         }
       }}};
  for (const Wrong& w : wrong) {
    Case other = c;
    w.computed(other);
    EXPECT_EQ(checked(c, emulated(other)).outcome, Outcome::kFail) << w.name;
  }
  // Rows 10 and 40 of the output are exchanged, which is a fault.
  Tensor output = emulated(c);
  for (std::int64_t e = 0; e < 48; ++e) {
    const std::uint64_t bits = output.bits_at(10 * 48 + e);
    output.set_bits(10 * 48 + e, output.bits_at(40 * 48 + e));
    output.set_bits(40 * 48 + e, bits);
  }
  EXPECT_EQ(checked(c, output).flagged, 6);
}

TEST(AttentionCheck, NotANumber) {
  const Case c = Made{}.made();
  Tensor output = emulated(c);
  output.set_bits(5 * 48 + 3, 0x7fc0);
  const AbftVerdict v = checked(c, output);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  ASSERT_EQ(v.flags.size(), 1u);
  EXPECT_EQ(v.flags[0].element->column, 3);
  // If a query is NaN, its row cannot be checked.
  Case hostile = c;
  hostile.inputs["q"].set_bits(5 * 32, 0x7fc0);
  const AbftVerdict w = checked(hostile, emulated(hostile));
  EXPECT_EQ(w.outcome, Outcome::kPass) << w.because;
  EXPECT_EQ(w.not_checkable, 3);
}

// An element that is not finite does not affect the checks on either side of its own. Two errors
// that cancel in the sum of another check stay undetected there.
TEST(AttentionCheck, AnInfinityIsOfItsOwnCheckAlone) {
  const Case c = Made{}.made();
  for (const std::int64_t column : {15, 16, 31, 32}) {
    for (const double special : {HUGE_VAL, kNan}) {
      Tensor output = emulated(c);
      const auto set = [&](std::int64_t at, double value) {
        output.set_bits(7 * 48 + at, encode(output.format(), value));
      };
      set(column, special);
      for (const std::int64_t group : {0, 1, 2}) {
        if (group == column / 16) continue;
        const double a = output.view().value_at(7 * 48 + 16 * group + 4),
                     b = output.view().value_at(7 * 48 + 16 * group + 9);
        set(16 * group + 4, a + 1);
        set(16 * group + 9, b - 1);
      }
      const AbftVerdict v = checked(c, output);
      ASSERT_EQ(v.flags.size(), 1u) << column;
      EXPECT_EQ(v.flags[0].index, 7);
      EXPECT_EQ(v.flags[0].first, column / 16 * 16);
      ASSERT_TRUE(v.flags[0].element);
      EXPECT_EQ(v.flags[0].element->column, column);
    }
  }
}

// -- Groups and rows, and what is refused ---------------------------------------------------------

TEST(AttentionCheck, GroupsAndWholeRows) {
  const Case c = Made{}.made();
  const Tensor output = emulated(c);
  EXPECT_EQ(checked(c, output, "rounding_variance,groups=0").checks, 48);
  EXPECT_EQ(checked(c, output, "rounding_variance,groups=7").checks, 48 * 7);
  Tensor wrong = output;
  wrong.set_bits(0, wrong.bits_at(0) ^ 0x4000);
  EXPECT_EQ(checked(c, wrong, "rounding_variance,groups=0").outcome, Outcome::kFail);
}

// rows() counts the rows of all matrices of the batch.
TEST(AttentionRows, CountsOfABatch) {
  const Case c = Made{.batch = {2, 3}, .queries = 5}.made();
  const abft::AttentionRows rows(c, emulated(c).format(), {});
  EXPECT_EQ(rows.rows(), 2 * 3 * 5);
  EXPECT_EQ(rows.columns(), c.input("v").shape().back());
  EXPECT_EQ(rows.groups_per_row() * rows.group_width(), rows.columns());
}

// An element that is off belongs to its own group, not to those beside it. Without confirmation,
// every flagged check is a fault.
TEST(AttentionRows, AnElementIsWrongInItsOwnGroup) {
  const Case c = Made{.queries = 3}.made();
  const Tensor output = emulated(c);
  const auto elements_with = [&](std::int64_t column) {
    std::vector<double> elements;
    for (std::int64_t e = 0; e < 48; ++e) {
      elements.push_back(output.view().value_at(48 + e) + (e == column ? 1 : 0));
    }
    return elements;
  };
  AbftOptions options;
  for (const bool confirms : {true, false}) {
    options.spec = parse_threshold(confirms ? "rounding_variance" : "rounding_variance,confirm=0");
    const abft::AttentionRows rows(c, output.format(), options);
    ASSERT_EQ(rows.group_width(), 16);
    for (const std::int64_t column : {-1, 0, 3, 15, 16, 31, 32, 47}) {
      const abft::AttentionRow row = rows.row(1);
      const std::vector<double> elements = elements_with(column);
      for (std::int64_t g = 0; g < 3; ++g) {
        const bool wrong = column >= 0 && column / 16 == g;
        EXPECT_EQ(row.is_wrong(g, elements.data()), wrong || !confirms) << column << " " << g;
      }
    }
  }
}

// Computes the variance of the sums over the keys by hand. It is u^2 (S + 8) / 6 times the sum of
// the squares of weights times values, with u = 2^-24 and S = 2 keys. The weights are 1 and 1/4,
// and the values have both signs and sum to 0.
TEST(AttentionRows, SquaresAreOfWeightsTimesValues) {
  const Format& f = format_named("bfloat16");
  Case c;
  c.name = "case";
  c.op = "attention";
  c.attributes["output_dtype"] = std::string("float32");
  c.attributes["scale"] = std::log(2.0);
  std::vector<double> values;
  for (const double size : {2.0, 3.0}) {
    for (int e = 0; e < 16; ++e) values.push_back(e % 2 == 0 ? size : -size);
  }
  c.inputs["q"] = Tensor::from_values(f, {1, 1}, std::vector<double>{1});
  c.inputs["k"] = Tensor::from_values(f, {2, 1}, std::vector<double>{0, -2});
  c.inputs["v"] = Tensor::from_values(f, {2, 16}, values);
  const std::vector<double> zeros(16, 0.0);
  const double variance =
      abft::AttentionRows(c, format_named("float32"), {}).row(0).read(0, zeros.data()).variance;
  const double squares = 16 * (2 * 2 + 0.75 * 0.75) / (1.25 * 1.25);
  EXPECT_NEAR(variance / (0x1p-48 * (2 + 8) * squares / 6), 1, 1e-5);
}

// If a chunk holds a whole sum, the sum is rounded once, however long the chunk is.
TEST(AttentionRows, AChunkOfTheWholeSumIsOneRounding) {
  const Case c = Made{.queries = 4, .keys = 64, .depth = 64}.made();
  const Tensor output = emulated(c);
  DotModel model = dot_model(machine_named("hopper"), c.input("q").format());
  const auto threshold = [&](int chunk) {
    model.chunk.value = chunk;
    AbftOptions options;
    options.model = &model;
    const abft::AttentionRows rows(c, output.format(), options);
    std::vector<double> elements(static_cast<std::size_t>(rows.columns()));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = output.view().value_at(static_cast<std::int64_t>(i));
    }
    return rows.row(0).read(0, elements.data()).threshold;
  };
  EXPECT_EQ(threshold(64), threshold(1000));
  EXPECT_LT(threshold(64), threshold(63)) << "two roundings";
}

// If sums are truncated, each rounding may take an ulp of every weight times value, all of one
// sign. 20 equal weights in chunks of 8 have three roundings, and 16 in chunks of 16 have one.
// Scores of 0 have no error of their own.
TEST(AttentionRows, EachTruncationMayTakeAnUlp) {
  const Format& f = format_named("bfloat16");
  const auto threshold = [&](std::int64_t keys, int chunk, Rounding rounding) {
    DotModel model = dot_model(machine_named("ascend910b"), f);
    model.chunk.value = chunk;
    model.rounding.value = rounding;
    Case c;
    c.name = "case";
    c.op = "attention";
    c.attributes["output_dtype"] = std::string("bfloat16");
    c.inputs["q"] = Tensor::from_values(f, {1, 1}, std::vector<double>{0});
    const auto count = static_cast<std::size_t>(keys);
    c.inputs["k"] = Tensor::from_values(f, {keys, 1}, std::vector<double>(count, 0.0));
    c.inputs["v"] = Tensor::from_values(f, {keys, 16}, std::vector<double>(16 * count, 2.0));
    AbftOptions options;
    options.model = &model;
    const std::vector<double> zeros(16, 0.0);
    return abft::AttentionRows(c, f, options).row(0).read(0, zeros.data()).threshold;
  };
  const auto beside = [&](std::int64_t keys, int chunk) {
    return threshold(keys, chunk, Rounding::kTowardZero) -
           threshold(keys, chunk, Rounding::kNearestEven);
  };
  const double ulps = 0x1p-23 * 16 * 2;
  EXPECT_NEAR(beside(20, 8), 3 * ulps, 1e-9 * ulps);
  EXPECT_NEAR(beside(16, 8), 2 * ulps, 1e-9 * ulps);
  EXPECT_NEAR(beside(16, 16), ulps, 1e-9 * ulps);
}

// If several bit flips bring an element back within its bound, the closest one is named.
TEST(AttentionCheck, TheClosestFlipIsNamed) {
  const Case c = Made{.output = "float32", .queries = 4}.made();
  const Tensor output = emulated(c);
  int several = 0;
  for (std::int64_t element = 0; element < 24; ++element) {
    for (int bit = 8; bit < 24; ++bit) {
      Tensor wrong = output;
      wrong.set_bits(element, wrong.bits_at(element) ^ (std::uint64_t{1} << bit));
      const AbftVerdict v = checked(c, wrong, "rounding_variance,groups=1");
      if (v.flags.size() != 1 || !v.flags[0].element || !v.flags[0].element->flipped_bit) continue;
      const AbftFlag::Element& found = *v.flags[0].element;
      const auto distance = [&](int flip) {
        const std::uint64_t bits = found.bits ^ (std::uint64_t{1} << flip);
        return std::abs(decode(wrong.format(), bits) - found.reference);
      };
      for (int other = 0; other < 32; ++other) {
        EXPECT_LE(distance(*found.flipped_bit), distance(other) * (1 + 1e-6)) << bit;
      }
      ++several;
    }
  }
  EXPECT_GT(several, 5);
}

TEST(AttentionCheck, TheGateChecksBesideTheElements) {
  Case c = Made{}.made();
  c.output().golden = golden_result(c);
  GateRequest request;
  request.checksums = parse_threshold("rounding_variance");
  Tensor output = emulated(c);
  EXPECT_EQ(gate_case(c, output.view(), request).outcome(), Outcome::kPass);
  output.set_bits(9, output.bits_at(9) ^ 0x4000);
  const CaseReport report = gate_case(c, output.view(), request);
  ASSERT_TRUE(report.abft);
  EXPECT_EQ(report.abft->outcome, Outcome::kFail);
  // A threshold for products, such as v_abft, does not apply to attention. The elements then
  // decide, and a note says so.
  request.checksums = parse_threshold("v_abft");
  const CaseReport elements = gate_case(c, emulated(c).view(), request);
  EXPECT_FALSE(elements.abft);
  EXPECT_EQ(elements.outcome(), Outcome::kPass);
  EXPECT_THAT(
      elements.verdicts[0].notes,
      testing::Contains(HasSubstr(
          "the checksums do not judge it: attention is checked only by rounding_variance")));
}

TEST(AttentionCheck, WhatDoesNotHoldIsRefused) {
  const Case c = Made{}.made();
  const Tensor output = emulated(c);
  const auto refused = [&](const Case& of, const std::string& threshold = "") {
    const AbftVerdict v = checked(of, output, threshold);
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    return v.because;
  };
  EXPECT_EQ(
      refused(c, "v_abft"),
      "attention is checked only by rounding_variance, by rows and in float64, not by v_abft");
  EXPECT_THAT(refused(c, "rounding_variance,columns=1"), HasSubstr("by rows and in float64"));
  Case other = c;
  other.inputs["k"] = Made{.depth = 33}.made().input("k");
  EXPECT_EQ(refused(other),
            "q [48, 32], k [160, 33] and v [160, 48] do not fit; attention takes [..., L, D], "
            "[..., S, D] and [..., S, E]");
  other = c;
  other.inputs["v"] = Made{.dtype = "float16"}.made().input("v");
  EXPECT_EQ(refused(other),
            "checksums of attention need q, k and v of one float dtype with at most 24 bits of "
            "significand; they are bfloat16, bfloat16 and float16");
  const Case narrow = Made{.dtype = "float8_e4m3fn"}.made();
  EXPECT_THAT(refused(narrow), HasSubstr("as few as 14 bits; name the machine"));
  EXPECT_EQ(
      checked(narrow, output, "", &machine_named("hopper")).because,
      "checksums of attention need a machine that sums in float32, not in float32 of 14 bits");
}

// Weights that are divided by their sum first are 1/4000 here, which is 0 in 8 bits. Nothing is
// left to be checked, and the verdict says so.
TEST(AttentionCheck, WhereWeightsAreLostNothingIsClaimed) {
  Made m{.dtype = "float8_e4m3fn",
         .data = "normal,deviation=1e-4",
         .queries = 8,
         .keys = 4000,
         .attributes = {{"tile", std::int64_t{0}}}};
  const Case c = m.made();
  const Tensor zeros =
      Tensor::from_values(format_named("bfloat16"), {8, 48}, std::vector<double>(8 * 48, 0.0));
  const Machine& wide = machine_named("hopper,kept_bits=25,mantissa_bits=23");
  const AbftVerdict v = checked(c, zeros, "", &wide);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted) << explain(v);
  EXPECT_EQ(v.blind, v.checks);
  EXPECT_THAT(v.notes, testing::Contains(HasSubstr("would accept zeros, because the roundings of "
                                                   "the weights may be larger than the elements")));
}

// Outputs that overflow as they must are right. Each one is counted, and their checks are not
// checkable.
TEST(AttentionCheck, InfinitiesThatAreRight) {
  Case c = Made{.output = "float16"}.made();
  // Each row has three checks. The first one has two outputs that overflow.
  for (std::int64_t j = 0; j < 160; ++j) {
    for (const std::int64_t column : {3, 5}) {
      c.inputs["v"].set_bits(j * 48 + column, encode(format_named("bfloat16"), 1e5));
    }
  }
  Tensor output = emulated(c, "hopper");
  ASSERT_TRUE(std::isinf(output.view().value_at(47 * 48 + 5)));
  const AbftVerdict v = checked(c, output);
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  EXPECT_EQ(v.checks, 3 * 48);
  EXPECT_EQ(v.not_checkable, 48);
  EXPECT_EQ(v.special_checks, 48);
  EXPECT_EQ(v.right_specials, 2 * 48);
  output.set_bits(9 * 48 + 4, 0x7c00);
  const AbftVerdict wrong = checked(c, output);
  EXPECT_EQ(wrong.outcome, Outcome::kFail);
  EXPECT_EQ(wrong.flagged, 1);
  EXPECT_EQ(wrong.special_checks, 47);
  EXPECT_EQ(wrong.right_specials, 2 * 47);
  // In a check with right infinities, finite outputs are checked one by one, because their sum
  // shows nothing. One of them should be infinite, and another is off.
  for (const auto& [column, value] : {std::pair{5, 65504.0}, {4, 9.0}}) {
    Tensor finite = emulated(c, "hopper");
    finite.set_bits(20 * 48 + column, encode(format_named("float16"), value));
    const AbftVerdict one = checked(c, finite);
    EXPECT_EQ(one.outcome, Outcome::kFail) << column;
    EXPECT_EQ(one.flagged, 1) << column;
    EXPECT_EQ(one.special_checks, 47) << column;
  }
}

// Weights that are rounded to 0 may be lost, all with one sign. The check allows for the sum of the
// lost weights, each at most half the smallest number. The weights are 2^(scale k), and the largest
// is 1.
TEST(AttentionRows, WhatRoundingToZeroTakesIsAllowedFor) {
  const Format& f = format_named("float8_e4m3fn");
  const DotModel& model = dot_model(machine_named("hopper,kept_bits=25,mantissa_bits=23"), f);
  struct Key {
    double k, v;
  };
  const auto threshold = [&](const std::vector<Key>& kinds, std::int64_t of_each, double scale,
                             std::int64_t tile) {
    std::vector<double> keys, values;
    for (const Key& kind : kinds) {
      keys.insert(keys.end(), static_cast<std::size_t>(of_each), kind.k);
      values.insert(values.end(), static_cast<std::size_t>(16 * of_each), kind.v);
    }
    const auto count = static_cast<std::int64_t>(keys.size());
    Case c;
    c.name = "case";
    c.op = "attention";
    c.attributes["output_dtype"] = std::string("bfloat16");
    c.attributes["scale"] = scale * std::log(2.0);
    c.attributes["tile"] = tile;
    c.inputs["q"] = Tensor::from_values(f, {1, 1}, std::vector<double>{1});
    c.inputs["k"] = Tensor::from_values(f, {count, 1}, keys);
    c.inputs["v"] = Tensor::from_values(f, {count, 16}, values);
    AbftOptions options;
    options.model = &model;
    const std::vector<double> zeros(16, 0.0);
    return abft::AttentionRows(c, format_named("bfloat16"), options)
        .row(0)
        .read(0, zeros.data())
        .threshold;
  };
  // Divided by their sum of 2500 first, weights of 1 and 1/4 are below the smallest number, 2^-9,
  // and also below half of it.
  const double all = 16 * (1 * 1 + 0.25 * 2) / (1 + 0.25);
  EXPECT_NEAR(threshold({{0, 1}, {-2, -2}}, 2000, 1, 0), all, 1e-3 * all);
  // Without that division, 2^-9.5 may lose 2^-10, which is half the smallest number. 2^-10.45 and
  // 2^-11.4 may be lost completely. The largest weight has a value of 0.
  const double light = std::exp2(-10.45), lightest = std::exp2(-11.4);
  const double lost =
      16 * (0x1p-10 + 2 * light + 4 * lightest) / (1 + std::exp2(-9.5) + light + lightest);
  EXPECT_NEAR(threshold({{0, 0}, {-20, 1}, {-22, 2}, {-24, -4}}, 8, 0.475, 32), lost, 1e-3 * lost);
}

}  // namespace
}  // namespace assay
