#include "assay/abft/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "assay/abft/a_abft.h"
#include "assay/abft/mean_or_max.h"
#include "assay/abft/residual_compensated.h"
#include "assay/abft/rounding_variance.h"
#include "assay/abft/row_forms.h"
#include "assay/abft/v_abft.h"
#include "assay/abft/worst_case.h"
#include "assay/base/call_text.h"
#include "assay/base/elementary.h"
#include "assay/base/float_environment.h"

namespace assay::inline v0_2::abft {
namespace {

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

// The names of the values of Spread, in its order.
constexpr std::string_view kSpreads[] = {"bound", "extreme", "deviation"};

using Spec = ThresholdSpec;
constexpr std::string_view kColumnsOrRows = "a number of columns, or 0 for whole rows";

constexpr ThresholdParameter kGroups = {
    "groups", "number of columns of C that one check sums. 0 means whole rows", &Spec::groups,
    kColumnsOrRows};
constexpr ThresholdParameter kBlocks = {"blocks", kGroups.words, &Spec::groups, kColumnsOrRows};
constexpr ThresholdParameter kColumns = {"columns", "1: columns of C are checked too",
                                         &Spec::columns};
constexpr ThresholdParameter kConfirm = {
    "confirm", "1: each element of a check above its threshold is looked at before it is reported",
    &Spec::confirm};
constexpr ThresholdParameter kDelta = {
    "delta", "false-alarm budget over all checks of a case, a probability", &Spec::delta};
constexpr ThresholdParameter kKappa = {
    "kappa", "how many deviations, instead of what follows from delta", &Spec::kappa};
constexpr ThresholdParameter kCoarse = {"coarse",
                                        "1: inputs reach few bits below the output's ulp, so that "
                                        "ulp^2 / 8 takes the place of ulp^2 / 12",
                                        &Spec::coarse};
constexpr ThresholdParameter kVariant = {"variant", "which of its variants", &Spec::variant};
constexpr ThresholdParameter kEMax = {"e_max", "the machine's, instead of the variant's",
                                      &Spec::e_max};
constexpr ThresholdParameter kC = {"c", "how many deviations, instead of the variant's", &Spec::c};
constexpr ThresholdParameter kSigma = {
    "sigma",
    "a deviation is taken as: bound, sqrt((max - mu)(mu - min)); extreme, (max - mu) / sqrt(2 ln "
    "n); deviation, itself",
    &Spec::sigma};
constexpr ThresholdParameter kSampleA = {
    "sample_a", "WIDTH/PERIOD: of every PERIOD columns of A the first WIDTH are looked at",
    &Spec::sample_a};
constexpr ThresholdParameter kSampleB = {"sample_b", "the same of B", &Spec::sample_b};
constexpr ThresholdParameter kRaise = {"raise", "sampled: the threshold times this", &Spec::raise};
constexpr ThresholdParameter kRecheck = {
    "recheck", "1, sampled: a detection is checked again with everything", &Spec::recheck};
constexpr ThresholdParameter kTop = {"top",
                                     "number of the largest values that give y. 0 means all values",
                                     &Spec::top, "a number of values, or 0 for all"};
constexpr ThresholdParameter kLambda = {"lambda", "probabilistic, with this lambda", &Spec::lambda};
constexpr ThresholdParameter kArithmetic = {
    "arithmetic", "what both sides of a check are summed in: below", &Spec::arithmetic};

std::string text_of(bool value) { return value ? "1" : "0"; }
std::string text_of(int value) { return formatted("{}", value); }
std::string text_of(double value) { return formatted("{}", value); }
std::string text_of(std::optional<double> value) { return value ? formatted("{}", *value) : ""; }
std::string text_of(const Sampling& s) { return formatted("{}/{}", s.width, s.period); }
std::string text_of(const std::string& variant) { return variant; }
std::string text_of(Spread spread) {
  return std::string(kSpreads[static_cast<std::size_t>(spread)]);
}
std::string text_of(Arithmetic arithmetic) { return std::string(arithmetic_name(arithmetic)); }

// Reads the value of a parameter. Throws Refusal, which quotes the whole text.
void read(Spec& spec, const SpecText& text, const ThresholdParameter& parameter) {
  const SpecText::Setting& setting = *text.find(parameter.name);
  const auto to = [&](auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      value = text.flag(setting);
    } else if constexpr (std::is_same_v<Value, int>) {
      value = text.whole(setting, 0, std::numeric_limits<int>::max(), parameter.wanted);
    } else if constexpr (std::is_same_v<Value, Sampling>) {
      const std::vector<std::string> parts = every_part(setting.value, '/');
      value = {0, 0};
      if (parts.size() == 2) {
        value = {read_number<int>(parts[0]).value_or(0), read_number<int>(parts[1]).value_or(0)};
      }
      if (value.width >= 1 && value.period >= value.width) return;
      text.refuse(
          formatted("{} must be WIDTH/PERIOD, as in 16/32: of every 32 the first 16; not '{}'",
                    setting.key, setting.value));
    } else if constexpr (std::is_same_v<Value, std::string>) {
      const ThresholdVariant& chosen = text.row(setting, spec.threshold->variants);
      value = chosen.name;
      spec.sample_a = chosen.sample_a;
      spec.recheck = chosen.recheck;
    } else if constexpr (std::is_same_v<Value, Spread>) {
      value = static_cast<Spread>(
          text.choice(setting, std::vector<std::string>(std::begin(kSpreads), std::end(kSpreads))));
    } else if constexpr (std::is_same_v<Value, Arithmetic>) {
      value = text.row(setting, kArithmetics).arithmetic;
    } else {
      value = text.number(setting, {.low = 0, .low_is_open = true});
    }
  };
  std::visit([&](auto field) { to(spec.*field); }, parameter.field);
  if (spec.delta >= 1) text.refuse("delta is a probability, below 1");
}

// Returns the spec of a threshold in which all parameters have their defaults. Those of `sample_a`
// and `recheck` come from `variant`, but the spec names the threshold's default variant.
Spec default_spec(const Threshold& threshold, const ThresholdVariant& variant) {
  Spec spec;
  spec.threshold = &threshold;
  spec.confirm = threshold.confirms;
  spec.arithmetic = threshold.arithmetic;
  spec.variant = threshold.default_variant();
  spec.sample_a = variant.sample_a;
  spec.recheck = variant.recheck;
  return spec;
}

// All parameters, in the order in which the text of a spec has them.
constexpr const ThresholdParameter* kAllParameters[] = {
    &kGroups,  &kBlocks,  &kColumns, &kConfirm, &kDelta,  &kKappa,
    &kCoarse,  &kVariant, &kEMax,    &kC,       &kSigma,  &kSampleA,
    &kSampleB, &kRaise,   &kRecheck, &kTop,     &kLambda, &kArithmetic};

// The parameters of each threshold, in the order in which an error message lists them.
constexpr const ThresholdParameter* kOfRoundingVariance[] = {
    &kGroups, &kColumns, &kConfirm, &kDelta, &kKappa, &kCoarse, &kArithmetic};
constexpr const ThresholdParameter* kOfResidualCompensated[] = {&kGroups, &kColumns, &kConfirm,
                                                                &kDelta,  &kKappa,   &kCoarse};
constexpr const ThresholdParameter* kOfVAbft[] = {&kVariant, &kEMax,    &kC,       &kSigma,
                                                  &kBlocks,  &kSampleA, &kSampleB, &kRaise,
                                                  &kRecheck, &kColumns, &kConfirm, &kArithmetic};
constexpr const ThresholdParameter* kOfAclnn[] = {&kBlocks, &kColumns, &kConfirm, &kArithmetic};
constexpr const ThresholdParameter* kOfAAbft[] = {&kVariant, &kColumns, &kConfirm, &kArithmetic};
constexpr const ThresholdParameter* kOfAAbftOriginal[] = {&kVariant, &kTop, &kColumns, &kConfirm,
                                                          &kArithmetic};
constexpr const ThresholdParameter* kOfAnalytic[] = {&kLambda, &kColumns, &kConfirm, &kArithmetic};
constexpr const ThresholdParameter* kOfAll[] = {&kColumns, &kConfirm, &kArithmetic};

// The variant `sampling` reads the columns of A with k mod 32 < 4, and all of B.
constexpr ThresholdVariant kVAbftVariants[] = {
    {.name = "seed"},
    {.name = "recalibrated"},
    {.name = "april"},
    {.name = "sampling", .sample_a = {4, 32}, .recheck = true},
    {.name = "h100"}};
constexpr ThresholdVariant kAclnnVariants[] = {{.name = "aclnn"}};
constexpr ThresholdVariant kAAbftVariants[] = {{.name = "mixed"},
                                               {.name = "components", .reads_products = true}};
constexpr ThresholdVariant kAAbftOriginalVariants[] = {{.name = "row"}, {.name = "matrix"}};

constexpr Threshold kThresholds[] = {
    {.name = "rounding_variance",
     .summary = "what the sum of the rounding errors of a check's columns, each uniform within "
                "ulp(c)/2, exceeds with probability delta / checks, + accumulation",
     .source = "assay (docs/abft.md); the tail by Bahadur and Ranga Rao, Annals of Mathematical "
               "Statistics 31, 1960",
     .validity = "outputs rounded by nearest_even; accumulators of 24 bits, nearest_even or, with "
                 "the machine known, truncated; not float64 results",
     .parameters = kOfRoundingVariance,
     .groups = 16,
     .confirms = true,
     .golden_suffices = true,
     .by_variance = true,
     .prepare = prepare_rounding_variance,
     .form = rounding_variance_form,
     .why_not = why_not_rounding_variance},
    {.name = "residual_compensated",
     .summary = "the kernel's own R = sum (c32 - c16) is added to the row sum: accumulation alone "
                "is left; |R| is held to the tail of the outputs' rounding errors as well, or each "
                "cast where C before it is given",
     .source = "assay (docs/abft.md)",
     .validity = "as rounding_variance; needs R of each check (a recorded output's residual) or C "
                 "before its cast (its accumulator)",
     .parameters = kOfResidualCompensated,
     .groups = 16,
     .confirms = true,
     .takes_residuals = true,
     .by_variance = true,
     .prepare = prepare_rounding_variance,
     .form = residual_compensated_form,
     .why_not = why_not_rounding_variance},
    {.name = "v_abft",
     .summary = "e_max (N|mu_A| sum|mu_B| + c sqrt(N mu_A^2 sum s_B^2 + N^2 s_A^2 sum mu_B^2) + c "
                "sqrt(N) s_A sqrt(sum s_B^2)), s^2 = (max - mu)(mu - min)",
     .source = "V-ABFT design specification 1.2; arXiv 2602.08043",
     .validity = "e_max must be that of the machine; rows with outliers raise it",
     .parameters = kOfVAbft,
     .variants = kVAbftVariants,
     .prepare = prepare_v_abft,
     .form = constant_form,
     .why_not = why_not_v_abft},
    {.name = "aclnn",
     .summary = "v_abft with e_max 1e-3 (bfloat16 operands) or 2e-5 (float32), c = 4, checks of "
                "256 columns",
     .source = "aclnnMatmulAbftVerify as torch_npu/asd/checksum.py calls it",
     .validity = "bfloat16 and float32 operands",
     .parameters = kOfAclnn,
     .groups = 256,
     .arithmetic = Arithmetic::kFloat32,
     .variants = kAclnnVariants,
     .prepare = prepare_v_abft,
     .form = constant_form,
     .why_not = why_not_v_abft},
    {.name = "a_abft",
     .summary = "mixed-precision A-ABFT: worst-case growth of rounding errors of C, A, B and both "
                "checksums",
     .source =
         "V-ABFT design specification 1.2, section 4 (after Braun, Halder, Wunderlich, DSN 2014)",
     .validity = "fails on data whose mean is far from 0 when checksums are rounded to 16 bits",
     .parameters = kOfAAbft,
     .variants = kAAbftVariants,
     .reads_sizes = true,
     .reads_operand_sizes = true,
     .form = a_abft_form},
    {.name = "a_abft_original",
     .summary = "3 sqrt((K(K+1)(K+1/2) + 2K) / 24) 2^-t y, y >= max_k |a_k (sum_j b_kj)|",
     .source = "Braun, Halder, Wunderlich, DSN 2014",
     .validity = "one precision throughout: t is the output's mantissa",
     .parameters = kOfAAbftOriginal,
     .variants = kAAbftOriginalVariants,
     .prepare = prepare_a_abft_original,
     .form = constant_form},
    {.name = "sea_abft",
     .summary = "((K + 2N - 2) ||A_i|| sum_j ||B_j|| + K ||b|| ||A_i||) 2u, b the row sums of B",
     .source = "simplified error analysis ABFT, as stated in V-ABFT's artifact",
     .validity = "worst case, raised where the formula is none: underflow, and accumulators of "
                 "fewer bits than the output (docs/abft.md); thousands of times the errors",
     .parameters = kOfAll,
     .prepare = prepare_sea_abft,
     .form = constant_form},
    {.name = "analytic",
     .summary = "gamma_K sum_k |a_ik| sum_j |b_kj|, gamma_K = Ku / (1 - Ku); with lambda: "
                "exp(lambda sqrt(K) u + K u^2 / (1 - u)) - 1",
     .source =
         "Higham, Accuracy and Stability, 3.5; Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019",
     .validity = "refused where K u >= 1 (without lambda); without lambda raised as sea_abft",
     .parameters = kOfAnalytic,
     .prepare = prepare_analytic,
     .form = constant_form,
     .why_not = why_not_analytic},
    {.name = "torch_npu",
     .summary = "5 e; e = 2^-8 sqrt(N) max|c| where min(max|c| / mean|c|) over all rows is above "
                "5, else 2^-8 N mean|c|",
     .source = "torch_npu/asd/checksum.py, _matmul_checksum_py",
     .validity = "made for bfloat16 outputs",
     .parameters = kOfAll,
     .arithmetic = Arithmetic::kFloat32,
     .reads_sizes = true,
     .reads_peaks = true,
     .form = mean_or_max_form<5>},
    {.name = "mindspore",
     .summary = "e; as torch_npu",
     .source = "MindSpore's silent-data-corruption detection, CheckSumKernel",
     .validity = "made for bfloat16 outputs",
     .parameters = kOfAll,
     .arithmetic = Arithmetic::kFloat32,
     .reads_sizes = true,
     .reads_peaks = true,
     .form = mean_or_max_form<1>},
};

}  // namespace

std::span<const Threshold> thresholds() { return kThresholds; }
std::span<const ArithmeticRow> arithmetics() { return kArithmetics; }

std::string_view arithmetic_name(Arithmetic arithmetic) {
  return find_row(kArithmetics, arithmetic, &ArithmeticRow::arithmetic)->name;
}

bool Threshold::takes(std::string_view parameter) const {
  return find_row(parameters, parameter, &ThresholdParameter::name) != nullptr;
}

const ThresholdVariant& variant_of(const ThresholdSpec& spec) {
  static constexpr ThresholdVariant kNone = {.name = ""};
  const auto* variant = find_row(spec.threshold->variants, spec.variant, &ThresholdVariant::name);
  return variant != nullptr ? *variant : kNone;
}

int ThresholdSpec::group_width() const { return groups >= 0 ? groups : threshold->groups; }

std::int64_t ThresholdSpec::width_of(std::int64_t columns_of_c) const {
  const std::int64_t all = std::max<std::int64_t>(columns_of_c, 1);
  const int asked = group_width();
  return asked == 0 ? all : std::min<std::int64_t>(asked, all);
}

std::int64_t ThresholdSpec::groups_of(std::int64_t columns_of_c) const {
  const std::int64_t width = width_of(columns_of_c);
  return (std::max<std::int64_t>(columns_of_c, 1) + width - 1) / width;
}

std::string ThresholdSpec::text() const {
  std::string out(threshold->name);
  const Spec usual = default_spec(*threshold, variant_of(*this));
  for (const ThresholdParameter* p : kAllParameters) {
    const bool is_own = p == &kBlocks                   ? !threshold->takes("groups")
                        : p == &kGroups || p == &kDelta ? threshold->takes(p->name)
                                                        : true;
    const auto value_of = [&](const Spec& spec) {
      return std::visit([&](auto field) { return text_of(spec.*field); }, p->field);
    };
    const std::string value = value_of(*this);
    if (is_own && value != value_of(usual)) out += formatted(",{}={}", p->name, value);
  }
  return out;
}

ThresholdSpec parse_threshold(std::string_view text) {
  const FloatEnvironment environment;
  const SpecText given("threshold", text);
  const Threshold& row = row_named("threshold", kThresholds, given.name());
  ThresholdSpec spec = default_spec(row, {});
  given.check_keys(row.name, names_of(row.parameters, &ThresholdParameter::name));
  // The variant is read first, because it sets values that other parameters override.
  for (const bool variants : {true, false}) {
    for (const ThresholdParameter* p : row.parameters) {
      if ((p == &kVariant) == variants && given.find(p->name) != nullptr) read(spec, given, *p);
    }
  }
  return spec;
}

double kappa_for(std::int64_t checks, double delta) {
  return std::sqrt(
      2 * portable::log(2 * static_cast<double>(std::max<std::int64_t>(checks, 1)) / delta));
}

}  // namespace assay::abft
