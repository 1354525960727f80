#include "assay/tensor/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/base/call_text.h"
#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/tensor/distribution_fill.h"

namespace assay::inline v0_2 {
namespace {

using Parameter = DistributionParameter;

constexpr double kLarge = 1e300;
constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();
constexpr double kWhole = 0x1p52;  // limit of whole numbers: their differences are exact

constexpr Parameter any_number(std::string_view name, double value, std::string_view meaning) {
  return {.name = name, .value = value, .low = -kLarge, .high = kLarge, .meaning = meaning};
}
constexpr Parameter fraction(std::string_view name, double value, std::string_view meaning) {
  return {.name = name, .value = value, .low = 0, .high = 1, .meaning = meaning};
}
constexpr Parameter whole_number(std::string_view name, double value, double low, double high,
                                 std::string_view meaning) {
  return {
      .name = name, .value = value, .low = low, .high = high, .whole = true, .meaning = meaning};
}

constexpr Parameter kMean = any_number("mean", 0, "of the normal");
constexpr Parameter kDeviation = {
    .name = "deviation", .value = 1, .low = 0, .high = kLarge, .meaning = "of the normal"};
constexpr Parameter kScale = any_number("scale", 1, "what is drawn is multiplied by");
constexpr Parameter kLow = any_number("low", -1, "the least value");
constexpr Parameter kHigh = any_number("high", 1, "the largest value");

constexpr Parameter kNormal[] = {kMean, kDeviation, kScale};
constexpr Parameter kUniform[] = {kLow, kHigh, kScale};
constexpr Parameter kBounded[] = {kMean, kDeviation, kLow, kHigh, kScale};
constexpr Parameter kFolded[] = {kMean, kDeviation,
                                 any_number("shift", 0, "added to the magnitude"), kScale};
constexpr Parameter kStudent[] = {
    {.name = "nu", .value = 3, .low = 0.5, .high = 1e9, .meaning = "degrees of freedom"}, kScale};
constexpr Parameter kLognormal[] = {
    {.name = "mu", .value = 0, .low = -700, .high = 700, .meaning = "mean of the logarithm"},
    {.name = "sigma", .value = 1, .low = 0, .high = 100, .meaning = "deviation of the logarithm"},
    kScale};
constexpr Parameter kOutliers[] = {
    kMean,
    kDeviation,
    fraction("fraction", 0.01, "of the channels that are scaled, at least one"),
    whole_number("count", kUnset, 1, kWhole, "or the number of these channels"),
    any_number("factor", 20, "the factor by which they are multiplied"),
    whole_number("axis", -1, -16, 15, "the dimension whose indices are the channels"),
    kScale};
constexpr Parameter kCorrelated[] = {
    {.name = "rho",
     .value = 0.5,
     .low = -1,
     .high = 1,
     .meaning = "share of what all tensors of the seed have in common"},
    whole_number("standard", 0, 0, 1, "1: the rest is weighed by sqrt(1 - rho^2), not 1 - rho"),
    whole_number("axis", kUnset, -16, 15, "the common part depends only on the index along it"),
    kScale};
constexpr Parameter kIntegers[] = {whole_number("low", -8, -kWhole, kWhole, "the least value"),
                                   whole_number("high", 8, -kWhole, kWhole, "the largest value")};
constexpr Parameter kSubnormals[] = {fraction("fraction", 0.5, "of subnormal elements")};
constexpr Parameter kSpecials[] = {
    kMean,
    kDeviation,
    fraction("zeros", 0.01, "fraction of 0"),
    fraction("negative_zeros", 0.01, "fraction of -0"),
    fraction("infinities", 0.01, "fraction of infinities, where the format has them"),
    fraction("nans", 0.01, "fraction of NaN, where the format has it"),
    fraction("largest", 0.01, "fraction of the largest finite value, either sign"),
    kScale};

constexpr Parameter kSparse[] = {
    kMean, kDeviation,
    fraction("density", 0.1, "probability of an element that is drawn; others are 0"), kScale};
constexpr Parameter kScaled[] = {kScale};
constexpr Parameter kBlocks[] = {
    kMean, kDeviation, whole_number("block", 16, 1, kWhole, "rows and columns of a block"), kScale};

constexpr Parameter kStalling[] = {
    whole_number("exponent", 24, 0, 60, "the first element of a row is 2 to this power"), kScale};
constexpr Parameter kHalfway[] = {
    whole_number("mantissa", 7, 0, 51, "bits of the mantissa of the narrower format"), kScale};
constexpr Parameter kMasked[] = {kMean, kDeviation,
                                 fraction("fraction", 0.3, "of elements that are -inf"),
                                 fraction("rows", 0, "of rows that are -inf throughout"), kScale};

constexpr std::string_view kBoxMuller =
    "Box and Muller, Annals of Mathematical Statistics 29, 1958";

constexpr Distribution kDistributions[] = {
    {.name = "normal",
     .parameters = kNormal,
     .summary = "mean + deviation N(0, 1)",
     .source = kBoxMuller,
     .fill = fill_normal},
    {.name = "uniform",
     .parameters = kUniform,
     .summary = "low + (high - low) U, U a multiple of 2^-53 in [0, 1)",
     .source = "Philox4x32-10 (Salmon et al., SC11)",
     .fill = fill_uniform,
     .problem = problem_of_bounds},
    {.name = "truncated_normal",
     .parameters = kBounded,
     .summary = "a normal, given that it lies from low to high",
     .source = "inverse of its probability (Wichura, Applied Statistics 37, 1988)",
     .fill = fill_truncated_normal,
     .problem = problem_of_truncation},
    {.name = "clamped_normal",
     .parameters = kBounded,
     .summary = "a normal; what lies outside low to high becomes low or high",
     .source = "what the published experiment calls truncated (docs/abft.md)",
     .fill = fill_clamped_normal,
     .problem = problem_of_bounds},
    {.name = "folded_normal",
     .parameters = kFolded,
     .summary = "|mean + deviation N(0, 1)| + shift",
     .source = "the published e_max grids: |N(0,1) + 1| and |N(0,1)| + 0.5",
     .fill = fill_folded_normal},
    {.name = "student_t",
     .parameters = kStudent,
     .summary = "Student's t: heavy tails, heavier with smaller nu",
     .source = "Bailey, Mathematics of Computation 62(206), 1994",
     .fill = fill_student_t},
    {.name = "lognormal",
     .parameters = kLognormal,
     .summary = "e^(mu + sigma N(0, 1))",
     .source = kBoxMuller,
     .fill = fill_lognormal},
    {.name = "outlier_channels",
     .parameters = kOutliers,
     .summary = "a normal with some channels much larger: one drawn in each of count equal parts "
                "of an axis",
     .source = "activations of transformers (Dettmers et al., LLM.int8(), NeurIPS 2022)",
     .fill = fill_outlier_channels,
     .obstacle = obstacle_of_outliers},
    {.name = "identical_columns",
     .parameters = kNormal,
     .summary = "a normal; all columns of a matrix equal its first",
     .source = "assay: the rounding errors of a row are then all alike",
     .fill = fill_identical_columns},
    {.name = "constant_columns",
     .parameters = kNormal,
     .summary = "a normal; each column of a matrix holds one value",
     .source = "assay: every row is the same",
     .fill = fill_constant_columns},
    {.name = "correlated",
     .parameters = kCorrelated,
     .summary =
         "rho z1 + (1 - rho) z2, z1 common to all tensors of the seed (rho=1 draws z1 itself)",
     .source = "the fp8 accumulation study; standard=1: two normals whose correlation is rho",
     .fill = fill_correlated,
     .obstacle = obstacle_of_axis},
    {.name = "integers",
     .parameters = kIntegers,
     .summary = "whole numbers, each as likely as the others",
     .source = "assay",
     .fill = fill_integers,
     .problem = problem_of_bounds},
    {.name = "subnormals",
     .parameters = kSubnormals,
     .summary =
         "either sign: subnormal numbers of the format, and normal ones of its smallest exponent",
     .source = "assay",
     .fill = fill_subnormals,
     .obstacle = obstacle_of_subnormals},
    {.name = "specials",
     .parameters = kSpecials,
     .summary = "a normal with zeros, infinities, NaN and the largest values among it",
     .source = "assay",
     .fill = fill_specials,
     .problem = problem_of_fractions},
    {.name = "sparse",
     .parameters = kSparse,
     .summary = "a normal with most elements 0",
     .source = "weights after pruning (Han et al., NeurIPS 2015): sums of few terms",
     .fill = fill_sparse},
    {.name = "one_hot",
     .parameters = kScaled,
     .summary = "1 at one place of each row, drawn, and 0 elsewhere",
     .source = "assay: a product picks rows, every sum has one term and no rounding",
     .fill = fill_one_hot},
    {.name = "hilbert",
     .parameters = kScaled,
     .summary = "1 / (i + j + 1) in row i and column j: nothing is drawn",
     .source = "Hilbert, Acta Mathematica 18, 1894: smooth, positive, nearly singular",
     .fill = fill_hilbert},
    {.name = "block_constant",
     .parameters = kBlocks,
     .summary = "a normal; each block of a matrix holds one value",
     .source = "assay: the rounding errors of a block are all alike",
     .fill = fill_block_constant},
    {.name = "cancelling",
     .parameters = kNormal,
     .summary = "a normal; the second half of each row is minus the first half, with its last "
                "element times 0.75",
     .source = "assay: sums that lose nearly all of their size",
     .fill = fill_cancelling},
    {.name = "stalling",
     .parameters = kStalling,
     .summary = "2 to the power exponent first in each row, then 1",
     .source = "assay: a sum in order grows no more once 1 is below half an ulp of it",
     .fill = fill_stalling},
    {.name = "halfway",
     .parameters = kHalfway,
     .summary = "either sign: halfway between two numbers that a mantissa of fewer bits has",
     .source = "assay: ties of the rounding to a narrower format",
     .fill = fill_halfway},
    {.name = "masked",
     .parameters = kMasked,
     .summary = "a normal with some elements -inf",
     .source = "scores of keys that a mask hides, before the softmax",
     .fill = fill_masked,
     .obstacle = obstacle_of_masks},
};

std::size_t index_of(const Distribution& row, std::string_view parameter) {
  std::size_t i = 0;
  while (i < row.parameters.size() && row.parameters[i].name != parameter) ++i;
  return i;
}

void check(const DrawCall& call) {
  const Distribution& row = *call.spec.distribution;
  const std::string obstacle = row.obstacle == nullptr ? "" : row.obstacle(call);
  if (!obstacle.empty()) {
    refuse("distribution '{}': {}", call.spec.text(), obstacle);
  }
}

// Draws one block after the other through buffers on the stack, so that the drawn values stay in
// the first-level cache until they are rounded.
void draw_blocks(const DrawCall& call, std::int64_t begin, std::int64_t count, std::byte* to) {
  const Distribution& row = *call.spec.distribution;
  const bool scales = index_of(row, "scale") < row.parameters.size();
  const double scale = scales ? call.spec.get("scale") : 1;
  const auto width = static_cast<std::size_t>(call.format.storage_bytes);
  double values[kDrawBlock];
  while (count > 0) {
    const std::size_t n = std::min(static_cast<std::size_t>(count), kDrawBlock);
    row.fill(call, begin, n, values);
    if (scale != 1) {
      for (std::size_t i = 0; i < n; ++i) values[i] *= scale;
    }
    encode_array(call.format, values, n, to);
    begin += static_cast<std::int64_t>(n);
    count -= static_cast<std::int64_t>(n);
    to += n * width;
  }
}

}  // namespace

std::span<const Distribution> distributions() { return kDistributions; }

double DistributionSpec::get(std::string_view parameter) const {
  const std::size_t i = index_of(*distribution, parameter);
  if (i == distribution->parameters.size()) {
    refuse("{} has no parameter '{}'", distribution->name, parameter);
  }
  return values[i];
}

bool DistributionSpec::has(std::string_view parameter) const { return !std::isnan(get(parameter)); }

std::string DistributionSpec::text() const {
  std::string out(distribution->name);
  for (std::size_t i = 0; i < distribution->parameters.size(); ++i) {
    const Parameter& p = distribution->parameters[i];
    if (values[i] == p.value || std::isnan(values[i])) continue;
    out += formatted(",{}={}", p.name, number_text(values[i]));
  }
  return out;
}

DistributionSpec parse_distribution(std::string_view text) {
  const FloatEnvironment environment;
  const SpecText given("distribution", text);
  const Distribution& row = row_named("distribution", kDistributions, given.name());
  given.check_keys(row.name, names_of(row.parameters));
  DistributionSpec spec{.distribution = &row};
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    const Parameter& p = row.parameters[i];
    const SpecText::Setting* setting = given.find(p.name);
    spec.values[i] = setting == nullptr
                         ? p.value
                         : given.number(*setting, {.low = p.low, .high = p.high, .whole = p.whole});
  }
  if (given.find("fraction") != nullptr && given.find("count") != nullptr) {
    given.refuse("give fraction or count, not both");
  }
  const std::string problem = row.problem == nullptr ? "" : row.problem(spec);
  if (!problem.empty()) given.refuse(problem);
  return spec;
}

Tensor draw(const DistributionSpec& spec, const Format& format, const Shape& shape,
            std::uint64_t seed, std::uint64_t stream, int threads) {
  const FloatEnvironment environment;
  constexpr std::int64_t kPart = std::int64_t{64} * kDrawBlock;
  Tensor tensor(format, shape);
  const DrawCall call{spec, format, shape, seed, stream};
  check(call);
  const std::int64_t size = tensor.size();
  parallel_for((size + kPart - 1) / kPart, threads, [&](std::int64_t part) {
    const std::int64_t begin = part * kPart;
    draw_blocks(call, begin, std::min(kPart, size - begin),
                tensor.bytes() + begin * std::int64_t{format.storage_bytes});
  });
  return tensor;
}

void draw_part(const DistributionSpec& spec, const Format& format, const Shape& shape,
               std::uint64_t seed, std::uint64_t stream, std::int64_t begin, std::int64_t count,
               std::byte* to) {
  const FloatEnvironment environment;
  const std::int64_t size = element_count(shape);
  if (begin < 0 || count < 0 || begin > size || count > size - begin) {
    refuse("elements {} to {} are outside a tensor of shape {}", begin, begin + count,
           shape_text(shape));
  }
  const DrawCall call{spec, format, shape, seed, stream};
  check(call);
  draw_blocks(call, begin, count, to);
}

}  // namespace assay
