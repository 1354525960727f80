// The tables of standards: one row each. docs/judging.md has the same as a table.
#include "assay/judge/bound.h"

namespace assay {
namespace {

using S = Statistic;

constexpr ToleranceRow kTritonAscend[] = {
    {"float16", 1e-3, 1e-3}, {"bfloat16", 5e-3, 5e-3}, {"float32", 1e-5, 1e-5}};
constexpr ToleranceRow kTorch[] = {{"float16", 1e-3, 1e-5},   {"bfloat16", 1.6e-2, 1e-5},
                                   {"float32", 1.3e-6, 1e-5}, {"float64", 1e-7, 1e-7},
                                   {"float8_e4m3fn", 0, 0},   {"float8_e5m2", 0, 0},
                                   {"float8_e4m3fnuz", 0, 0}, {"float8_e5m2fnuz", 0, 0},
                                   {"float8_e8m0fnu", 0, 0},  {"float4_e2m1fn", 0, 0}};
constexpr ToleranceRow kNumpy[] = {{"*", 1e-7, 0}};
constexpr ToleranceRow kNumpyAllclose[] = {{"*", 1e-5, 1e-8}};
constexpr ToleranceRow kTensorflow[] = {
    {"float16", 1e-3, 1e-3}, {"bfloat16", 1e-2, 1e-2}, {"float32", 1e-6, 1e-6}};
constexpr ToleranceRow kTransformerEngine[] = {{"float16", 1e-3, 1e-5},
                                               {"bfloat16", 1.6e-2, 1e-5},
                                               {"float32", 1.3e-6, 1e-5},
                                               {"float8_e4m3fn", 0.125, 0.0675},
                                               {"float8_e5m2", 0.25, 0.125}};

// MERE below T and MARE below 10 T.
#define ASSAY_MERE_MARE(dtype, t) \
  {dtype, {S::kMere, t}}, {       \
    dtype, { S::kMare, 10 * (t) } \
  }
constexpr LimitRow kCannEcosystem[] = {
    ASSAY_MERE_MARE("float16", 0x1p-10),      ASSAY_MERE_MARE("bfloat16", 0x1p-7),
    ASSAY_MERE_MARE("float32", 0x1p-13),      ASSAY_MERE_MARE("hfloat32", 0x1p-11),
    ASSAY_MERE_MARE("float8_e4m3fn", 0x1p-3), ASSAY_MERE_MARE("float8_e5m2", 0x1p-2)};
constexpr LimitRow kCannEcosystemHf32[] = {ASSAY_MERE_MARE("float32", 0x1p-11)};
#undef ASSAY_MERE_MARE

constexpr LimitRow kCannSmall[] = {{"float16", {S::kSmallErrors, 2, 0x1p-11, 0x1p-16}},
                                   {"bfloat16", {S::kSmallErrors, 2, 0x1p-8, 0x1p-16}},
                                   {"float32", {S::kSmallErrors, 2, 0x1p-14, 0x1p-30}},
                                   {"hfloat32", {S::kSmallErrors, 2, 0x1p-12, 0x1p-28}},
                                   {"float8_e4m3fn", {S::kSmallErrors, 2, 0x1p-4, 0x1p-6}},
                                   {"float8_e5m2", {S::kSmallErrors, 2, 0x1p-3, 0x1p-5}}};
constexpr LimitRow kCannSmallHf32[] = {{"float32", {S::kSmallErrors, 2, 0x1p-12, 0x1p-28}}};

constexpr LimitRow kCannL0[] = {
    {"*", {S::kMareRatio, 10}}, {"*", {S::kMereRatio, 2}}, {"*", {S::kRmseRatio, 2}}};
constexpr LimitRow kCannL1[] = {
    {"*", {S::kMareRatio, 5}}, {"*", {S::kMereRatio, 1.5}}, {"*", {S::kRmseRatio, 1.5}}};
constexpr LimitRow kCannL2[] = {
    {"*", {S::kMareRatio, 2}}, {"*", {S::kMereRatio, 1.2}}, {"*", {S::kRmseRatio, 1.2}}};

constexpr ToleranceRow kAtb[] = {
    {"float16", 0x1p-8, 0, 1}, {"bfloat16", 0x1p-7, 0, 1}, {"float32", 0x1p-11, 0, 1}};
constexpr ToleranceRow kAtbHigh[] = {
    {"float16", 0x1p-11, 0, 1}, {"bfloat16", 0x1p-8, 0, 1}, {"float32", 0x1p-14, 0, 1}};
constexpr LimitRow kAtbBalance[] = {{"float16", {S::kErrorBalance, 0x1p-10}},
                                    {"bfloat16", {S::kErrorBalance, 0x1p-7}},
                                    {"float32", {S::kErrorBalance, 0x1p-14}}};
constexpr ToleranceRow kCatlass[] = {{"float16", 1.0 / 256, 0, 1},
                                     {"bfloat16", 1.0 / 128, 0, 1.0 / 256},
                                     {"float32", 1.0 / 256, 0, 1}};

constexpr LimitRow kMsprobe[] = {{"float16", {S::kCosine, 0.99}},
                                 {"float16", {S::kMaxAbs, 1e-3, 0, 0, 1}},
                                 {"float16", {S::kShareRelative, 1e-3, 1e-3, 0, 1}},
                                 {"bfloat16", {S::kCosine, 0.99}},
                                 {"bfloat16", {S::kMaxAbs, 1e-3, 0, 0, 1}},
                                 {"bfloat16", {S::kShareRelative, 1e-3, 1e-3, 0, 1}},
                                 {"float32", {S::kShareRelative, 1e-3, 1e-4}}};
constexpr LimitRow kMsprobeUlp[] = {{"float16", {S::kShareUlps, 1e-3, 1}},
                                    {"bfloat16", {S::kShareUlps, 1e-3, 1}},
                                    {"float32", {S::kMeanUlps, 64, 0, 0, 1}},
                                    {"float32", {S::kShareUlps, 0.05, 32, 0, 1}}};

constexpr LimitRow kMluOps[] = {{"float16", {S::kDiff1, 3e-3}},
                                {"float16", {S::kDiff2, 3e-3}},
                                {"float32", {S::kDiff1, 3e-3}},
                                {"float32", {S::kDiff2, 3e-3}}};
constexpr LimitRow kMluConvolution[] = {{"float16", {S::kDiff1, 3e-3}},
                                        {"float16", {S::kDiff2, 3e-3}},
                                        {"float32", {S::kDiff1, 1e-5}},
                                        {"float32", {S::kDiff2, 1e-5}}};
constexpr ToleranceRow kMluExact[] = {{"*", 0, 0}};

// Relative where |expected| >= 1e-5, else absolute, by the same number.
constexpr ToleranceRow kOnednn[] = {{"*", 1, 0, 0, 1e-5, 1, true}};
constexpr ToleranceRow kOnednnEltwise[] = {{"float32", 4e-6, 0, 0, 1e-5, 4e-6},
                                           {"*", 1, 0, 0, 1e-5, 1, true}};
constexpr ToleranceRow kCutlass[] = {{"*", 1, 0, 1e-4, 0, 0, true}};
constexpr ToleranceRow kRocblasSum[] = {
    {"float16", 0, 1.0 / 900}, {"bfloat16", 0, 1.0 / 100}, {"float32", 0, 0x1p-23}};
constexpr LimitRow kDeepgemm[] = {{"float8_e4m3fn", {S::kCalcDiff, 1e-3}},
                                  {"float8_e5m2", {S::kCalcDiff, 1e-3}},
                                  {"bfloat16", {S::kCalcDiff, 1e-3}},
                                  {"float32", {S::kCalcDiff, 1e-3}}};

constexpr Standard kStandards[] = {
    {"triton_ascend", "Triton-Ascend test suite, validate_cmp: rtol = atol by dtype, NaN equal",
     true, true, kTritonAscend},
    {"torch", "torch.testing.assert_close, default tolerances by dtype", true, false, kTorch},
    {"numpy", "numpy.testing.assert_allclose, defaults", true, true, kNumpy},
    {"numpy_allclose", "numpy.allclose, defaults", true, false, kNumpyAllclose},
    {"tensorflow", "TensorFlow test_util assertAllCloseAccordingToType, defaults", true, false,
     kTensorflow},
    {"transformer_engine", "Transformer Engine tests, dtype_tols", true, false, kTransformerEngine},
    {"cann_ecosystem",
     "CANN ecosystem operator precision standard: MERE < T, MARE < 10 T",
     false,
     false,
     {},
     Rule::kStatistics,
     kCannEcosystem},
    {"cann_ecosystem_hf32",
     "the same for float32 computed in HF32",
     false,
     false,
     {},
     Rule::kStatistics,
     kCannEcosystemHf32},
    {"cann_small_values",
     "CANN operator precision standard, small values: errors counted, at most twice a benchmark's",
     false,
     false,
     {},
     Rule::kStatistics,
     kCannSmall},
    {"cann_small_values_hf32",
     "the same for float32 computed in HF32",
     false,
     false,
     {},
     Rule::kStatistics,
     kCannSmallHf32},
    {"cann_l0",
     "CANN operator precision standard, dual benchmark, level 0",
     false,
     false,
     {},
     Rule::kStatistics,
     kCannL0},
    {"cann_l1",
     "CANN operator precision standard, dual benchmark, level 1",
     false,
     false,
     {},
     Rule::kStatistics,
     kCannL1},
    {"cann_l2",
     "CANN operator precision standard, dual benchmark, level 2",
     false,
     false,
     {},
     Rule::kStatistics,
     kCannL2},
    {"atb", "Ascend Transformer Boost tests: |d| <= rtol max(1, |e|), and error balance", false,
     false, kAtb, Rule::kLargest, kAtbBalance, Growth::kAtb},
    {"atb_high_precision", "the same, high precision", false, false, kAtbHigh, Rule::kLargest,
     kAtbBalance, Growth::kAtb},
    {"catlass",
     "CATLASS examples, golden CompareData: |d| <= rtol max(1, |e|)",
     false,
     false,
     kCatlass,
     Rule::kLargest,
     {},
     Growth::kTwiceFrom2048},
    {"msprobe",
     "MindStudio msprobe API precision: cosine, then max abs or relative share",
     false,
     false,
     {},
     Rule::kStatistics,
     kMsprobe},
    {"msprobe_ulp",
     "MindStudio msprobe API precision: ulp shares",
     false,
     false,
     {},
     Rule::kStatistics,
     kMsprobeUlp},
    {"mlu_ops",
     "Cambricon MLU-OPS acceptance: diff1 and diff2",
     false,
     false,
     {},
     Rule::kStatistics,
     kMluOps},
    {"mlu_ops_convolution",
     "the same for convolutions",
     false,
     false,
     {},
     Rule::kStatistics,
     kMluConvolution},
    {"mlu_ops_exact", "the same for arithmetic and moves: equality", true, false, kMluExact},
    {"onednn", "oneDNN benchdnn: eps of the dtype, relative from 1e-5 on, else absolute", true,
     false, kOnednn},
    {"onednn_eltwise", "oneDNN benchdnn, eltwise driver", true, false, kOnednnEltwise},
    {"cutlass", "CUTLASS relatively_equal: |a - b| < eps (|a| + |b|), floor 1e-4", false, false,
     kCutlass, Rule::kSymmetric},
    {"rocblas_sum",
     "rocBLAS near checks: sum_error_tolerance times the number of accumulations",
     false,
     false,
     kRocblasSum,
     Rule::kTolerance,
     {},
     Growth::kLinear},
    {"deepgemm",
     "DeepGEMM calc_diff: 1 - 2 sum xy / sum (x^2 + y^2)",
     false,
     false,
     {},
     Rule::kStatistics,
     kDeepgemm},
};

}  // namespace

std::span<const Standard> standards() { return kStandards; }

}  // namespace assay
