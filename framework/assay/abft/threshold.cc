#include "assay/abft/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

namespace assay::abft {
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

double above_zero(const SpecText& text, const SpecText::Setting& setting) {
  return text.number(setting, {.low = 0, .low_is_open = true});
}

int columns_or_rows(const SpecText& text, const SpecText::Setting& setting) {
  return text.whole(setting, 0, std::numeric_limits<int>::max(),
                    "a number of columns, or 0 for whole rows");
}

Sampling sampling_of(const SpecText& text, const SpecText::Setting& setting) {
  const std::vector<std::string> parts = every_part(setting.value, '/');
  Sampling sampling{0, 0};
  if (parts.size() == 2) {
    sampling = {read_number<int>(parts[0]).value_or(0), read_number<int>(parts[1]).value_or(0)};
  }
  if (sampling.width < 1 || sampling.period < sampling.width) {
    text.refuse(
        formatted("{} must be WIDTH/PERIOD, as in 16/32: of every 32 the first 16; not '{}'",
                  setting.key, setting.value));
  }
  return sampling;
}

std::string flag_text(bool value, bool by_default) {
  return value == by_default ? "" : value ? "1" : "0";
}
std::string number_or_nothing(const std::optional<double>& value) {
  return value ? formatted("{}", *value) : "";
}
std::string sampling_text(const Sampling& s, const Sampling& by_default) {
  return s == by_default ? "" : formatted("{}/{}", s.width, s.period);
}

using Spec = ThresholdSpec;
using Text = const SpecText&;

constexpr ThresholdParameter kGroups = {
    .name = "groups",
    .words = "columns of C a check; 0: whole rows",
    .read = [](Spec& s, Text text) { s.groups = columns_or_rows(text, *text.find("groups")); },
    .written =
        [](const Spec& s) {
          return s.groups >= 0 && s.threshold->takes("groups") ? formatted("{}", s.groups) : "";
        }};
constexpr ThresholdParameter kBlocks = {
    .name = "blocks",
    .words = "columns of C a check; 0: whole rows",
    .read = [](Spec& s, Text text) { s.groups = columns_or_rows(text, *text.find("blocks")); },
    .written =
        [](const Spec& s) {
          return s.groups >= 0 && !s.threshold->takes("groups") ? formatted("{}", s.groups) : "";
        }};
constexpr ThresholdParameter kColumns = {
    .name = "columns",
    .words = "1: columns of C are checked too",
    .read = [](Spec& s, Text text) { s.columns = text.flag(*text.find("columns")); },
    .written = [](const Spec& s) { return flag_text(s.columns, false); }};
constexpr ThresholdParameter kConfirm = {
    .name = "confirm",
    .words = "1: each element of a check above its threshold is looked at before it is reported",
    .read = [](Spec& s, Text text) { s.confirm = text.flag(*text.find("confirm")); },
    .written = [](const Spec& s) { return flag_text(s.confirm, s.threshold->confirms); }};
constexpr ThresholdParameter kDelta = {
    .name = "delta",
    .words = "false-alarm budget over all checks of a case, a probability",
    .read =
        [](Spec& s, Text text) {
          s.delta = above_zero(text, *text.find("delta"));
          if (s.delta >= 1) {
            text.refuse("delta is a probability, below 1");
          }
        },
    .written =
        [](const Spec& s) {
          const bool has_budget = s.threshold->takes("delta");
          return has_budget && s.delta != Spec().delta ? formatted("{}", s.delta) : "";
        }};
constexpr ThresholdParameter kKappa = {
    .name = "kappa",
    .words = "how many deviations, instead of what follows from delta",
    .read = [](Spec& s, Text text) { s.kappa = above_zero(text, *text.find("kappa")); },
    .written = [](const Spec& s) { return number_or_nothing(s.kappa); }};
constexpr ThresholdParameter kCoarse = {
    .name = "coarse",
    .words =
        "1: inputs reach few bits below the output's ulp, so that ulp^2 / 8 takes the place of "
        "ulp^2 / 12",
    .read = [](Spec& s, Text text) { s.coarse = text.flag(*text.find("coarse")); },
    .written = [](const Spec& s) { return flag_text(s.coarse, false); }};
constexpr ThresholdParameter kVariant = {
    .name = "variant",
    .words = "which of its variants",
    .read =
        [](Spec& s, Text text) {
          const ThresholdVariant& chosen = text.row(*text.find("variant"), s.threshold->variants);
          s.variant = chosen.name;
          s.sample_a = chosen.sample_a;
          s.recheck = chosen.recheck;
        },
    .written =
        [](const Spec& s) {
          return s.variant == s.threshold->default_variant() ? std::string() : s.variant;
        }};
constexpr ThresholdParameter kEMax = {
    .name = "e_max",
    .words = "the machine's, instead of the variant's",
    .read = [](Spec& s, Text text) { s.e_max = above_zero(text, *text.find("e_max")); },
    .written = [](const Spec& s) { return number_or_nothing(s.e_max); }};
constexpr ThresholdParameter kC = {
    .name = "c",
    .words = "how many deviations, instead of the variant's",
    .read = [](Spec& s, Text text) { s.c = above_zero(text, *text.find("c")); },
    .written = [](const Spec& s) { return number_or_nothing(s.c); }};
constexpr ThresholdParameter kSigma = {
    .name = "sigma",
    .words =
        "a deviation is taken as: bound, sqrt((max - mu)(mu - min)); extreme, (max - mu) / sqrt(2 "
        "ln n); deviation, itself",
    .read =
        [](Spec& s, Text text) {
          s.sigma = static_cast<Spread>(
              text.choice(*text.find("sigma"),
                          std::vector<std::string>(std::begin(kSpreads), std::end(kSpreads))));
        },
    .written =
        [](const Spec& s) {
          return std::string(s.sigma == Spread::kBound
                                 ? std::string_view()
                                 : kSpreads[static_cast<std::size_t>(s.sigma)]);
        }};
constexpr ThresholdParameter kSampleA = {
    .name = "sample_a",
    .words = "WIDTH/PERIOD: of every PERIOD columns of A the first WIDTH are looked at",
    .read = [](Spec& s, Text text) { s.sample_a = sampling_of(text, *text.find("sample_a")); },
    .written = [](const Spec& s) { return sampling_text(s.sample_a, variant_of(s).sample_a); }};
constexpr ThresholdParameter kSampleB = {
    .name = "sample_b",
    .words = "the same of B",
    .read = [](Spec& s, Text text) { s.sample_b = sampling_of(text, *text.find("sample_b")); },
    .written = [](const Spec& s) { return sampling_text(s.sample_b, {}); }};
constexpr ThresholdParameter kRaise = {
    .name = "raise",
    .words = "sampled: the threshold times this",
    .read = [](Spec& s, Text text) { s.raise = above_zero(text, *text.find("raise")); },
    .written = [](const Spec& s) { return s.raise == 1 ? "" : formatted("{}", s.raise); }};
constexpr ThresholdParameter kRecheck = {
    .name = "recheck",
    .words = "1, sampled: a detection is checked again with everything",
    .read = [](Spec& s, Text text) { s.recheck = text.flag(*text.find("recheck")); },
    .written = [](const Spec& s) { return flag_text(s.recheck, variant_of(s).recheck); }};
constexpr ThresholdParameter kTop = {
    .name = "top",
    .words = "y of so many largest values; 0: exactly",
    .read =
        [](Spec& s, Text text) {
          s.top = text.whole(*text.find("top"), 0, std::numeric_limits<int>::max(),
                             "a number of values, or 0 for all");
        },
    .written = [](const Spec& s) { return s.top == 0 ? "" : formatted("{}", s.top); }};
constexpr ThresholdParameter kLambda = {
    .name = "lambda",
    .words = "probabilistic, with this lambda",
    .read = [](Spec& s, Text text) { s.lambda = above_zero(text, *text.find("lambda")); },
    .written = [](const Spec& s) { return number_or_nothing(s.lambda); }};
constexpr ThresholdParameter kArithmetic = {
    .name = "arithmetic",
    .words = "what both sides of a check are summed in: below",
    .read =
        [](Spec& s, Text text) {
          s.arithmetic = text.row(*text.find("arithmetic"), kArithmetics).arithmetic;
        },
    .written =
        [](const Spec& s) {
          return std::string(s.arithmetic == s.threshold->arithmetic
                                 ? std::string_view()
                                 : arithmetic_name(s.arithmetic));
        }};

// In the order of a spec's text.
constexpr const ThresholdParameter* kAllParameters[] = {
    &kGroups,  &kBlocks,  &kColumns, &kConfirm, &kDelta,  &kKappa,
    &kCoarse,  &kVariant, &kEMax,    &kC,       &kSigma,  &kSampleA,
    &kSampleB, &kRaise,   &kRecheck, &kTop,     &kLambda, &kArithmetic};

// In the order in which an error message of the row lists them.
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
     .summary =
         "the kernel's own R = sum (c32 - c16) is added to the row sum: accumulation alone "
         "is left; |R| is held to the tail of the outputs' rounding errors as well, or each cast "
         "where C before it is given",
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
     .source = "V-ABFT design specification 1.2, section 4 (after Braun, Halder, Wunderlich, DSN "
               "2014)",
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
     .validity =
         "worst case, raised where the formula is none: underflow, and accumulators of fewer "
         "bits than the output (docs/abft.md); thousands of times the errors",
     .parameters = kOfAll,
     .prepare = prepare_sea_abft,
     .form = constant_form},
    {.name = "analytic",
     .summary = "gamma_K sum_k |a_ik| sum_j |b_kj|, gamma_K = Ku / (1 - Ku); with lambda: "
                "exp(lambda sqrt(K) u + K u^2 / (1 - u)) - 1",
     .source = "Higham, Accuracy and Stability, 3.5; Higham and Mary, SIAM J. Sci. Comput. 41(5), "
               "2019",
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
  for (const ArithmeticRow& row : kArithmetics) {
    if (row.arithmetic == arithmetic) return row.name;
  }
  return "";
}

bool Threshold::takes(std::string_view parameter) const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const ThresholdParameter* p) { return p->name == parameter; });
}

const ThresholdVariant& variant_of(const ThresholdSpec& spec) {
  static constexpr ThresholdVariant kNone = {.name = ""};
  for (const ThresholdVariant& v : spec.threshold->variants) {
    if (v.name == spec.variant) return v;
  }
  return kNone;
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
  for (const ThresholdParameter* p : kAllParameters) {
    const std::string value = p->written(*this);
    if (!value.empty()) out += formatted(",{}={}", p->name, value);
  }
  return out;
}

ThresholdSpec parse_threshold(std::string_view text) {
  const FloatEnvironment environment;
  const SpecText given("threshold", text);
  ThresholdSpec spec;
  spec.threshold = &row_named("threshold", kThresholds, given.name());
  spec.confirm = spec.threshold->confirms;
  spec.arithmetic = spec.threshold->arithmetic;
  spec.variant = spec.threshold->default_variant();
  std::vector<std::string> known;
  for (const ThresholdParameter* p : spec.threshold->parameters) known.emplace_back(p->name);
  given.check_keys(spec.threshold->name, known);
  // The variant is read first, because it sets values that other parameters override.
  for (const bool variants : {true, false}) {
    for (const ThresholdParameter* p : spec.threshold->parameters) {
      if ((p == &kVariant) != variants) continue;
      if (given.find(p->name) != nullptr) p->read(spec, given);
    }
  }
  return spec;
}

double kappa_for(std::int64_t checks, double delta) {
  return std::sqrt(
      2 * portable::log(2 * static_cast<double>(std::max<std::int64_t>(checks, 1)) / delta));
}

}  // namespace assay::abft
