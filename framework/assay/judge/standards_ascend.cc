#include "assay/judge/standards_ascend.h"

#include <array>
#include <cstddef>
#include <utility>

#include "assay/base/words.h"

namespace assay::inline v0_2 {
namespace {

using S = Statistic;

// Returns one array with the rows of `a` and then those of `b`.
template <std::size_t kFirst, std::size_t kSecond>
constexpr std::array<LimitRow, kFirst + kSecond> both_of(const std::array<LimitRow, kFirst>& a,
                                                         const std::array<LimitRow, kSecond>& b) {
  std::array<LimitRow, kFirst + kSecond> rows = {};
  for (std::size_t i = 0; i < kFirst; ++i) rows[i] = a[i];
  for (std::size_t i = 0; i < kSecond; ++i) rows[kFirst + i] = b[i];
  return rows;
}

constexpr ToleranceRow kTritonAscendTests[] = {{.dtype = "float16", .rtol = 1e-3, .atol = 1e-3},
                                               {.dtype = "bfloat16", .rtol = 1e-3, .atol = 1e-3},
                                               {.dtype = "float32", .rtol = 1e-4, .atol = 1e-4}};
constexpr ToleranceRow kTritonAscend[] = {{.dtype = "float16", .rtol = 1e-3, .atol = 1e-3},
                                          {.dtype = "bfloat16", .rtol = 5e-3, .atol = 5e-3},
                                          {.dtype = "float32", .rtol = 1e-5, .atol = 1e-5}};
// The limits of CANN for a threshold t: MERE is below t, and MARE below 10 t.
constexpr LimitRow mere(std::string_view dtype, double t) {
  return {.dtype = dtype, .limit = {.statistic = S::kMere, .limit = t}};
}
constexpr LimitRow mare(std::string_view dtype, double t) {
  return {.dtype = dtype, .limit = {.statistic = S::kMare, .limit = 10 * t}};
}
constexpr LimitRow kCannEcosystem[] = {
    mere("float16", 0x1p-10),      mare("float16", 0x1p-10),    mere("bfloat16", 0x1p-7),
    mare("bfloat16", 0x1p-7),      mere("float32", 0x1p-13),    mare("float32", 0x1p-13),
    mere("hfloat32", 0x1p-11),     mare("hfloat32", 0x1p-11),   mere("float8_e4m3fn", 0x1p-3),
    mare("float8_e4m3fn", 0x1p-3), mere("float8_e5m2", 0x1p-2), mare("float8_e5m2", 0x1p-2),
};
constexpr LimitRow kCannEcosystemHf32[] = {mere("float32", 0x1p-11), mare("float32", 0x1p-11)};

// Among elements with |expected| below `domain`, the number of errors above `error` is at most
// twice that of the reference implementation.
constexpr LimitRow small(std::string_view dtype, double domain, double error) {
  return {dtype, {.statistic = S::kSmallErrors, .limit = 2, .parameter = domain, .second = error}};
}
constexpr LimitRow kCannSmall[] = {
    small("float16", 0x1p-11, 0x1p-16),     small("bfloat16", 0x1p-8, 0x1p-16),
    small("float32", 0x1p-14, 0x1p-30),     small("hfloat32", 0x1p-12, 0x1p-28),
    small("float8_e4m3fn", 0x1p-4, 0x1p-6), small("float8_e5m2", 0x1p-3, 0x1p-5)};
constexpr LimitRow kCannSmallHf32[] = {small("float32", 0x1p-12, 0x1p-28)};

// The limits of one level of the dual benchmark. They are ratios of the output's MARE, MERE and
// RMSE to those of the reference implementation.
constexpr std::array<LimitRow, 3> dual_benchmark(double mare_ratio, double ratio) {
  return {{{"*", {.statistic = S::kMareRatio, .limit = mare_ratio}},
           {"*", {.statistic = S::kMereRatio, .limit = ratio}},
           {"*", {.statistic = S::kRmseRatio, .limit = ratio}}}};
}
constexpr auto kCannL0 = dual_benchmark(10, 2), kCannL1 = dual_benchmark(5, 1.5),
               kCannL2 = dual_benchmark(2, 1.2);

constexpr ToleranceRow kAtb[] = {{.dtype = "float16", .rtol = 0x1p-8, .atol = 0, .floor = 1},
                                 {.dtype = "bfloat16", .rtol = 0x1p-7, .atol = 0, .floor = 1},
                                 {.dtype = "float32", .rtol = 0x1p-11, .atol = 0, .floor = 1}};
constexpr ToleranceRow kAtbHigh[] = {{.dtype = "float16", .rtol = 0x1p-11, .atol = 0, .floor = 1},
                                     {.dtype = "bfloat16", .rtol = 0x1p-8, .atol = 0, .floor = 1},
                                     {.dtype = "float32", .rtol = 0x1p-14, .atol = 0, .floor = 1}};
constexpr LimitRow balance(std::string_view dtype, double limit) {
  return {dtype, {.statistic = S::kErrorBalance, .limit = limit, .sense = LimitSense::kAtMost}};
}
constexpr LimitRow kAtbBalance[] = {balance("float16", 0x1p-10),
                                    {"bfloat16", balance("bfloat16", 0x1p-7).limit, true},
                                    balance("float32", 0x1p-14)};
constexpr ToleranceRow kCatlass[] = {
    {.dtype = "float16", .rtol = 1.0 / 256, .atol = 0, .floor = 1},
    {.dtype = "bfloat16", .rtol = 1.0 / 128, .atol = 0, .floor = 1.0 / 256},
    {.dtype = "float32", .rtol = 1.0 / 256, .atol = 0, .floor = 1}};

// The limits of msprobe. The cosine must exceed 0.99. Also, either the largest error is below 1e-3,
// or both shares hold: of elements with a relative error of at least `wide`, and of at least
// `narrow`.
struct MsprobeShares {
  double wide, wide_share, narrow, narrow_share;
};
constexpr std::array<LimitRow, 5> msprobe(std::string_view dtype, const MsprobeShares& s) {
  const auto row = [&](S statistic, double limit, int group, double parameter) -> LimitRow {
    return {dtype,
            {.statistic = statistic,
             .limit = limit,
             .parameter = parameter,
             .group = group,
             .sense = statistic == S::kCosine ? LimitSense::kAbove : LimitSense::kBelow}};
  };
  return {row(S::kCosine, 0.99, 0, 0), row(S::kMaxAbs, 1e-3, 1, 0),
          row(S::kShareRelative, s.wide_share, 1, s.wide), row(S::kMaxAbs, 1e-3, 2, 0),
          row(S::kShareRelative, s.narrow_share, 2, s.narrow)};
}
constexpr auto kMsprobe = both_of(both_of(msprobe("float16", {1e-2, 1e-2, 1e-3, 1e-3}),
                                          msprobe("bfloat16", {1e-2, 1e-2, 1e-3, 1e-3})),
                                  both_of(msprobe("float32", {1e-3, 1e-3, 1e-4, 1e-4}),
                                          msprobe("float64", {1e-3, 1e-3, 1e-4, 1e-4})));
constexpr LimitRow kMsprobeCompare[] = {
    {"*", {.statistic = S::kCosine, .limit = 0.9, .sense = LimitSense::kAtLeast}},
    {"*", {.statistic = S::kMaxAbs, .limit = 1, .sense = LimitSense::kAtMost}},
    {"*", {.statistic = S::kCosine, .limit = 0.99, .group = 1, .sense = LimitSense::kAtLeast}},
    {"*", {.statistic = S::kMaxAbs, .limit = 1e-3, .group = 1, .sense = LimitSense::kAtMost}}};
constexpr LimitRow kMsprobeUlp[] = {
    {.dtype = "float16", .limit = {.statistic = S::kShareUlps, .limit = 1e-3, .parameter = 1}},
    {.dtype = "bfloat16", .limit = {.statistic = S::kShareUlps, .limit = 1e-3, .parameter = 1}},
    {.dtype = "float32", .limit = {.statistic = S::kMeanUlps, .limit = 64, .group = 1}},
    {.dtype = "float32",
     .limit = {.statistic = S::kShareUlps, .limit = 0.05, .parameter = 32, .group = 1}}};

constexpr std::array<LimitRow, 4> mlu(double float16, double float32) {
  return {{{"float16", {.statistic = S::kDiff1, .limit = float16}},
           {"float16", {.statistic = S::kDiff2, .limit = float16}},
           {"float32", {.statistic = S::kDiff1, .limit = float32}},
           {"float32", {.statistic = S::kDiff2, .limit = float32}}}};
}
constexpr auto kMluOps = mlu(3e-3, 3e-3), kMluConvolution = mlu(3e-3, 1e-5);
constexpr ToleranceRow kMluExact[] = {{.dtype = "*", .rtol = 0, .atol = 0}};

// TTK's `mixed`: at most 1 percent of the elements may be mismatches. The largest error is at most
// the limit, or at most 32 ulp of the expected value at that element. Dtypes for which TTK has no
// floats are compared as codes.
constexpr ToleranceRow mixed(std::string_view dtype, double rtol, double atol) {
  return {.dtype = dtype, .rtol = rtol, .atol = atol, .share = 0.01};
}
constexpr ToleranceRow requant(std::string_view dtype) {
  return {.dtype = dtype, .share = 1e-3, .ulps = 1, .rule = Rule::kUlps};
}
constexpr ToleranceRow codes(std::string_view dtype) {
  return {.dtype = dtype, .rule = Rule::kBits};
}
constexpr ToleranceRow kMixed[] = {
    mixed("float16", 0x1p-9, 0x1p-9),       mixed("bfloat16", 0x1p-6, 0x1p-6),
    mixed("float32", 0x1p-10, 0x1p-16),     mixed("hfloat32", 0x1p-9, 0x1p-10),
    mixed("float8_e4m3fn", 0x1p-2, 0x1p-4), mixed("float8_e5m2", 0x1p-1, 0x1p-3)};
constexpr ToleranceRow kMixedHf32[] = {mixed("float32", 0x1p-9, 0x1p-10)};
constexpr ToleranceRow kTightMixed[] = {
    mixed("float16", 0x1p-10, 0x1p-10),     mixed("bfloat16", 0x1p-7, 0x1p-7),
    mixed("float32", 0x1p-13, 0x1p-13),     mixed("hfloat32", 0x1p-10, 0x1p-10),
    mixed("float8_e4m3fn", 0x1p-3, 0x1p-3), mixed("float8_e5m2", 0x1p-2, 0x1p-2)};
constexpr ToleranceRow kTtkMixed[] = {kMixed[0],
                                      kMixed[1],
                                      kMixed[2],
                                      kMixed[3],
                                      kMixed[4],
                                      kMixed[5],
                                      mixed("float64", 0x1p-10, 0x1p-16),
                                      requant("hifloat8"),
                                      codes("float4_e2m1fn"),
                                      codes("float4_e1m2fn"),
                                      codes("float8_e8m0fnu")};
constexpr LimitRow max_abs(std::string_view dtype, double most) {
  return {
      .dtype = dtype,
      .limit = {.statistic = S::kMaxAbs, .limit = most, .group = 1, .sense = LimitSense::kAtMost}};
}
constexpr LimitRow max_abs_ulp(std::string_view dtype) {
  return {.dtype = dtype, .limit = {.statistic = S::kMaxAbsUlps, .limit = 32, .group = 1}};
}
// The largest error is at most the given limit, or at most 32 ulp. These are two rows for each
// dtype.
template <std::size_t kDtypes>
constexpr std::array<LimitRow, 2 * kDtypes> largest_errors(
    const std::array<std::pair<std::string_view, double>, kDtypes>& most) {
  std::array<LimitRow, 2 * kDtypes> rows = {};
  for (std::size_t i = 0; i < kDtypes; ++i) {
    rows[2 * i] = max_abs(most[i].first, most[i].second);
    rows[2 * i + 1] = max_abs_ulp(most[i].first);
  }
  return rows;
}
using Most = std::pair<std::string_view, double>;
constexpr auto kMixedLimits =
    largest_errors<6>({Most{"float16", 0.1}, Most{"bfloat16", 1}, Most{"float32", 0.01},
                       Most{"hfloat32", 0.1}, Most{"float8_e4m3fn", 1}, Most{"float8_e5m2", 0.1}});
constexpr auto kTtkLimits = largest_errors<7>(
    {Most{"float16", 0.1}, Most{"bfloat16", 1}, Most{"float32", 0.01}, Most{"hfloat32", 0.1},
     Most{"float8_e4m3fn", 1}, Most{"float8_e5m2", 0.1}, Most{"float64", 0.01}});
constexpr auto kTightMixedLimits =
    largest_errors<6>({Most{"float16", 0.1}, Most{"bfloat16", 0.1}, Most{"float32", 0.01},
                       Most{"hfloat32", 0.1}, Most{"float8_e4m3fn", 1}, Most{"float8_e5m2", 1}});
constexpr auto kMixedLimitsHf32 = largest_errors<1>({Most{"float32", 0.1}});
// In the first version of TTK's rule, the limit on the largest error does not depend on the
// expected value: it is a number that already includes 32 ulp of 1.
constexpr LimitRow most(std::string_view dtype, double limit) {
  return {dtype, {.statistic = S::kMaxAbs, .limit = limit, .sense = LimitSense::kAtMost}};
}
constexpr LimitRow kTtkMostLimits[] = {
    most("float16", 0.1),     most("bfloat16", 1),    most("float32", 0.01), most("hfloat32", 0.1),
    most("float8_e4m3fn", 4), most("float8_e5m2", 8), most("float64", 0.01)};
constexpr LimitRow kTtkMostHf32[] = {most("float32", 0.1)};
constexpr LimitRow kTtkStatRelErr[] = {
    mere("float16", 0x1p-10),      mare("float16", 0x1p-10),    mere("bfloat16", 0x1p-7),
    mare("bfloat16", 0x1p-7),      mere("float32", 0x1p-13),    mare("float32", 0x1p-13),
    mere("float64", 0x1p-13),      mare("float64", 0x1p-13),    mere("float8_e4m3fn", 0x1p-3),
    mare("float8_e4m3fn", 0x1p-3), mere("float8_e5m2", 0x1p-2), mare("float8_e5m2", 0x1p-2),
};
constexpr ToleranceRow kTtkClose[] = {
    {.dtype = "float16", .rtol = 1e-3, .atol = 1e-8, .share = 1e-3},
    {.dtype = "bfloat16", .rtol = 1e-3, .atol = 1e-8, .share = 1e-3},
    {.dtype = "*", .rtol = 1e-4, .atol = 1e-8, .share = 1e-4}};
constexpr LimitRow kTtkCosine[] = {
    {.dtype = "*",
     .limit = {.statistic = S::kCosine, .limit = 0.99, .sense = LimitSense::kAtLeast}}};
constexpr ToleranceRow kTtkBinary[] = {{.dtype = "*"}};
constexpr ToleranceRow kTtkRequant[] = {requant("hifloat8"), requant("float8_e4m3fn"),
                                        requant("float8_e5m2")};
constexpr ToleranceRow kTtkQuant[] = {{.dtype = "int8", .atol = 1}, {.dtype = "int4", .atol = 1}};

// TTK's `cross_check`. For elements of at least the small value in size, it limits the ratios of
// the errors to a third party's. For the other elements, it limits the number of errors.
constexpr std::array<LimitRow, 12> cross_check(double mare_ratio, double ratio) {
  std::array<LimitRow, 12> rows = {};
  std::size_t next = 0;
  constexpr LimitRow kSmall[] = {kCannSmall[0], kCannSmall[1], kCannSmall[2]};
  for (const LimitRow& small : kSmall) {
    const double from = small.limit.parameter;
    const auto add = [&](Statistic statistic, double limit) {
      rows[next++] = {small.dtype, {.statistic = statistic, .limit = limit, .parameter = from}};
    };
    add(S::kLargeMareRatio, mare_ratio);
    add(S::kLargeMereRatio, ratio);
    add(S::kLargeRmseRatio, ratio);
    rows[next++] = small;
  }
  return rows;
}
constexpr auto kTtkCross0 = cross_check(10, 2), kTtkCross1 = cross_check(5, 1.5),
               kTtkCross2 = cross_check(2, 1.2);

// The isclose of Ascend's sample projects. At most the share 1e-4 of the elements may be
// mismatches.
constexpr ToleranceRow kVerifyResult[] = {
    {.dtype = "*", .rtol = 1e-6, .atol = 1e-9, .share = 1e-4}};

// Publications that several rows share.
constexpr Publication ttk(std::string_view path, std::string_view commit = "202675b6ad04") {
  return {"hicann/ops-test-kit", commit, path, "read 2026-11-22"};
}
constexpr std::string_view kOpbase = "cann/opbase",
                           kExperimental =
                               "docs/zh/ops_precision_standard/experimental_standard.md";
constexpr Publication kCannEcosystem2025Published = {kOpbase, "60496434718e", kExperimental,
                                                     "2026-04-09"};
constexpr Publication kCannEcosystem202607Published = {kOpbase, "adbe441e9254", kExperimental,
                                                       "2026-07-15"};
constexpr Publication kCannSmallValuesPublished = {
    "cann/opbase", "3e6296654293", "docs/zh/ops_precision_standard/commercial_standard.md",
    "2026-04-10"};
constexpr Publication kAtb2025Published = {
    "cann/ascend-transformer-boost", "8f5d4e8ce180",
    "tests/framework/python/CsvOpsTestTool/data_generation.py", "2026-05-18"};
constexpr Publication kAtb202605Published = {
    "cann/ascend-transformer-boost", "ddcc8b6225b8",
    "tests/framework/python/CsvOpsTestTool/atb_csv_ops_test.py", "2026-07-22"};
constexpr Publication kMluOpsPublished = {"Cambricon/mlu-ops", "9b361a765692",
                                          "docs/MLU-OPS-Accuracy-Acceptance-Standard.md",
                                          "2025-01-06"};
constexpr Publication kTtkMixed202607Published =
    ttk("ttk/core_modules/comparison/mix_tolerance.py", "367509326971");
constexpr Publication kTtkMixed202609Published = {
    "hicann/ops-test-kit", "6d5e65d7", "docs/Precision_Comparison.md", "read 2026-11-22"};
constexpr Publication kTtkCrossCheckL0Published =
    ttk("ttk/core_modules/comparison/cross_check.py", "1d360ca62a59");

// Returns a standard that limits only statistics.
constexpr Standard limits_only(std::string_view name, std::string_view source,
                               const Publication& publication, std::span<const LimitRow> limits,
                               bool nan_equal = false) {
  return {.name = name,
          .source = source,
          .publication = publication,
          .nan_equal = nan_equal,
          .limits = limits};
}
// Returns a standard that limits elements and statistics. NaN equals NaN in it.
constexpr Standard mixed_rule(std::string_view name, std::string_view source,
                              const Publication& publication, std::span<const ToleranceRow> rows,
                              std::span<const LimitRow> limits) {
  Standard standard = limits_only(name, source, publication, limits, true);
  standard.rows = rows;
  return standard;
}

constexpr Standard kAscendStandards[] = {
    {.name = "triton_ascend",
     .source = "Triton-Ascend's debugging guide, compare_precision: rtol = atol by dtype, NaN "
               "equal (its code is relative to the output)",
     .publication = {"triton-lang/triton-ascend", "271350ab6ceb",
                     "docs/zh/debug_guide/precision.md", "2026-07-01"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kTritonAscend},
    {.name = "triton_ascend_tests",
     .source = "Triton-Ascend's unit tests, validate_cmp: rtol = atol by dtype, NaN equal (its "
               "code is relative to the output)",
     .publication = {"triton-lang/triton-ascend", "a84b1eb52b62",
                     "third_party/ascend/unittest/pytest_ut/test_common.py", "2026-04-27"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kTritonAscendTests},
    limits_only("cann_ecosystem@2025",
                "CANN ecosystem operator precision standard: MERE < T and MARE < 10 T, with a T "
                "for each dtype",
                kCannEcosystem2025Published, kCannEcosystem),
    limits_only("cann_ecosystem_hf32@2025",
                "the rule of cann_ecosystem@2025 for float32 computed in HF32",
                kCannEcosystem2025Published, kCannEcosystemHf32),
    mixed_rule("cann_ecosystem@2026-07",
               "CANN ecosystem operator precision standard, mixed tolerance: 1 % of the elements "
               "may lie outside their tolerance; the largest error must be at most its limit, or "
               "at most 32 ulp of the expected value",
               kCannEcosystem202607Published, kMixed, kMixedLimits),
    mixed_rule("cann_ecosystem_hf32@2026-07",
               "the rule of cann_ecosystem@2026-07 for float32 computed in HF32",
               kCannEcosystem202607Published, kMixedHf32, kMixedLimitsHf32),
    mixed_rule(
        "cann_ecosystem@2026-09",
        "CANN ecosystem operator precision standard, tighter mixed tolerance; only a part of this "
        "version was read, so that cann_ecosystem without a version still means @2026-07",
        Publication{"cann/opbase", "a5e8e716743b",
                    "docs/zh/ops_precision_standard/mixed_tolerance_standard.md", "2026-09-24"},
        kTightMixed, kTightMixedLimits),
    limits_only("cann_small_values",
                "CANN operator precision standard, withdrawn 2026-04-22, small values: at most "
                "twice as many errors as the reference implementation has",
                kCannSmallValuesPublished, kCannSmall),
    limits_only("cann_small_values_hf32",
                "the rule of cann_small_values for float32 computed in HF32",
                kCannSmallValuesPublished, kCannSmallHf32),
    limits_only("cann_l0",
                "CANN operator precision standard, withdrawn 2026-04-22, dual benchmark, level 0, "
                "with limits on the output's errors over those of a reference implementation",
                kCannSmallValuesPublished, kCannL0),
    limits_only("cann_l1",
                "CANN operator precision standard, withdrawn 2026-04-22, dual benchmark, level 1, "
                "with limits on the output's errors over those of a reference implementation",
                kCannSmallValuesPublished, kCannL1),
    limits_only("cann_l2",
                "CANN operator precision standard, withdrawn 2026-04-22, dual benchmark, level 2, "
                "with limits on the output's errors over those of a reference implementation",
                kCannSmallValuesPublished, kCannL2),
    {.name = "atb@2025",
     .source = "Ascend Transformer Boost tests: |d| <= rtol max(1, |e|) for the difference d from "
               "the expected value e, and a limit on the error balance",
     .publication = kAtb2025Published,
     .rows = kAtb,
     .rule = Rule::kLargest,
     .limits = kAtbBalance,
     .growth = Growth::kAtb},
    {.name = "atb_high_precision@2025",
     .source =
         "Ascend Transformer Boost tests of high precision: the rule of atb@2025 with other limits",
     .publication = kAtb2025Published,
     .rows = kAtbHigh,
     .rule = Rule::kLargest,
     .limits = kAtbBalance},
    {.name = "atb@2026-05",
     .source = "Ascend Transformer Boost tests: |d| <= rtol max(1, |e|) for the difference d from "
               "the expected value e; the error balance is only printed",
     .publication = kAtb202605Published,
     .rows = kAtb,
     .rule = Rule::kLargest,
     .growth = Growth::kAtb},
    {.name = "atb_high_precision@2026-05",
     .source = "Ascend Transformer Boost tests of high precision: the rule of atb@2026-05 with "
               "other limits",
     .publication = kAtb202605Published,
     .rows = kAtbHigh,
     .rule = Rule::kLargest},
    {.name = "catlass",
     .source =
         "CATLASS examples, CompareData and, for bfloat16, CompareDataBfloat16: |d| <= rtol max(1, "
         "|e|) for the difference d from the expected value e (in the original, NaN passes)",
     .publication = {"cann/catlass", "0dfcf9df304f", "examples/common/golden/compare_data.hpp",
                     "2026-08-07"},
     .rows = kCatlass,
     .rule = Rule::kLargest,
     .growth = Growth::kTwiceFrom2048},
    limits_only(
        "msprobe",
        "MindStudio msprobe API precision: limits on the cosine, and on the largest absolute error "
        "or the shares of large relative errors (the original divides by |expected| plus the "
        "dtype's epsilon)",
        Publication{"Ascend/msprobe", "8ff00da37660",
                    "python/msprobe/pytorch/api_accuracy_checker/compare/compare.py", "2026-08-08"},
        kMsprobe),
    limits_only(
        "msprobe_compare",
        "MindStudio msprobe compare: cosine >= 0.9 and largest absolute error <= 1, and also "
        "cosine >= 0.99 or largest absolute error <= 1e-3; in the original, an output of zeros "
        "passes if the largest error is at most 1, and so does an output without finite values",
        Publication{"Ascend/msprobe", "8ff00da37660",
                    "python/msprobe/core/compare/multiprocessing_compute.py", "2026-08-08"},
        kMsprobeCompare, true),
    limits_only(
        "msprobe_ulp",
        "MindStudio msprobe API precision: limits on the shares of elements that are wrong by many "
        "ulp (the original also limits their ratio to a GPU's)",
        Publication{
            "Ascend/msprobe", "8ff00da37660",
            "python/msprobe/pytorch/api_accuracy_checker/compare/precision_standard/ulp_compare.py",
            "2026-08-08"},
        kMsprobeUlp),
    limits_only("mlu_ops", "Cambricon MLU-OPS acceptance: limits on its metrics diff1 and diff2",
                kMluOpsPublished, kMluOps),
    limits_only(
        "mlu_ops_convolution",
        "Cambricon MLU-OPS acceptance of convolutions: limits on its metrics diff1 and diff2",
        kMluOpsPublished, kMluConvolution),
    {.name = "mlu_ops_exact",
     .source = "Cambricon MLU-OPS acceptance of arithmetic and moves: equality",
     .publication = kMluOpsPublished,
     .round_expected = true,
     .rows = kMluExact},
    mixed_rule("ttk_mixed@2026-07",
               "TTK --compare mixed: 1 % of the elements may lie outside their tolerance, but not "
               "with a NaN or infinity on only one side; the largest error has a limit; assay "
               "computes in float64, and TTK in float32",
               kTtkMixed202607Published, kTtkMixed, kTtkMostLimits),
    mixed_rule("ttk_mixed_hf32@2026-07",
               "the rule of ttk_mixed@2026-07 for float32 computed in HF32",
               kTtkMixed202607Published, kMixedHf32, kTtkMostHf32),
    mixed_rule("ttk_mixed@2026-09",
               "TTK --compare mixed: 1 % of the elements may lie outside their tolerance; the "
               "largest error must be at most its limit, or at most 32 ulp of the expected value; "
               "the tolerances are those of ttk_mixed@2026-07, but float8 has smaller limits; this "
               "follows TTK's page, because its code was not read",
               kTtkMixed202609Published, kTtkMixed, kTtkLimits),
    mixed_rule("ttk_mixed_hf32@2026-09",
               "the rule of ttk_mixed@2026-09 for float32 computed in HF32",
               kTtkMixed202609Published, kMixedHf32, kMixedLimitsHf32),
    limits_only("ttk_stat_rel_err",
                "TTK --compare stat_rel_err: MERE < T and MARE < 10 T, with a T for each dtype",
                ttk("ttk/core_modules/comparison/stat_rel_err.py"), kTtkStatRelErr, true),
    {.name = "ttk_close",
     .source = "TTK --compare close: a share of the elements may be mismatches, but not with a NaN "
               "or infinity on only one side (TTK itself allows such elements)",
     .publication = ttk("ttk/core_modules/comparison/is_close.py"),
     .nan_equal = true,
     .rows = kTtkClose},
    limits_only("ttk_cosine",
                "TTK --compare cosine: 1 - cosine <= 0.01 for the finite elements (in TTK, NaN and "
                "infinity on both sides fail)",
                ttk("ttk/core_modules/comparison/cosine_similarity.py"), kTtkCosine, true),
    {.name = "ttk_binary",
     .source = "TTK --compare binary: the same bytes, or NaN on both sides",
     .publication = ttk("ttk/core_modules/comparison/binary_equal.py"),
     .round_expected = true,
     .nan_equal = true,
     .rows = kTtkBinary,
     .rule = Rule::kBits},
    {.name = "ttk_requant",
     .source =
         "TTK --compare requant: 0.1 % of the elements may be more than one code apart; an element "
         "with a NaN or infinity on only one side is not allowed; TTK itself allows such elements, "
         "and it subtracts codes as int8, which wraps, so that distant codes of opposite sign pass",
     .publication = ttk("ttk/core_modules/comparison/re_quantize.py"),
     .round_expected = true,
     .nan_equal = true,
     .rows = kTtkRequant},
    {.name = "ttk_quant",
     .source = "TTK --compare quant: codes of int8 and int4 may be at most 1 apart",
     .publication = ttk("ttk/core_modules/comparison/quant.py"),
     .rows = kTtkQuant},
    limits_only("ttk_cross_check_l0",
                "TTK --compare cross_check, level L0: limits on the output's errors over those of "
                "a third party; the ratios are of the elements that are at least the small value, "
                "and their denominator is at least that value; for smaller elements, the errors "
                "are counted; assay computes in float64",
                kTtkCrossCheckL0Published, kTtkCross0, true),
    limits_only("ttk_cross_check_l1",
                "TTK --compare cross_check, level L1 (TTK's default): the rule of "
                "ttk_cross_check_l0 with other limits",
                kTtkCrossCheckL0Published, kTtkCross1, true),
    limits_only(
        "ttk_cross_check_l2",
        "TTK --compare cross_check, level L2: the rule of ttk_cross_check_l0 with other limits",
        kTtkCrossCheckL0Published, kTtkCross2, true),
    {.name = "verify_result",
     .source =
         "verify_result.py of CANN's sample projects (float32; others have other numbers): "
         "numpy.isclose(rtol 1e-6, atol 1e-9), NaN equal; a share of 1e-4 of the elements may be "
         "mismatches, but not with a NaN or infinity on only one side; assay computes in float64",
     .publication = {"cann/asc-devkit", "82b89a15f263",
                     "examples/01_simd_cpp_api/00_introduction/02_matrix/matmul_basic_api/scripts/"
                     "verify_result.py",
                     "2026-07-30"},
     .nan_equal = true,
     .rows = kVerifyResult},
};

}  // namespace

std::span<const Standard> ascend_standards() { return kAscendStandards; }

const Limit* small_value_limit(const Format& output) {
  const LimitRow* row = find_row(kCannSmall, output.name, &LimitRow::dtype);
  return row != nullptr ? &row->limit : nullptr;
}

}  // namespace assay
