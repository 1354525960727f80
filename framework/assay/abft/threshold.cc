#include "assay/abft/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "assay/base/spec.h"

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

Sampling sampling_of(const SpecText& text, const SpecText::Setting& setting) {
  const std::vector<std::string> parts = every_part(setting.value, '/');
  Sampling sampling{0, 0};
  if (parts.size() == 2) {
    sampling = {read_number<int>(parts[0]).value_or(0), read_number<int>(parts[1]).value_or(0)};
  }
  if (sampling.width < 1 || sampling.period < sampling.width) {
    text.refuse(format("{} must be WIDTH/PERIOD, as in 16/32: of every 32 the first 16; not '{}'",
                       setting.key, setting.value));
  }
  return sampling;
}

std::string sampling_text(const Sampling& s) { return format("{}/{}", s.width, s.period); }

bool confirms(const Threshold& t) { return t.rule == ThresholdRule::kRoundingVariance; }

// What the variant `sampling` looks at: of A the columns with k mod 32 < 4, of B everything.
constexpr Sampling kSampledA{4, 32};

void set_parameter(ThresholdSpec& spec, const SpecText& text, const SpecText::Setting& setting) {
  const std::string& key = setting.key;
  const auto above_zero = [&] { return text.number(setting, {.low = 0, .low_is_open = true}); };
  constexpr int kMost = std::numeric_limits<int>::max();
  if (key == "groups" || key == "blocks") {
    spec.groups = text.whole(setting, 0, kMost, "a number of columns, or 0 for whole rows");
  } else if (key == "columns") {
    spec.columns = text.flag(setting);
  } else if (key == "confirm") {
    spec.confirm = text.flag(setting);
  } else if (key == "coarse") {
    spec.coarse = text.flag(setting);
  } else if (key == "recheck") {
    spec.recheck = text.flag(setting);
  } else if (key == "delta") {
    spec.delta = above_zero();
    if (spec.delta >= 1) text.refuse("delta is a probability, below 1");
  } else if (key == "kappa") {
    spec.kappa = above_zero();
  } else if (key == "e_max") {
    spec.e_max = above_zero();
  } else if (key == "c") {
    spec.c = above_zero();
  } else if (key == "lambda") {
    spec.lambda = above_zero();
  } else if (key == "raise") {
    spec.raise = above_zero();
  } else if (key == "top") {
    spec.top = text.whole(setting, 0, kMost, "a number of values, or 0 for all");
  } else if (key == "sample_a") {
    spec.sample_a = sampling_of(text, setting);
  } else if (key == "sample_b") {
    spec.sample_b = sampling_of(text, setting);
  } else if (key == "sigma") {
    spec.sigma = static_cast<Spread>(
        text.choice(setting, std::vector<std::string>(std::begin(kSpreads), std::end(kSpreads))));
  } else if (key == "variant") {
    std::vector<std::string> known;
    for (const Variant& v : kVariants) {
      if (v.rule == spec.threshold->rule) known.emplace_back(v.name);
    }
    spec.variant = known[text.choice(setting, known)];
    if (spec.variant == "sampling") {
      spec.sample_a = kSampledA;
      spec.recheck = true;
    }
  } else {
    spec.arithmetic = text.row(setting, kArithmetics).arithmetic;
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
  const SpecText given("threshold", text);
  ThresholdSpec spec;
  spec.threshold = &row_named("threshold", kThresholds, given.name());
  spec.confirm = confirms(*spec.threshold);
  spec.arithmetic = spec.threshold->arithmetic;
  spec.variant = spec.threshold->variant;
  given.check_keys(spec.threshold->name, split(spec.threshold->parameters, ' '));
  // A variant sets what other parameters change, wherever it stands.
  for (const bool variants : {true, false}) {
    for (const SpecText::Setting& setting : given.settings()) {
      if ((setting.key == "variant") == variants) set_parameter(spec, given, setting);
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
