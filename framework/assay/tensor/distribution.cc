#include "assay/tensor/distribution.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/tensor/distribution_fill.h"

namespace assay {
namespace {

using Parameter = DistributionParameter;

constexpr double kLarge = 1e300;
constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();
constexpr Parameter kMean = {"mean", 0, -kLarge, kLarge, false, "of the normal"};
constexpr Parameter kDeviation = {"deviation", 1, 0, kLarge, false, "of the normal"};
constexpr Parameter kScale = {"scale", 1, -kLarge, kLarge, false, "what is drawn is multiplied by"};
constexpr Parameter kLow = {"low", -1, -kLarge, kLarge, false, "the least value"};
constexpr Parameter kHigh = {"high", 1, -kLarge, kLarge, false, "the largest value"};
constexpr double kWhole = 0x1p52;  // differences of two such numbers are exact

constexpr Parameter kNormal[] = {kMean, kDeviation, kScale};
constexpr Parameter kUniform[] = {kLow, kHigh, kScale};
constexpr Parameter kBounded[] = {kMean, kDeviation, kLow, kHigh, kScale};
constexpr Parameter kFolded[] = {
    kMean, kDeviation, {"shift", 0, -kLarge, kLarge, false, "added to the magnitude"}, kScale};
constexpr Parameter kStudent[] = {{"nu", 3, 0.5, 1e9, false, "degrees of freedom"}, kScale};
constexpr Parameter kLognormal[] = {{"mu", 0, -700, 700, false, "mean of the logarithm"},
                                    {"sigma", 1, 0, 100, false, "deviation of the logarithm"},
                                    kScale};
constexpr Parameter kOutliers[] = {
    kMean,
    kDeviation,
    {"fraction", 0.01, 0, 1, false, "of the channels that are scaled, at least one"},
    {"count", kUnset, 1, kWhole, true, "or so many channels"},
    {"factor", 20, -kLarge, kLarge, false, "they are multiplied by"},
    {"axis", -1, -16, 15, true, "the dimension whose indices are the channels"},
    kScale};
constexpr Parameter kCorrelated[] = {
    {"rho", 0.5, -1, 1, false, "share of what all tensors of the seed have in common"},
    {"standard", 0, 0, 1, true, "1: the rest is weighed by sqrt(1 - rho^2), not 1 - rho"},
    {"axis", kUnset, -16, 15, true, "the common part depends on the index along it alone"},
    kScale};
constexpr Parameter kIntegers[] = {{"low", -8, -kWhole, kWhole, true, "the least value"},
                                   {"high", 8, -kWhole, kWhole, true, "the largest value"}};
constexpr Parameter kSubnormals[] = {{"fraction", 0.5, 0, 1, false, "of subnormal elements"}};
constexpr Parameter kSpecials[] = {
    kMean,
    kDeviation,
    {"zeros", 0.01, 0, 1, false, "fraction of 0"},
    {"negative_zeros", 0.01, 0, 1, false, "fraction of -0"},
    {"infinities", 0.01, 0, 1, false, "fraction of infinities, where the format has them"},
    {"nans", 0.01, 0, 1, false, "fraction of NaN, where the format has it"},
    {"largest", 0.01, 0, 1, false, "fraction of the largest finite value, either sign"},
    kScale};

constexpr std::string_view kBoxMuller =
    "Box and Muller, Annals of Mathematical Statistics 29, 1958";

constexpr Distribution kDistributions[] = {
    {"normal", kNormal, "mean + deviation N(0, 1)", kBoxMuller, fill_normal, nullptr, nullptr},
    {"uniform", kUniform, "low + (high - low) U, U a multiple of 2^-53 in [0, 1)",
     "Philox4x32-10 (Salmon et al., SC11)", fill_uniform, problem_of_bounds, nullptr},
    {"truncated_normal", kBounded, "a normal, given that it lies from low to high",
     "inverse of its probability (Wichura, Applied Statistics 37, 1988)", fill_truncated_normal,
     problem_of_truncation, nullptr},
    {"clamped_normal", kBounded, "a normal; what lies outside low to high becomes low or high",
     "what the published experiment calls truncated (docs/abft.md)", fill_clamped_normal,
     problem_of_bounds, nullptr},
    {"folded_normal", kFolded, "|mean + deviation N(0, 1)| + shift",
     "the published e_max grids: |N(0,1) + 1| and |N(0,1)| + 0.5", fill_folded_normal, nullptr,
     nullptr},
    {"student_t", kStudent, "Student's t: heavy tails, heavier with smaller nu",
     "Bailey, Mathematics of Computation 62(206), 1994", fill_student_t, nullptr, nullptr},
    {"lognormal", kLognormal, "e^(mu + sigma N(0, 1))", kBoxMuller, fill_lognormal, nullptr,
     nullptr},
    {"outlier_channels", kOutliers,
     "a normal with some channels much larger: one drawn in each of so many equal parts of an axis",
     "activations of transformers (Dettmers et al., LLM.int8(), NeurIPS 2022)",
     fill_outlier_channels, nullptr, obstacle_of_outliers},
    {"identical_columns", kNormal, "a normal; all columns of a matrix equal its first",
     "assay: the rounding errors of a row are then all alike", fill_identical_columns, nullptr,
     nullptr},
    {"constant_columns", kNormal, "a normal; each column of a matrix holds one value",
     "assay: every row is the same", fill_constant_columns, nullptr, nullptr},
    {"correlated", kCorrelated,
     "rho z1 + (1 - rho) z2, z1 common to all tensors of the seed (rho=1 draws z1 itself)",
     "the fp8 accumulation study; standard=1: two normals whose correlation is rho",
     fill_correlated, nullptr, obstacle_of_axis},
    {"integers", kIntegers, "whole numbers, each as likely as the others", "assay", fill_integers,
     problem_of_bounds, nullptr},
    {"subnormals", kSubnormals,
     "either sign: subnormal numbers of the format, and normal ones of its smallest exponent",
     "assay", fill_subnormals, nullptr, obstacle_of_subnormals},
    {"specials", kSpecials, "a normal with zeros, infinities, NaN and the largest values among it",
     "assay", fill_specials, problem_of_fractions, nullptr},
};

// "distribution 'TEXT': ..." for a part of it that is wrong.
std::invalid_argument wrong(std::string_view text, const std::string& what) {
  return std::invalid_argument(format("distribution '{}': {}", text, what));
}

const Distribution& distribution_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Distribution& d : kDistributions) {
    if (d.name == name) return d;
    names.emplace_back(d.name);
  }
  const std::string near = nearest_word(name, names);
  throw std::invalid_argument(format("unknown distribution '{}'{}; known: {}", name,
                                     near.empty() ? "" : format(": did you mean '{}'?", near),
                                     joined(names)));
}

std::size_t index_of(const Distribution& row, std::string_view parameter) {
  std::size_t i = 0;
  while (i < row.parameters.size() && row.parameters[i].name != parameter) ++i;
  return i;
}

double parameter_value(std::string_view text, const Parameter& p, const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool good = error == std::errc() && end == word.data() + word.size() && value >= p.low &&
                    value <= p.high && (!p.whole || value == std::floor(value));
  if (good) return value;
  throw wrong(text, format("{} must be a {} from {} to {}, not '{}'", p.name,
                           p.whole ? "whole number" : "number", number_text(p.low),
                           number_text(p.high), word));
}

void check(const DrawCall& call) {
  const Distribution& row = *call.spec.distribution;
  const std::string obstacle = row.obstacle == nullptr ? "" : row.obstacle(call);
  if (!obstacle.empty()) {
    throw std::invalid_argument(format("distribution '{}': {}", call.spec.text(), obstacle));
  }
}

// Block by block through buffers on the stack: what is drawn stays in the first-level cache until
// it is rounded.
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
    throw std::invalid_argument(format("{} has no parameter '{}'", distribution->name, parameter));
  }
  return values[i];
}

bool DistributionSpec::has(std::string_view parameter) const { return !std::isnan(get(parameter)); }

std::string DistributionSpec::text() const {
  std::string out(distribution->name);
  for (std::size_t i = 0; i < distribution->parameters.size(); ++i) {
    const Parameter& p = distribution->parameters[i];
    if (values[i] == p.value || std::isnan(values[i])) continue;
    out += format(",{}={}", p.name, number_text(values[i]));
  }
  return out;
}

DistributionSpec parse_distribution(std::string_view text) {
  const FloatEnvironment environment;
  const std::vector<std::string> parts = split(text, ',');
  DistributionSpec spec;
  spec.distribution = &distribution_named(parts.empty() ? "" : parts[0]);
  const Distribution& row = *spec.distribution;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    known.emplace_back(row.parameters[i].name);
    spec.values[i] = row.parameters[i].value;
  }
  std::vector<std::string> seen;
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const std::size_t equals = parts[part].find('=');
    const std::string key = parts[part].substr(0, equals);
    const std::string word = equals == std::string::npos ? "" : parts[part].substr(equals + 1);
    const std::size_t i = index_of(row, key);
    if (i == known.size()) {
      const std::string near = nearest_word(key, known);
      throw wrong(text,
                  format("{} takes no '{}'{}; it takes {}", row.name, key,
                         near.empty() ? "" : format(" (did you mean '{}'?)", near), joined(known)));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      throw wrong(text, format("'{}' is given twice", key));
    }
    seen.push_back(key);
    spec.values[i] = parameter_value(text, row.parameters[i], word);
  }
  const auto given = [&](const char* key) {
    return std::find(seen.begin(), seen.end(), key) != seen.end();
  };
  if (given("fraction") && given("count")) {
    throw wrong(text, "give fraction or count, not both");
  }
  const std::string problem = row.problem == nullptr ? "" : row.problem(spec);
  if (!problem.empty()) throw wrong(text, problem);
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

void draw_into(const DistributionSpec& spec, const Format& format, const Shape& shape,
               std::uint64_t seed, std::uint64_t stream, std::byte* to) {
  const FloatEnvironment environment;
  draw_part(spec, format, shape, seed, stream, 0, element_count(shape), to);
}

void draw_part(const DistributionSpec& spec, const Format& format, const Shape& shape,
               std::uint64_t seed, std::uint64_t stream, std::int64_t begin, std::int64_t count,
               std::byte* to) {
  const FloatEnvironment environment;
  const std::int64_t size = element_count(shape);
  if (begin < 0 || count < 0 || begin > size || count > size - begin) {
    throw std::invalid_argument(assay::format("elements {} to {} are outside a tensor of shape {}",
                                              begin, begin + count, shape_text(shape)));
  }
  const DrawCall call{spec, format, shape, seed, stream};
  check(call);
  draw_blocks(call, begin, count, to);
}

}  // namespace assay
