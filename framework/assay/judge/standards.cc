// The tables of standards: one row each. docs/judging.md has the same as a table.
#include "assay/judge/standards.h"

#include <array>
#include <cstddef>

namespace assay {
namespace {

using S = Statistic;

constexpr ToleranceRow kTritonAscend[] = {{.dtype = "float16", .rtol = 1e-3, .atol = 1e-3},
                                          {.dtype = "bfloat16", .rtol = 5e-3, .atol = 5e-3},
                                          {.dtype = "float32", .rtol = 1e-5, .atol = 1e-5}};
constexpr ToleranceRow kTorch[] = {{.dtype = "float16", .rtol = 1e-3, .atol = 1e-5},
                                   {.dtype = "bfloat16", .rtol = 1.6e-2, .atol = 1e-5},
                                   {.dtype = "float32", .rtol = 1.3e-6, .atol = 1e-5},
                                   {.dtype = "float64", .rtol = 1e-7, .atol = 1e-7},
                                   {.dtype = "float8_e4m3fn", .rtol = 0, .atol = 0},
                                   {.dtype = "float8_e5m2", .rtol = 0, .atol = 0},
                                   {.dtype = "float8_e4m3fnuz", .rtol = 0, .atol = 0},
                                   {.dtype = "float8_e5m2fnuz", .rtol = 0, .atol = 0},
                                   {.dtype = "float8_e8m0fnu", .rtol = 0, .atol = 0},
                                   {.dtype = "float4_e2m1fn", .rtol = 0, .atol = 0},
                                   {.dtype = "complex32", .rtol = 1e-3, .atol = 1e-5},
                                   {.dtype = "complex64", .rtol = 1.3e-6, .atol = 1e-5},
                                   {.dtype = "complex128", .rtol = 1e-7, .atol = 1e-7}};
constexpr ToleranceRow kNumpy[] = {{.dtype = "*", .rtol = 1e-7, .atol = 0},
                                   {.dtype = "complex64", .rtol = 1e-7, .atol = 0},
                                   {.dtype = "complex128", .rtol = 1e-7, .atol = 0}};
constexpr ToleranceRow kNumpyAllclose[] = {{.dtype = "*", .rtol = 1e-5, .atol = 1e-8},
                                           {.dtype = "complex64", .rtol = 1e-5, .atol = 1e-8},
                                           {.dtype = "complex128", .rtol = 1e-5, .atol = 1e-8}};
constexpr ToleranceRow kTensorflow[] = {{.dtype = "float16", .rtol = 1e-3, .atol = 1e-3},
                                        {.dtype = "bfloat16", .rtol = 1e-2, .atol = 1e-2},
                                        {.dtype = "float32", .rtol = 1e-6, .atol = 1e-6}};
constexpr ToleranceRow kTransformerEngine[] = {
    {.dtype = "float16", .rtol = 1e-3, .atol = 1e-5},
    {.dtype = "bfloat16", .rtol = 1.6e-2, .atol = 1e-5},
    {.dtype = "float32", .rtol = 1.3e-6, .atol = 1e-5},
    {.dtype = "float8_e4m3fn", .rtol = 0.125, .atol = 0.0675},
    {.dtype = "float8_e5m2", .rtol = 0.25, .atol = 0.125}};

// MERE below T and MARE below 10 T.
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

constexpr LimitRow kCannSmall[] = {
    {.dtype = "float16",
     .limit = {.statistic = S::kSmallErrors, .limit = 2, .parameter = 0x1p-11, .second = 0x1p-16}},
    {.dtype = "bfloat16",
     .limit = {.statistic = S::kSmallErrors, .limit = 2, .parameter = 0x1p-8, .second = 0x1p-16}},
    {.dtype = "float32",
     .limit = {.statistic = S::kSmallErrors, .limit = 2, .parameter = 0x1p-14, .second = 0x1p-30}},
    {.dtype = "hfloat32",
     .limit = {.statistic = S::kSmallErrors, .limit = 2, .parameter = 0x1p-12, .second = 0x1p-28}},
    {.dtype = "float8_e4m3fn",
     .limit = {.statistic = S::kSmallErrors, .limit = 2, .parameter = 0x1p-4, .second = 0x1p-6}},
    {.dtype = "float8_e5m2",
     .limit = {.statistic = S::kSmallErrors, .limit = 2, .parameter = 0x1p-3, .second = 0x1p-5}}};
constexpr LimitRow kCannSmallHf32[] = {
    {.dtype = "float32",
     .limit = {.statistic = S::kSmallErrors, .limit = 2, .parameter = 0x1p-12, .second = 0x1p-28}}};

constexpr LimitRow kCannL0[] = {{.dtype = "*", .limit = {.statistic = S::kMareRatio, .limit = 10}},
                                {.dtype = "*", .limit = {.statistic = S::kMereRatio, .limit = 2}},
                                {.dtype = "*", .limit = {.statistic = S::kRmseRatio, .limit = 2}}};
constexpr LimitRow kCannL1[] = {
    {.dtype = "*", .limit = {.statistic = S::kMareRatio, .limit = 5}},
    {.dtype = "*", .limit = {.statistic = S::kMereRatio, .limit = 1.5}},
    {.dtype = "*", .limit = {.statistic = S::kRmseRatio, .limit = 1.5}}};
constexpr LimitRow kCannL2[] = {
    {.dtype = "*", .limit = {.statistic = S::kMareRatio, .limit = 2}},
    {.dtype = "*", .limit = {.statistic = S::kMereRatio, .limit = 1.2}},
    {.dtype = "*", .limit = {.statistic = S::kRmseRatio, .limit = 1.2}}};

constexpr ToleranceRow kAtb[] = {{.dtype = "float16", .rtol = 0x1p-8, .atol = 0, .floor = 1},
                                 {.dtype = "bfloat16", .rtol = 0x1p-7, .atol = 0, .floor = 1},
                                 {.dtype = "float32", .rtol = 0x1p-11, .atol = 0, .floor = 1}};
constexpr ToleranceRow kAtbHigh[] = {{.dtype = "float16", .rtol = 0x1p-11, .atol = 0, .floor = 1},
                                     {.dtype = "bfloat16", .rtol = 0x1p-8, .atol = 0, .floor = 1},
                                     {.dtype = "float32", .rtol = 0x1p-14, .atol = 0, .floor = 1}};
constexpr LimitRow kAtbBalance[] = {
    {.dtype = "float16", .limit = {.statistic = S::kErrorBalance, .limit = 0x1p-10}},
    {.dtype = "bfloat16", .limit = {.statistic = S::kErrorBalance, .limit = 0x1p-7}},
    {.dtype = "float32", .limit = {.statistic = S::kErrorBalance, .limit = 0x1p-14}}};
constexpr ToleranceRow kCatlass[] = {
    {.dtype = "float16", .rtol = 1.0 / 256, .atol = 0, .floor = 1},
    {.dtype = "bfloat16", .rtol = 1.0 / 128, .atol = 0, .floor = 1.0 / 256},
    {.dtype = "float32", .rtol = 1.0 / 256, .atol = 0, .floor = 1}};

constexpr LimitRow kMsprobe[] = {
    {.dtype = "float16", .limit = {.statistic = S::kCosine, .limit = 0.99}},
    {.dtype = "float16", .limit = {.statistic = S::kMaxAbs, .limit = 1e-3, .group = 1}},
    {.dtype = "float16",
     .limit = {.statistic = S::kShareRelative, .limit = 1e-3, .parameter = 1e-3, .group = 1}},
    {.dtype = "bfloat16", .limit = {.statistic = S::kCosine, .limit = 0.99}},
    {.dtype = "bfloat16", .limit = {.statistic = S::kMaxAbs, .limit = 1e-3, .group = 1}},
    {.dtype = "bfloat16",
     .limit = {.statistic = S::kShareRelative, .limit = 1e-3, .parameter = 1e-3, .group = 1}},
    {.dtype = "float32",
     .limit = {.statistic = S::kShareRelative, .limit = 1e-3, .parameter = 1e-4}}};
constexpr LimitRow kMsprobeUlp[] = {
    {.dtype = "float16", .limit = {.statistic = S::kShareUlps, .limit = 1e-3, .parameter = 1}},
    {.dtype = "bfloat16", .limit = {.statistic = S::kShareUlps, .limit = 1e-3, .parameter = 1}},
    {.dtype = "float32", .limit = {.statistic = S::kMeanUlps, .limit = 64, .group = 1}},
    {.dtype = "float32",
     .limit = {.statistic = S::kShareUlps, .limit = 0.05, .parameter = 32, .group = 1}}};

constexpr LimitRow kMluOps[] = {
    {.dtype = "float16", .limit = {.statistic = S::kDiff1, .limit = 3e-3}},
    {.dtype = "float16", .limit = {.statistic = S::kDiff2, .limit = 3e-3}},
    {.dtype = "float32", .limit = {.statistic = S::kDiff1, .limit = 3e-3}},
    {.dtype = "float32", .limit = {.statistic = S::kDiff2, .limit = 3e-3}}};
constexpr LimitRow kMluConvolution[] = {
    {.dtype = "float16", .limit = {.statistic = S::kDiff1, .limit = 3e-3}},
    {.dtype = "float16", .limit = {.statistic = S::kDiff2, .limit = 3e-3}},
    {.dtype = "float32", .limit = {.statistic = S::kDiff1, .limit = 1e-5}},
    {.dtype = "float32", .limit = {.statistic = S::kDiff2, .limit = 1e-5}}};
constexpr ToleranceRow kMluExact[] = {{.dtype = "*", .rtol = 0, .atol = 0}};

// Relative where |expected| >= 1e-5, else absolute, by the same number.
constexpr ToleranceRow kOnednn[] = {
    {.dtype = "*", .rtol = 1, .atol = 0, .small_value = 1e-5, .small_atol = 1, .in_epsilon = true}};
constexpr ToleranceRow kOnednnEltwise[] = {
    {.dtype = "float32", .rtol = 4e-6, .atol = 0, .small_value = 1e-5, .small_atol = 4e-6},
    {.dtype = "*", .rtol = 1, .atol = 0, .small_value = 1e-5, .small_atol = 1, .in_epsilon = true}};
constexpr ToleranceRow kCutlass[] = {
    {.dtype = "*", .rtol = 1, .atol = 0, .floor = 1e-4, .in_epsilon = true}};
constexpr ToleranceRow kRocblasSum[] = {{.dtype = "float16", .rtol = 0, .atol = 1.0 / 900},
                                        {.dtype = "bfloat16", .rtol = 0, .atol = 1.0 / 100},
                                        {.dtype = "float32", .rtol = 0, .atol = 0x1p-23}};
constexpr LimitRow kDeepgemm[] = {
    {.dtype = "float8_e4m3fn", .limit = {.statistic = S::kCalcDiff, .limit = 1e-3}},
    {.dtype = "float8_e5m2", .limit = {.statistic = S::kCalcDiff, .limit = 1e-3}},
    {.dtype = "bfloat16", .limit = {.statistic = S::kCalcDiff, .limit = 1e-3}},
    {.dtype = "float32", .limit = {.statistic = S::kCalcDiff, .limit = 1e-3}}};

// TTK's `mixed`: of the elements 1 percent may lie outside, and the largest error is at most the
// limit, or 32 ulp of what is expected there. Its dtypes without floats of their own are codes.
constexpr ToleranceRow mixed(std::string_view dtype, double rtol, double atol) {
  return {.dtype = dtype, .rtol = rtol, .atol = atol, .share = 0.01};
}
constexpr ToleranceRow requant(std::string_view dtype) {
  return {.dtype = dtype, .share = 1e-3, .ulps = 1, .rule = Rule::kUlps};
}
constexpr ToleranceRow codes(std::string_view dtype) {
  return {.dtype = dtype, .rule = Rule::kBits};
}
constexpr ToleranceRow kTtkMixed[] = {mixed("float16", 0x1p-9, 0x1p-9),
                                      mixed("bfloat16", 0x1p-6, 0x1p-6),
                                      mixed("float8_e4m3fn", 0x1p-2, 0x1p-4),
                                      mixed("float8_e5m2", 0x1p-1, 0x1p-3),
                                      mixed("hfloat32", 0x1p-9, 0x1p-10),
                                      requant("hifloat8"),
                                      codes("float4_e2m1fn"),
                                      codes("float4_e1m2fn"),
                                      codes("float8_e8m0fnu"),
                                      mixed("float32", 0x1p-10, 0x1p-16),
                                      mixed("float64", 0x1p-10, 0x1p-16)};
constexpr ToleranceRow kTtkMixedHf32[] = {mixed("float32", 0x1p-9, 0x1p-10)};
// At most `most`, where the metric's own sense is below: the next number.
constexpr LimitRow max_abs(std::string_view dtype, double next_above) {
  return {.dtype = dtype, .limit = {.statistic = S::kMaxAbs, .limit = next_above, .group = 1}};
}
constexpr LimitRow max_abs_ulp(std::string_view dtype) {
  return {.dtype = dtype, .limit = {.statistic = S::kMaxAbsUlps, .limit = 32, .group = 1}};
}
constexpr double kTenth = 0x1.999999999999bp-4, kOne = 0x1.0000000000001p+0,
                 kHundredth = 0x1.47ae147ae147cp-7;
constexpr LimitRow kTtkLimits[] = {
    max_abs("float16", kTenth),     max_abs_ulp("float16"),         max_abs("bfloat16", kOne),
    max_abs_ulp("bfloat16"),        max_abs("float32", kHundredth), max_abs_ulp("float32"),
    max_abs("float64", kHundredth), max_abs_ulp("float64"),         max_abs("hfloat32", kTenth),
    max_abs_ulp("hfloat32"),        max_abs("float8_e4m3fn", kOne), max_abs_ulp("float8_e4m3fn"),
    max_abs("float8_e5m2", kTenth), max_abs_ulp("float8_e5m2"),
};
constexpr LimitRow kTtkLimitsHf32[] = {max_abs("float32", kTenth), max_abs_ulp("float32")};
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
// Above the number before 0.99: at 0.99 it passes.
constexpr LimitRow kTtkCosine[] = {
    {.dtype = "*", .limit = {.statistic = S::kCosine, .limit = 0x1.fae147ae147adp-1}}};
constexpr ToleranceRow kTtkBinary[] = {{.dtype = "*"}};
constexpr ToleranceRow kTtkRequant[] = {requant("hifloat8"), requant("float8_e4m3fn"),
                                        requant("float8_e5m2")};
constexpr ToleranceRow kTtkQuant[] = {{.dtype = "int8", .atol = 1}, {.dtype = "int4", .atol = 1}};

// TTK's `cross_check`: of the elements whose size is at least the small value the errors' ratios to
// a third party's, of the others the number of errors.
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

// The isclose of Ascend's sample projects, and the share of elements that may miss it.
constexpr ToleranceRow kVerifyResult[] = {
    {.dtype = "*", .rtol = 1e-6, .atol = 1e-9, .share = 1e-4}};

constexpr Standard kStandards[] = {
    {.name = "triton_ascend",
     .source = "Triton-Ascend test suite, validate_cmp: rtol = atol by dtype, NaN equal",
     .round_expected = true,
     .nan_equal = true,
     .rows = kTritonAscend},
    {.name = "torch",
     .source = "torch.testing.assert_close, default tolerances by dtype",
     .round_expected = true,
     .rows = kTorch},
    {.name = "numpy",
     .source = "numpy.testing.assert_allclose, defaults",
     .round_expected = true,
     .nan_equal = true,
     .rows = kNumpy},
    {.name = "numpy_allclose",
     .source = "numpy.allclose, defaults",
     .round_expected = true,
     .rows = kNumpyAllclose},
    {.name = "tensorflow",
     .source = "TensorFlow test_util assertAllCloseAccordingToType, defaults",
     .round_expected = true,
     .rows = kTensorflow},
    {.name = "transformer_engine",
     .source = "Transformer Engine tests, dtype_tols",
     .round_expected = true,
     .rows = kTransformerEngine},
    {.name = "cann_ecosystem",
     .source = "CANN ecosystem operator precision standard: MERE < T, MARE < 10 T",
     .rule = Rule::kStatistics,
     .limits = kCannEcosystem},
    {.name = "cann_ecosystem_hf32",
     .source = "the same for float32 computed in HF32",
     .rule = Rule::kStatistics,
     .limits = kCannEcosystemHf32},
    {.name = "cann_small_values",
     .source = "CANN operator precision standard, small values: errors counted, at most twice a "
               "benchmark's",
     .rule = Rule::kStatistics,
     .limits = kCannSmall},
    {.name = "cann_small_values_hf32",
     .source = "the same for float32 computed in HF32",
     .rule = Rule::kStatistics,
     .limits = kCannSmallHf32},
    {.name = "cann_l0",
     .source = "CANN operator precision standard, dual benchmark, level 0",
     .rule = Rule::kStatistics,
     .limits = kCannL0},
    {.name = "cann_l1",
     .source = "CANN operator precision standard, dual benchmark, level 1",
     .rule = Rule::kStatistics,
     .limits = kCannL1},
    {.name = "cann_l2",
     .source = "CANN operator precision standard, dual benchmark, level 2",
     .rule = Rule::kStatistics,
     .limits = kCannL2},
    {.name = "atb",
     .source = "Ascend Transformer Boost tests: |d| <= rtol max(1, |e|), and error balance",
     .rows = kAtb,
     .rule = Rule::kLargest,
     .limits = kAtbBalance,
     .growth = Growth::kAtb},
    {.name = "atb_high_precision",
     .source = "the same, high precision",
     .rows = kAtbHigh,
     .rule = Rule::kLargest,
     .limits = kAtbBalance,
     .growth = Growth::kAtb},
    {.name = "catlass",
     .source = "CATLASS examples, golden CompareData: |d| <= rtol max(1, |e|)",
     .rows = kCatlass,
     .rule = Rule::kLargest,
     .growth = Growth::kTwiceFrom2048},
    {.name = "msprobe",
     .source = "MindStudio msprobe API precision: cosine, then max abs or relative share",
     .rule = Rule::kStatistics,
     .limits = kMsprobe},
    {.name = "msprobe_ulp",
     .source = "MindStudio msprobe API precision: ulp shares",
     .rule = Rule::kStatistics,
     .limits = kMsprobeUlp},
    {.name = "mlu_ops",
     .source = "Cambricon MLU-OPS acceptance: diff1 and diff2",
     .rule = Rule::kStatistics,
     .limits = kMluOps},
    {.name = "mlu_ops_convolution",
     .source = "the same for convolutions",
     .rule = Rule::kStatistics,
     .limits = kMluConvolution},
    {.name = "mlu_ops_exact",
     .source = "the same for arithmetic and moves: equality",
     .round_expected = true,
     .rows = kMluExact},
    {.name = "onednn",
     .source = "oneDNN benchdnn: eps of the dtype, relative from 1e-5 on, else absolute",
     .round_expected = true,
     .rows = kOnednn},
    {.name = "onednn_eltwise",
     .source = "oneDNN benchdnn, eltwise driver",
     .round_expected = true,
     .rows = kOnednnEltwise},
    {.name = "cutlass",
     .source = "CUTLASS relatively_equal: |a - b| < eps (|a| + |b|), floor 1e-4",
     .rows = kCutlass,
     .rule = Rule::kSymmetric},
    {.name = "rocblas_sum",
     .source = "rocBLAS near checks: sum_error_tolerance times the number of accumulations",
     .rows = kRocblasSum,
     .rule = Rule::kTolerance,
     .growth = Growth::kLinear},
    {.name = "deepgemm",
     .source = "DeepGEMM calc_diff: 1 - 2 sum xy / sum (x^2 + y^2)",
     .rule = Rule::kStatistics,
     .limits = kDeepgemm},
    {.name = "ttk_mixed",
     .source =
         "TTK --compare mixed (hicann/ops-test-kit@367509326971, "
         "ttk/core_modules/comparison/mix_tolerance.py, docs/Precision_Comparison.md): 1 % of "
         "the elements may lie outside, a NaN or infinity of one side none; computed in "
         "float64 (there: in float32)",
     .nan_equal = true,
     .rows = kTtkMixed,
     .limits = kTtkLimits},
    {.name = "ttk_mixed_hf32",
     .source = "the same for float32 computed in HF32",
     .nan_equal = true,
     .rows = kTtkMixedHf32,
     .limits = kTtkLimitsHf32},
    {.name = "ttk_stat_rel_err",
     .source = "TTK --compare stat_rel_err (@202675b6ad04, stat_rel_err.py): MERE < T, MARE < 10 T",
     .nan_equal = true,
     .rule = Rule::kStatistics,
     .limits = kTtkStatRelErr},
    {.name = "ttk_close",
     .source =
         "TTK --compare close (@202675b6ad04, is_close.py): a share of the elements may miss, "
         "a NaN or infinity of one side not (there it may)",
     .nan_equal = true,
     .rows = kTtkClose},
    {.name = "ttk_cosine",
     .source = "TTK --compare cosine (@202675b6ad04, cosine_similarity.py): 1 - cosine <= 0.01 of "
               "the finite elements (there NaN and infinity on both sides fail)",
     .nan_equal = true,
     .rule = Rule::kStatistics,
     .limits = kTtkCosine},
    {.name = "ttk_binary",
     .source = "TTK --compare binary (@202675b6ad04, binary_equal.py): the same bytes, or NaN at "
               "one place",
     .round_expected = true,
     .nan_equal = true,
     .rows = kTtkBinary,
     .rule = Rule::kBits},
    {.name = "ttk_requant",
     .source =
         "TTK --compare requant (@202675b6ad04, re_quantize.py): 0.1 % of the elements may be "
         "more than one code apart (there codes are subtracted as int8, which wraps: far ones "
         "of two signs pass), a NaN or infinity of one side not (there it may)",
     .round_expected = true,
     .nan_equal = true,
     .rows = kTtkRequant},
    {.name = "ttk_quant",
     .source = "TTK --compare quant (@202675b6ad04, quant.py): int8 and int4 at most 1 apart",
     .rows = kTtkQuant},
    {.name = "ttk_cross_check_l0",
     .source = "TTK --compare cross_check, level L0 (@1d360ca62a59, cross_check.py): ratios to a "
               "third party's errors, over elements from the small value on with a denominator of "
               "at least that value, and the errors counted below it; computed in float64",
     .nan_equal = true,
     .rule = Rule::kStatistics,
     .limits = kTtkCross0},
    {.name = "ttk_cross_check_l1",
     .source = "the same, level L1, TTK's default",
     .nan_equal = true,
     .rule = Rule::kStatistics,
     .limits = kTtkCross1},
    {.name = "ttk_cross_check_l2",
     .source = "the same, level L2",
     .nan_equal = true,
     .rule = Rule::kStatistics,
     .limits = kTtkCross2},
    {.name = "verify_result",
     .source = "verify_result.py of Ascend's sample projects: numpy.isclose(rtol 1e-6, atol 1e-9), "
               "NaN equal, and a share of 1e-4 may miss; in float64, a NaN or infinity of one "
               "side not",
     .nan_equal = true,
     .rows = kVerifyResult},
};

}  // namespace

std::span<const Standard> standards() { return kStandards; }

const Limit* small_value_limit(const Format& output) {
  for (const LimitRow& row : kCannSmall) {
    if (row.dtype == output.name) return &row.limit;
  }
  return nullptr;
}

}  // namespace assay
