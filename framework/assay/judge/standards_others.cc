#include "assay/judge/standards_others.h"

#include <array>
#include <cstddef>

namespace assay {
namespace {

using S = Statistic;

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
                                        {.dtype = "*", .rtol = 1e-6, .atol = 1e-6},
                                        {.dtype = "complex64", .rtol = 1e-6, .atol = 1e-6}};
constexpr ToleranceRow kTransformerEngine[] = {
    {.dtype = "float16", .rtol = 1e-3, .atol = 1e-5},
    {.dtype = "bfloat16", .rtol = 1.6e-2, .atol = 1e-5},
    {.dtype = "float32", .rtol = 1.3e-6, .atol = 1e-5},
    {.dtype = "float8_e4m3fn", .rtol = 0.125, .atol = 0.0675},
    {.dtype = "float8_e5m2", .rtol = 0.25, .atol = 0.125},
    {.dtype = "float4_e2m1fn", .rtol = 0.25, .atol = 0.125},
    {.dtype = "float64", .rtol = 1e-7, .atol = 1e-7}};

// Relative if |expected| >= 1e-5 and absolute if not, with the same number.
constexpr ToleranceRow kOnednn[] = {
    {.dtype = "*", .rtol = 1, .atol = 0, .small_value = 1e-5, .small_atol = 1, .in_epsilon = true}};
constexpr ToleranceRow kOnednnEltwise[] = {
    {.dtype = "float32", .rtol = 4e-6, .atol = 0, .small_value = 1e-5, .small_atol = 4e-6},
    {.dtype = "*", .rtol = 1, .atol = 0, .small_value = 1e-5, .small_atol = 1, .in_epsilon = true}};
constexpr ToleranceRow kCutlass[] = {
    {.dtype = "*", .rtol = 1, .atol = 0, .floor = 1e-4, .in_epsilon = true}};
// The profiler's defaults.
constexpr ToleranceRow kCutlassProfiler[] = {{.dtype = "*", .rtol = 0.05, .floor = 1.0 / 256}};
constexpr ToleranceRow kRocblasSum[] = {
    {.dtype = "float16", .atol = 1.0 / 900},      {.dtype = "bfloat16", .atol = 1.0 / 100},
    {.dtype = "float32", .atol = 0x1p-23},        {.dtype = "float64", .atol = 0x1p-52},
    {.dtype = "float8_e4m3fn", .atol = 1.0 / 16}, {.dtype = "float8_e5m2", .atol = 1.0 / 8}};
// The limit depends on how the operands are quantised, not on the output's dtype.
constexpr std::array<LimitRow, 4> deepgemm(double limit) {
  const Limit below = {.statistic = S::kCalcDiff, .limit = limit};
  return {
      {{"float32", below}, {"bfloat16", below}, {"float8_e4m3fn", below}, {"float8_e5m2", below}}};
}
constexpr auto kDeepgemmBf16 = deepgemm(1e-5), kDeepgemmFp8 = deepgemm(1e-3),
               kDeepgemmFp8Fp4 = deepgemm(1e-2), kDeepgemmFp4 = deepgemm(2e-2);

constexpr ToleranceRow either(std::string_view dtype, double atol, double rtol,
                              std::uint64_t or_ulps) {
  return {.dtype = dtype, .rtol = rtol, .atol = atol, .or_ulps = or_ulps, .rule = Rule::kEither};
}
constexpr ToleranceRow kTransformerEngineCpp[] = {
    either("float32", 1e-6, 5e-6, 0), either("float16", 1e-5, 1e-3, 1),
    either("bfloat16", 1e-5, 1e-2, 1), either("float8_e4m3fn", 1e-2, 1e-2, 1),
    either("float8_e5m2", 1e-2, 1e-2, 1)};

constexpr LimitRow kFlashAttention[] = {
    {.dtype = "float16", .limit = {.statistic = S::kNoiseRatio, .limit = 1}},
    {.dtype = "bfloat16", .limit = {.statistic = S::kNoiseRatio, .limit = 1}}};

constexpr ToleranceRow kHipblaslt[] = {{.dtype = "float16", .atol = 1.0 / 100},
                                       {.dtype = "bfloat16", .atol = 1.0 / 10}};
constexpr LimitRow norm_below(std::string_view dtype, double limit) {
  return {dtype, {.statistic = S::kDiff2, .limit = limit, .sense = LimitSense::kBelow}};
}
constexpr LimitRow kHipblasltNorm[] = {
    norm_below("float32", 1e-5),        norm_below("float64", 1e-12),
    norm_below("float16", 0.01),        norm_below("bfloat16", 0.1),
    norm_below("float8_e4m3fn", 0.125), norm_below("float8_e5m2", 0.25)};

constexpr LimitRow kGgml[] = {{"*", {.statistic = S::kNmse, .limit = 1e-7}}};
constexpr LimitRow kGgmlMatmul[] = {{"*", {.statistic = S::kNmse, .limit = 5e-4}}};

// Its tolerances are float32 numbers.
constexpr ToleranceRow kIreeAbsolute[] = {{.dtype = "float16", .atol = static_cast<double>(1e-3F)},
                                          {.dtype = "bfloat16", .atol = static_cast<double>(1e-2F)},
                                          {.dtype = "float32", .atol = static_cast<double>(1e-4F)},
                                          {.dtype = "float64", .atol = 1e-4},
                                          {.dtype = "*", .rule = Rule::kBits}};
constexpr ToleranceRow kIree[] = {
    {.dtype = "float16", .rtol = 1e-5, .atol = static_cast<double>(1e-3F)},
    {.dtype = "bfloat16", .rtol = 1e-5, .atol = static_cast<double>(1e-2F)},
    {.dtype = "float32", .rtol = 1e-5, .atol = static_cast<double>(1e-4F)},
    {.dtype = "float64", .rtol = 1e-5, .atol = 1e-4},
    {.dtype = "*", .rule = Rule::kBits}};

// The same row for every dtype, including integers.
template <std::size_t kRows>
constexpr std::array<ToleranceRow, kRows> for_dtypes(
    const std::array<std::string_view, kRows>& dtypes, const ToleranceRow& row) {
  std::array<ToleranceRow, kRows> rows = {};
  for (std::size_t i = 0; i < kRows; ++i) {
    rows[i] = row;
    rows[i].dtype = dtypes[i];
  }
  return rows;
}
constexpr std::array<std::string_view, 9> kFloatsAndIntegers = {
    "*", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"};
constexpr auto kOnnx = for_dtypes(kFloatsAndIntegers, {.dtype = "*", .rtol = 1e-3, .atol = 1e-7});

constexpr ToleranceRow kXla[] = {
    either("*", static_cast<double>(1e-3F), static_cast<double>(1e-3F), 0)};

constexpr ToleranceRow both(std::string_view dtype, double tolerance) {
  return {.dtype = dtype, .rtol = tolerance, .atol = tolerance};
}
constexpr ToleranceRow kJax[] = {
    both("bfloat16", 1e-2),       both("float16", 1e-3),     both("float32", 1e-6),
    both("float64", 1e-15),       both("complex64", 1e-6),   both("complex128", 1e-15),
    both("float8_e4m3fn", 0.1),   both("float8_e5m2", 0.1),  both("float8_e4m3fnuz", 0.1),
    both("float8_e5m2fnuz", 0.1), both("float8_e8m0fnu", 1), both("float4_e2m1fn", 1)};

constexpr auto kTensorrt = for_dtypes(kFloatsAndIntegers, either("*", 1e-5, 1e-5, 0));
constexpr std::array<LimitRow, 2> absolute_or_relative(S absolute, S relative,
                                                       double quantile = 0) {
  const auto row = [&](S statistic) -> LimitRow {
    return {"*",
            {.statistic = statistic,
             .limit = 1e-5,
             .parameter = quantile,
             .group = 1,
             .sense = LimitSense::kAtMost}};
  };
  return {row(absolute), row(relative)};
}
constexpr auto kTensorrtMax = absolute_or_relative(S::kMaxAbs, S::kMaxRelative),
               kTensorrtMean = absolute_or_relative(S::kMeanAbs, S::kMeanRelative),
               kTensorrtMedian = absolute_or_relative(S::kQuantileAbs, S::kQuantileRelative, 0.5),
               kTensorrtQuantile =
                   absolute_or_relative(S::kQuantileAbs, S::kQuantileRelative, 0.99);

// Publications that several rows share.
constexpr Publication kDeepgemmPublished = {.repository = "deepseek-ai/DeepGEMM",
                                            .commit = "54e226124093",
                                            .path = "tests/generators.py",
                                            .date = "2026-06-23"};
constexpr Publication kGgmlNmsePublished = {.repository = "ggml-org/ggml",
                                            .commit = "5a232ab4e3cc",
                                            .path = "tests/test-backend-ops.cpp",
                                            .date = "2026-08-21"};
constexpr Publication kTensorrtPublished = {
    .repository = "NVIDIA/TensorRT",
    .commit = "9255eb39e664",
    .path = "tools/Polygraphy/polygraphy/comparator/compare.py",
    .date = "2025-05-21"};

constexpr Standard kOtherStandards[] = {
    {.name = "torch",
     .source = "torch.testing.assert_close, default tolerances by dtype",
     .publication = {.repository = "pytorch/pytorch",
                     .commit = "539f6ce3075a",
                     .path = "torch/testing/_comparison.py",
                     .date = "read 2026-11-22"},
     .round_expected = true,
     .rows = kTorch},
    {.name = "numpy",
     .source = "numpy.testing.assert_allclose, defaults",
     .publication = {.repository = "numpy/numpy",
                     .commit = "ec6b2b2626d0",
                     .path = "numpy/testing/_private/utils.py",
                     .date = "2026-07-17"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kNumpy},
    {.name = "numpy_allclose",
     .source = "numpy.allclose, defaults",
     .publication = {.repository = "numpy/numpy",
                     .commit = "a991ba1b4100",
                     .path = "numpy/_core/numeric.py",
                     .date = "2026-08-05"},
     .round_expected = true,
     .rows = kNumpyAllclose},
    {.name = "tensorflow",
     .source = "TensorFlow test_util assertAllCloseAccordingToType, defaults",
     .publication = {.repository = "tensorflow/tensorflow",
                     .commit = "45d3244d4364",
                     .path = "tensorflow/python/framework/test_util.py",
                     .date = "read 2026-11-22"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kTensorflow},
    {.name = "transformer_engine",
     .source = "Transformer Engine tests, dtype_tols (there against a float64 reference)",
     .publication = {.repository = "NVIDIA/TransformerEngine",
                     .commit = "c0f0bdb950a2",
                     .path = "tests/pytorch/utils.py",
                     .date = "2026-07-23"},
     .round_expected = true,
     .rows = kTransformerEngine},
    {.name = "onednn",
     .source =
         "oneDNN benchdnn, binary and reduction drivers: the dtype's eps bounds the relative error "
         "from 1e-5 on, and the absolute error below (matrix products are compared exactly there, "
         "on "
         "small integers)",
     .publication = {.repository = "uxlfoundation/oneDNN",
                     .commit = "511083d4a3bb",
                     .path = "tests/benchdnn/utils/compare.cpp",
                     .date = "2026-08-17"},
     .round_expected = true,
     .rows = kOnednn},
    {.name = "onednn_eltwise",
     .source = "oneDNN benchdnn, eltwise driver",
     .publication = {.repository = "uxlfoundation/oneDNN",
                     .commit = "e022c605065b",
                     .path = "tests/benchdnn/eltwise/eltwise.cpp",
                     .date = "2026-07-13"},
     .round_expected = true,
     .rows = kOnednnEltwise},
    {.name = "cutlass",
     .source =
         "CUTLASS relatively_equal: |a - b| < eps (|a| + |b|), floor 1e-4; eps is the dtype's "
         "epsilon (there the caller gives both)",
     .publication = {.repository = "NVIDIA/cutlass",
                     .commit = "0d2b201e8c1c",
                     .path = "include/cutlass/relatively_equal.h",
                     .date = "2026-01-08"},
     .rows = kCutlass,
     .rule = Rule::kSymmetric},
    {.name = "cutlass_profiler",
     .source = "the same with the profiler's numbers: 0.05, floor 1/256",
     .publication = {.repository = "NVIDIA/cutlass",
                     .commit = "0d2b201e8c1c",
                     .path = "tools/profiler/src/options.cu",
                     .date = "2026-01-08"},
     .round_expected = true,
     .rows = kCutlassProfiler,
     .rule = Rule::kSymmetric},
    {.name = "rocblas_sum",
     .source = "rocBLAS near checks: sum_error_tolerance times the number of accumulations",
     .publication = {.repository = "ROCm/rocBLAS",
                     .commit = "c7f5f23e820d",
                     .path = "clients/include/near.hpp",
                     .date = "2024-05-30"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kRocblasSum,
     .rule = Rule::kTolerance,
     .growth = Growth::kLinear},
    {.name = "deepgemm",
     .source =
         "DeepGEMM calc_diff: 1 - 2 sum xy / sum (x^2 + y^2), float8 operands; before 2026 for "
         "all operands",
     .publication = kDeepgemmPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kDeepgemmFp8},
    {.name = "deepgemm_bf16",
     .source = "the same, bfloat16 operands",
     .publication = kDeepgemmPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kDeepgemmBf16},
    {.name = "deepgemm_fp8_fp4",
     .source = "the same, one operand float8, the other float4",
     .publication = kDeepgemmPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kDeepgemmFp8Fp4},
    {.name = "deepgemm_fp4",
     .source = "the same, both operands float4",
     .publication = kDeepgemmPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kDeepgemmFp4},
    {.name = "transformer_engine_cpp",
     .source =
         "Transformer Engine's C++ tests, compareResults: an element fails if its absolute "
         "and its relative error both exceed their limits; except in float32, a neighbour of the "
         "expected value passes (there NaN on either side passes)",
     .publication = {.repository = "NVIDIA/TransformerEngine",
                     .commit = "f1d5f8d5222b",
                     .path = "tests/cpp/test_common.cu",
                     .date = "2026-07-24"},
     .round_expected = true,
     .rows = kTransformerEngineCpp},
    {.name = "flash_attention",
     .source =
         "FlashAttention's tests, forward: max |o - ref| <= 2 max |pt - ref| + 2 max |(ref + 0.3 "
         "- 0.3) - ref|; pt is the reference implementation, the same computation in the output's "
         "dtype (there o - ref and pt - ref are rounded to this dtype, too)",
     .publication = {.repository = "Dao-AILab/flash-attention",
                     .commit = "14c377950125",
                     .path = "hopper/test_flash_attn.py",
                     .date = "2026-07-27"},
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kFlashAttention},
    {.name = "hipblaslt",
     .source = "hipBLASLt's client, near check: a number by the output's dtype times the number of "
               "accumulations (there by the operands' dtype)",
     .publication = {.repository = "ROCm/hipBLASLt",
                     .commit = "567b226e9281",
                     .path = "clients/include/near.hpp",
                     .date = "2024-09-24"},
     .round_expected = true,
     .rows = kHipblaslt,
     .growth = Growth::kLinear},
    {.name = "hipblaslt_norm",
     .source = "hipBLASLt's client, norm check: the Frobenius norm of the error over that of the "
               "expected result",
     .publication = {.repository = "ROCm/hipBLASLt",
                     .commit = "567b226e9281",
                     .path = "clients/include/norm.hpp",
                     .date = "2024-09-24"},
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kHipblasltNorm},
    {.name = "ggml_nmse",
     .source =
         "test-backend-ops of ggml: sum of squared errors over that of the squared output (there "
         "a pair of equal infinities lets everything pass)",
     .publication = kGgmlNmsePublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kGgml},
    {.name = "ggml_nmse_matmul",
     .source = "the same for matrix products, convolutions and attention",
     .publication = kGgmlNmsePublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kGgmlMatmul},
    {.name = "iree@2026-04",
     .source = "iree-run-module --expected_output: absolute errors by dtype, and equal bits for "
               "all other "
               "dtypes (there NaN passes)",
     .publication = {.repository = "iree-org/iree",
                     .commit = "f895d3535d50",
                     .path = "runtime/src/iree/tooling/buffer_view_matchers.c",
                     .date = "2026-04-07"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kIreeAbsolute},
    {.name = "iree@2026-05",
     .source = "the same, with a relative part as well",
     .publication = {.repository = "iree-org/iree",
                     .commit = "f6e18720842e",
                     .path = "runtime/src/iree/tooling/buffer_view_matchers.c",
                     .date = "2026-05-08"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kIree},
    {.name = "onnx",
     .source =
         "ONNX backend tests: numpy.testing.assert_allclose(rtol 1e-3, atol 1e-7), integers too",
     .publication = {.repository = "onnx/onnx",
                     .commit = "a8f77b5b90fd",
                     .path = "onnx/backend/test/runner/__init__.py",
                     .date = "2026-08-04"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kOnnx},
    {.name = "xla",
     .source = "XLA run_hlo_module: absolute or relative error of at most 1e-3",
     .publication = {.repository = "tensorflow/tensorflow",
                     .commit = "06a37fb3a52a",
                     .path = "third_party/xla/xla/literal_comparison.cc",
                     .date = "read 2026-11-22"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kXla},
    {.name = "jax",
     .source =
         "JAX's test utilities, assertAllClose: rtol = atol by dtype (its gradient checks have "
         "other numbers, times the number of elements)",
     .publication = {.repository = "jax-ml/jax",
                     .commit = "a192b4348b25",
                     .path = "jax/_src/public_test_util.py",
                     .date = "2026-03-02"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kJax},
    {.name = "tensorrt",
     .source =
         "Polygraphy's CompareFunc.simple, elementwise: absolute or relative error of at most "
         "1e-5, integers too (there equal infinities fail)",
     .publication = kTensorrtPublished,
     .round_expected = true,
     .rows = kTensorrt},
    {.name = "tensorrt_max",
     .source = "the same, largest absolute or largest relative error",
     .publication = kTensorrtPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kTensorrtMax},
    {.name = "tensorrt_mean",
     .source = "the same, mean absolute or mean relative error",
     .publication = kTensorrtPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kTensorrtMean},
    {.name = "tensorrt_median",
     .source = "the same, medians",
     .publication = kTensorrtPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kTensorrtMedian},
    {.name = "tensorrt_quantile",
     .source = "the same, quantiles 0.99",
     .publication = kTensorrtPublished,
     .round_expected = true,
     .rule = Rule::kStatistics,
     .limits = kTensorrtQuantile},
};

}  // namespace

std::span<const Standard> other_standards() { return kOtherStandards; }

}  // namespace assay
