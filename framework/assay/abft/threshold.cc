#include "assay/abft/threshold.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay {
namespace {

constexpr Threshold kThresholds[] = {
    {.name = "rounding_variance",
     .rule = ThresholdRule::kRoundingVariance,
     .summary = "min(kappa sigma, sum ulp/2) + accumulation; sigma^2 = sum ulp(c)^2 / 12 over the "
                "columns of a check",
     .source = "assay (docs/abft.md): errors of nearest-even rounding are sub-Gaussian with their "
               "own variance",
     .validity = "outputs rounded by nearest_even; accumulators of 24 bits, nearest_even or, with "
                 "the machine known, truncated; not float64 results",
     .parameters = "groups columns confirm delta kappa coarse arithmetic",
     .groups = 16},
    {.name = "residual_compensated",
     .rule = ThresholdRule::kResidualCompensated,
     .summary = "the kernel's own R = sum (c32 - c16) is added to the row sum: accumulation alone "
                "is left; |R| <= min(kappa sigma, sum ulp/2) is checked as well",
     .source = "assay (docs/abft.md)",
     .validity = "as rounding_variance; needs R of each check or C before its cast",
     .parameters = "groups columns delta kappa coarse",
     .groups = 16},
    {.name = "v_abft",
     .rule = ThresholdRule::kVAbft,
     .summary = "e_max (N|mu_A| sum|mu_B| + c sqrt(N mu_A^2 sum s_B^2 + N^2 s_A^2 sum mu_B^2) + c "
                "sqrt(N) s_A sqrt(sum s_B^2)), s^2 = (max - mu)(mu - min)",
     .source = "V-ABFT design specification 1.2; arXiv 2602.08043",
     .validity = "e_max must be that of the machine; rows with outliers raise it",
     .parameters = "variant e_max c sigma blocks sample_a sample_b raise recheck columns confirm "
                   "arithmetic",
     .variant = "seed"},
    {.name = "aclnn",
     .rule = ThresholdRule::kVAbft,
     .summary = "v_abft with e_max 1e-3 (bfloat16 operands) or 2e-5 (float32), c = 4, checks of "
                "256 columns",
     .source = "aclnnMatmulAbftVerify as torch_npu/asd/checksum.py calls it",
     .validity = "bfloat16 and float32 operands",
     .parameters = "blocks columns confirm arithmetic",
     .groups = 256,
     .arithmetic = Arithmetic::kFloat32,
     .variant = "aclnn"},
    {.name = "a_abft",
     .rule = ThresholdRule::kAAbft,
     .summary = "mixed-precision A-ABFT: worst-case growth of rounding errors of C, A, B and both "
                "checksums",
     .source = "V-ABFT design specification 1.2, section 4 (after Braun, Halder, Wunderlich, DSN "
               "2014)",
     .validity = "fails on data whose mean is far from 0 when checksums are rounded to 16 bits",
     .parameters = "variant columns confirm arithmetic",
     .variant = "mixed"},
    {.name = "a_abft_original",
     .rule = ThresholdRule::kAAbftOriginal,
     .summary = "3 sqrt((K(K+1)(K+1/2) + 2K) / 24) 2^-t y, y >= max_k |a_k (sum_j b_kj)|",
     .source = "Braun, Halder, Wunderlich, DSN 2014",
     .validity = "one precision throughout: t is the output's mantissa",
     .parameters = "variant top columns confirm arithmetic",
     .variant = "row"},
    {.name = "sea_abft",
     .rule = ThresholdRule::kSeaAbft,
     .summary = "((K + 2N - 2) ||A_i|| sum_j ||B_j|| + K ||b|| ||A_i||) 2u, b the row sums of B",
     .source = "simplified error analysis ABFT, as stated in V-ABFT's artifact",
     .validity = "worst case in one precision: thousands of times the errors",
     .parameters = "columns confirm arithmetic"},
    {.name = "analytic",
     .rule = ThresholdRule::kAnalytic,
     .summary = "gamma_K sum_k |a_ik| sum_j |b_kj|, gamma_K = Ku / (1 - Ku); with lambda: "
                "exp(lambda sqrt(K) u + K u^2 / (1 - u)) - 1",
     .source = "Higham, Accuracy and Stability, 3.5; Higham and Mary, SIAM J. Sci. Comput. 41(5), "
               "2019",
     .validity = "refused where K u >= 1 (without lambda)",
     .parameters = "lambda columns confirm arithmetic"},
    {.name = "torch_npu",
     .rule = ThresholdRule::kMeanOrMax,
     .summary = "5 e; e = 2^-8 sqrt(N) max|c| where min(max|c| / mean|c|) over all rows is above "
                "5, else 2^-8 N mean|c|",
     .source = "torch_npu/asd/checksum.py, _matmul_checksum_py",
     .validity = "made for bfloat16 outputs",
     .parameters = "columns confirm arithmetic",
     .arithmetic = Arithmetic::kFloat32,
     .times = 5},
    {.name = "mindspore",
     .rule = ThresholdRule::kMeanOrMax,
     .summary = "e; as torch_npu",
     .source = "MindSpore's silent-data-corruption detection, CheckSumKernel",
     .validity = "made for bfloat16 outputs",
     .parameters = "columns confirm arithmetic",
     .arithmetic = Arithmetic::kFloat32,
     .times = 1},
};

constexpr ArithmeticRow kArithmetics[] = {
    {Arithmetic::kFloat64, "float64", "a host checks a dump"},
    {Arithmetic::kFloat32, "float32",
     "every sum in float32: of rows by a tree of adjacent pairs, over k in ascending order by "
     "fused multiply-adds"},
    {Arithmetic::kHiLo, "hi_lo",
     "as float32, with the checksum vector B e kept as a pair of bfloat16: both parts are "
     "multiplied by A, and the two results added"},
    {Arithmetic::kOutput, "output",
     "both checksums rounded once to the output's format, as the published 910B experiment did"},
    {Arithmetic::kMachine, "machine",
     "C 1 and A (B 1) by the machine's matrix unit, B 1 and both results rounded to the output's "
     "format, as e_max is measured"},
};

// The words of an enumeration, in its order.
constexpr std::string_view kSpreads[] = {"bound", "extreme", "deviation"};

struct Variant {
  ThresholdRule rule;
  std::string_view name;
};
constexpr Variant kVariants[] = {
    {ThresholdRule::kVAbft, "seed"},          {ThresholdRule::kVAbft, "recalibrated"},
    {ThresholdRule::kVAbft, "april"},         {ThresholdRule::kVAbft, "sampling"},
    {ThresholdRule::kVAbft, "h100"},          {ThresholdRule::kAAbft, "mixed"},
    {ThresholdRule::kAAbft, "components"},    {ThresholdRule::kAAbftOriginal, "row"},
    {ThresholdRule::kAAbftOriginal, "matrix"}};

// e_max of the variants of v_abft, and how it grows with K.
enum class Growth : std::uint8_t { kFlat, kRootOfKOver1024, kH100 };
struct EMax {
  std::string_view variant, format;
  double e_max;  // kH100: at n = 0
  Growth growth = Growth::kFlat;
  double per_root = 0;  // kH100: per sqrt(n)
};
constexpr EMax kEMax[] = {
    {"seed", "bfloat16", 8e-3},
    {"seed", "float16", 1e-3},
    {"seed", "float32", 2.2e-6},
    {"recalibrated", "bfloat16", 8e-3},
    {"recalibrated", "float16", 1e-3},
    {"recalibrated", "float32", 1.377e-6, Growth::kRootOfKOver1024},
    {"recalibrated", "float64", 7.5e-16},
    {"april", "float32", 2e-6, Growth::kRootOfKOver1024},
    {"sampling", "float32", 2e-6, Growth::kRootOfKOver1024},
    {"h100", "bfloat16", 8e-3},
    {"h100", "float32", 1.5 * 9.4e-8, Growth::kH100, 1.5 * 4.1e-9},
    {"h100", "float64", 1.5 * 2.1e-16, Growth::kH100, 1.5 * 8.3e-18},
};

const Threshold& threshold_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Threshold& t : kThresholds) {
    if (t.name == name) return t;
    names.emplace_back(t.name);
  }
  const std::string near = nearest_word(name, names);
  throw std::invalid_argument(format("unknown threshold '{}'{}; known: {}", name,
                                     near.empty() ? "" : format(": did you mean '{}'?", near),
                                     joined(names)));
}

double number_above(std::string_view spec, std::string_view key, const std::string& text,
                    double low) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > low) ||
      !std::isfinite(value)) {
    throw std::invalid_argument(
        format("threshold '{}': {} must be a number above {}, not '{}'", spec, key, low, text));
  }
  return value;
}

bool whole_number(const std::string& text, int& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size() && to >= 0;
}

bool yes_or_no(std::string_view spec, std::string_view key, const std::string& text) {
  if (text == "1" || text == "true") return true;
  if (text == "0" || text == "false") return false;
  throw std::invalid_argument(
      format("threshold '{}': {} must be 0 or 1, not '{}'", spec, key, text));
}

// The position of a word among those that are known.
std::size_t choice(std::string_view spec, std::string_view key, const std::string& word,
                   const std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), word);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  const std::string near = nearest_word(word, known);
  throw std::invalid_argument(format("threshold '{}': {} must be one of {}, not '{}'{}", spec, key,
                                     joined(known), word,
                                     near.empty() ? "" : format(" (did you mean '{}'?)", near)));
}

Sampling sampling_of(std::string_view spec, std::string_view key, const std::string& text) {
  const std::size_t slash = text.find('/');
  Sampling s;
  if (slash == std::string::npos || !whole_number(text.substr(0, slash), s.width) ||
      !whole_number(text.substr(slash + 1), s.period) || s.width < 1 || s.period < s.width) {
    throw std::invalid_argument(
        format("threshold '{}': {} must be WIDTH/PERIOD, as in 16/32: of every 32 the first 16; "
               "not '{}'",
               spec, key, text));
  }
  return s;
}

std::string sampling_text(const Sampling& s) { return format("{}/{}", s.width, s.period); }

bool confirms(const Threshold& t) { return t.rule == ThresholdRule::kRoundingVariance; }

// What the variant `sampling` looks at: of A the columns with k mod 32 < 4, of B everything.
constexpr Sampling kSampledA{4, 32};

void set_parameter(ThresholdSpec& spec, std::string_view text, const std::string& key,
                   const std::string& value) {
  if (key == "groups" || key == "blocks") {
    if (!whole_number(value, spec.groups)) {
      throw std::invalid_argument(
          format("threshold '{}': {} must be a number of columns, or 0 for whole rows", text, key));
    }
  } else if (key == "columns") {
    spec.columns = yes_or_no(text, key, value);
  } else if (key == "confirm") {
    spec.confirm = yes_or_no(text, key, value);
  } else if (key == "coarse") {
    spec.coarse = yes_or_no(text, key, value);
  } else if (key == "recheck") {
    spec.recheck = yes_or_no(text, key, value);
  } else if (key == "delta") {
    spec.delta = number_above(text, key, value, 0);
    if (spec.delta >= 1) {
      throw std::invalid_argument(format("threshold '{}': delta is a probability, below 1", text));
    }
  } else if (key == "kappa") {
    spec.kappa = number_above(text, key, value, 0);
  } else if (key == "e_max") {
    spec.e_max = number_above(text, key, value, 0);
  } else if (key == "c") {
    spec.c = number_above(text, key, value, 0);
  } else if (key == "lambda") {
    spec.lambda = number_above(text, key, value, 0);
  } else if (key == "raise") {
    spec.raise = number_above(text, key, value, 0);
  } else if (key == "top") {
    if (!whole_number(value, spec.top)) {
      throw std::invalid_argument(
          format("threshold '{}': top must be a number of values, or 0 for all", text));
    }
  } else if (key == "sample_a") {
    spec.sample_a = sampling_of(text, key, value);
  } else if (key == "sample_b") {
    spec.sample_b = sampling_of(text, key, value);
  } else if (key == "sigma") {
    spec.sigma =
        static_cast<Spread>(choice(text, key, value, {std::begin(kSpreads), std::end(kSpreads)}));
  } else if (key == "variant") {
    std::vector<std::string> known;
    for (const Variant& v : kVariants) {
      if (v.rule == spec.threshold->rule) known.emplace_back(v.name);
    }
    spec.variant = known[choice(text, key, value, known)];
    if (spec.variant == "sampling") {
      spec.sample_a = kSampledA;
      spec.recheck = true;
    }
  } else {
    std::vector<std::string> known;
    for (const ArithmeticRow& row : kArithmetics) known.emplace_back(row.name);
    spec.arithmetic = kArithmetics[choice(text, key, value, known)].arithmetic;
  }
}

}  // namespace

std::span<const Threshold> thresholds() { return kThresholds; }
std::span<const ArithmeticRow> arithmetics() { return kArithmetics; }

std::string_view arithmetic_name(Arithmetic arithmetic) {
  for (const ArithmeticRow& row : kArithmetics) {
    if (row.arithmetic == arithmetic) return row.name;
  }
  return "";
}

int ThresholdSpec::group_width() const { return groups >= 0 ? groups : threshold->groups; }

std::string ThresholdSpec::text() const {
  const bool sampling = variant == "sampling";
  std::string out(threshold->name);
  if (groups >= 0) {
    const bool named_groups = threshold->parameters.find("groups") != std::string_view::npos;
    out += format(",{}={}", named_groups ? "groups" : "blocks", groups);
  }
  if (columns) out += ",columns=1";
  if (confirm != confirms(*threshold)) out += format(",confirm={}", confirm ? 1 : 0);
  const bool has_budget = threshold->parameters.find("delta") != std::string_view::npos;
  if (has_budget && delta != 1e-9) out += format(",delta={}", delta);
  if (kappa) out += format(",kappa={}", *kappa);
  if (coarse) out += ",coarse=1";
  if (variant != threshold->variant) out += ",variant=" + variant;
  if (e_max) out += format(",e_max={}", *e_max);
  if (c) out += format(",c={}", *c);
  if (sigma != Spread::kBound) {
    out += format(",sigma={}", kSpreads[static_cast<std::size_t>(sigma)]);
  }
  if (sample_a != (sampling ? kSampledA : Sampling{})) {
    out += ",sample_a=" + sampling_text(sample_a);
  }
  if (sample_b != Sampling{}) {
    out += ",sample_b=" + sampling_text(sample_b);
  }
  if (raise != 1) out += format(",raise={}", raise);
  if (recheck != sampling) out += format(",recheck={}", recheck ? 1 : 0);
  if (top != 0) out += format(",top={}", top);
  if (lambda) out += format(",lambda={}", *lambda);
  if (arithmetic != threshold->arithmetic)
    out += format(",arithmetic={}", arithmetic_name(arithmetic));
  return out;
}

ThresholdSpec parse_threshold(std::string_view text) {
  const FloatEnvironment environment;
  const std::vector<std::string> parts = split(text, ',');
  ThresholdSpec spec;
  spec.threshold = &threshold_named(parts.empty() ? "" : parts[0]);
  spec.confirm = confirms(*spec.threshold);
  spec.arithmetic = spec.threshold->arithmetic;
  spec.variant = spec.threshold->variant;
  const std::vector<std::string> known = split(spec.threshold->parameters, ' ');
  // A variant sets what other parameters change, wherever it stands.
  for (const bool variants : {true, false}) {
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t equals = parts[i].find('=');
      const std::string key = parts[i].substr(0, equals);
      const std::string value = equals == std::string::npos ? "" : parts[i].substr(equals + 1);
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string near = nearest_word(key, known);
        throw std::invalid_argument(
            format("threshold '{}': {} takes no '{}'{}; it takes {}", text, spec.threshold->name,
                   key, near.empty() ? "" : format(" (did you mean '{}'?)", near), joined(known)));
      }
      if ((key == "variant") == variants) set_parameter(spec, text, key, value);
    }
  }
  return spec;
}

VAbftConstants v_abft_constants(const ThresholdSpec& spec, const Format& output, std::int64_t k,
                                const Format* input) {
  VAbftConstants constants{0, spec.variant == "recalibrated" ? 5.39  // sqrt(2 ln(2 / 1e-6))
                              : spec.variant == "sampling"   ? 3
                              : spec.variant == "aclnn"      ? 4
                                                             : 2.5};
  if (spec.variant == "aclnn") {
    // By the format of the operands; C is brought to float32 before it is summed.
    const std::string_view name = input != nullptr ? input->name : output.name;
    if (name == "bfloat16") constants.e_max = 1e-3;
    if (name == "float32") constants.e_max = 2e-5;
    if (constants.e_max == 0) {
      throw std::invalid_argument(format("aclnn has no e_max for {} operands", name));
    }
    return constants;
  }
  const auto depth = static_cast<double>(k);
  for (const EMax& row : kEMax) {
    if (row.variant != spec.variant || row.format != output.name) continue;
    constants.e_max = row.e_max;
    if (row.growth == Growth::kRootOfKOver1024) constants.e_max *= std::sqrt(depth / 1024);
    if (row.growth == Growth::kH100) constants.e_max += row.per_root * std::sqrt(depth);
  }
  if (constants.e_max == 0 && spec.variant == "seed") {
    constants = {3 * unit_roundoff(output), 4};  // the document's first guess
  } else if (constants.e_max == 0 && !spec.e_max) {
    throw std::invalid_argument(
        format("v_abft: the variant {} has no e_max for {}", spec.variant, output.name));
  }
  return {spec.e_max.value_or(constants.e_max), spec.c.value_or(constants.c)};
}

double kappa_for(std::int64_t checks, double delta) {
  return std::sqrt(2 *
                   std::log(2 * static_cast<double>(std::max<std::int64_t>(checks, 1)) / delta));
}

}  // namespace assay
