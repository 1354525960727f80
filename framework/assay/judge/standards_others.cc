#include "assay/judge/standards_others.h"

#include <array>
#include <cstddef>

namespace assay::inline v0_2 {
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
// Returns the same row for each of several dtypes.
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
constexpr std::array<std::string_view, 3> kFloatsAndComplex = {"*", "complex64", "complex128"};
constexpr auto kNumpy = for_dtypes(kFloatsAndComplex, {.dtype = "*", .rtol = 1e-7}),
               kNumpyAllclose =
                   for_dtypes(kFloatsAndComplex, {.dtype = "*", .rtol = 1e-5, .atol = 1e-8});
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

// The tolerance is relative if |expected| >= 1e-5, and absolute if not. Both have the same number.
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

// IREE keeps the absolute tolerances of dtypes up to float32 as float32 numbers, so these constants
// are rounded to float32.
constexpr std::array<ToleranceRow, 5> iree(double rtol) {
  return {{{.dtype = "float16", .rtol = rtol, .atol = static_cast<double>(1e-3F)},
           {.dtype = "bfloat16", .rtol = rtol, .atol = static_cast<double>(1e-2F)},
           {.dtype = "float32", .rtol = rtol, .atol = static_cast<double>(1e-4F)},
           {.dtype = "float64", .rtol = rtol, .atol = 1e-4},
           {.dtype = "*", .rule = Rule::kBits}}};
}
constexpr auto kIreeAbsolute = iree(0), kIree = iree(1e-5);

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
constexpr Publication kDeepgemmPublished = {"deepseek-ai/DeepGEMM", "54e226124093",
                                            "tests/generators.py", "2026-06-23"};
constexpr Publication kGgmlNmsePublished = {"ggml-org/ggml", "5a232ab4e3cc",
                                            "tests/test-backend-ops.cpp", "2026-08-21"};
constexpr Publication kTensorrtPublished = {"NVIDIA/TensorRT", "9255eb39e664",
                                            "tools/Polygraphy/polygraphy/comparator/compare.py",
                                            "2025-05-21"};

// Returns a standard that limits only statistics. Errors are measured from the rounded expected
// values.
constexpr Standard rounded_limits(std::string_view name, std::string_view source,
                                  const Publication& publication,
                                  std::span<const LimitRow> limits) {
  return {.name = name,
          .source = source,
          .publication = publication,
          .round_expected = true,
          .limits = limits};
}

constexpr Standard kOtherStandards[] = {
    {.name = "torch",
     .source = "torch.testing.assert_close, default tolerances by dtype",
     .publication = {"pytorch/pytorch", "539f6ce3075a", "torch/testing/_comparison.py",
                     "read 2026-11-22"},
     .round_expected = true,
     .rows = kTorch},
    {.name = "numpy",
     .source = "numpy.testing.assert_allclose, defaults",
     .publication = {"numpy/numpy", "ec6b2b2626d0", "numpy/testing/_private/utils.py",
                     "2026-07-17"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kNumpy},
    {.name = "numpy_allclose",
     .source = "numpy.allclose, defaults",
     .publication = {"numpy/numpy", "a991ba1b4100", "numpy/_core/numeric.py", "2026-08-05"},
     .round_expected = true,
     .rows = kNumpyAllclose},
    {.name = "tensorflow",
     .source = "TensorFlow test_util assertAllCloseAccordingToType, defaults",
     .publication = {"tensorflow/tensorflow", "45d3244d4364",
                     "tensorflow/python/framework/test_util.py", "read 2026-11-22"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kTensorflow},
    {.name = "transformer_engine",
     .source =
         "Transformer Engine tests, dtype_tols (the original compares with a float64 reference)",
     .publication = {"NVIDIA/TransformerEngine", "c0f0bdb950a2", "tests/pytorch/utils.py",
                     "2026-07-23"},
     .round_expected = true,
     .rows = kTransformerEngine},
    {.name = "onednn",
     .source = "oneDNN benchdnn, binary and reduction drivers: the dtype's eps bounds the relative "
               "error from 1e-5 on, and the absolute error below; the original compares matrix "
               "products exactly, on small integers",
     .publication = {"uxlfoundation/oneDNN", "511083d4a3bb", "tests/benchdnn/utils/compare.cpp",
                     "2026-08-17"},
     .round_expected = true,
     .rows = kOnednn},
    {.name = "onednn_eltwise",
     .source = "oneDNN benchdnn, eltwise driver",
     .publication = {"uxlfoundation/oneDNN", "e022c605065b", "tests/benchdnn/eltwise/eltwise.cpp",
                     "2026-07-13"},
     .round_expected = true,
     .rows = kOnednnEltwise},
    {.name = "cutlass",
     .source = "CUTLASS relatively_equal: |a - b| < eps (|a| + |b|), floor 1e-4; eps is the "
               "dtype's epsilon (in CUTLASS, the caller gives eps and the floor)",
     .publication = {"NVIDIA/cutlass", "0d2b201e8c1c", "include/cutlass/relatively_equal.h",
                     "2026-01-08"},
     .rows = kCutlass,
     .rule = Rule::kSymmetric},
    {.name = "cutlass_profiler",
     .source = "CUTLASS relatively_equal with the numbers of CUTLASS's profiler: |a - b| < 0.05 "
               "(|a| + |b|), floor 1/256",
     .publication = {"NVIDIA/cutlass", "0d2b201e8c1c", "tools/profiler/src/options.cu",
                     "2026-01-08"},
     .round_expected = true,
     .rows = kCutlassProfiler,
     .rule = Rule::kSymmetric},
    {.name = "rocblas_sum",
     .source = "rocBLAS near checks: sum_error_tolerance times the number of accumulations",
     .publication = {"ROCm/rocBLAS", "c7f5f23e820d", "clients/include/near.hpp", "2024-05-30"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kRocblasSum,
     .rule = Rule::kTolerance,
     .growth = Growth::kLinear},
    rounded_limits("deepgemm",
                   "DeepGEMM calc_diff, 1 - 2 sum xy / sum (x^2 + y^2), for products of float8 "
                   "operands; before 2026 this limit was for all operands",
                   kDeepgemmPublished, kDeepgemmFp8),
    rounded_limits(
        "deepgemm_bf16",
        "DeepGEMM calc_diff, 1 - 2 sum xy / sum (x^2 + y^2), for products of bfloat16 operands",
        kDeepgemmPublished, kDeepgemmBf16),
    rounded_limits("deepgemm_fp8_fp4",
                   "DeepGEMM calc_diff, 1 - 2 sum xy / sum (x^2 + y^2), for products of a float8 "
                   "operand and a float4 operand",
                   kDeepgemmPublished, kDeepgemmFp8Fp4),
    rounded_limits(
        "deepgemm_fp4",
        "DeepGEMM calc_diff, 1 - 2 sum xy / sum (x^2 + y^2), for products of two float4 operands",
        kDeepgemmPublished, kDeepgemmFp4),
    {.name = "transformer_engine_cpp",
     .source = "Transformer Engine's C++ tests, compareResults: an element fails if its absolute "
               "and its relative error both exceed their limits; except in float32, a neighbour of "
               "the expected value passes (in the original, NaN on either side passes)",
     .publication = {"NVIDIA/TransformerEngine", "f1d5f8d5222b", "tests/cpp/test_common.cu",
                     "2026-07-24"},
     .round_expected = true,
     .rows = kTransformerEngineCpp},
    rounded_limits(
        "flash_attention",
        "FlashAttention's tests, forward: max |o - ref| <= 2 max |pt - ref| + 2 max |(ref + 0.3 - "
        "0.3) - ref|; here pt is the reference implementation, which makes the same computation in "
        "the output's dtype (in the original, o - ref and pt - ref are rounded to this dtype, too)",
        Publication{"Dao-AILab/flash-attention", "14c377950125", "hopper/test_flash_attn.py",
                    "2026-07-27"},
        kFlashAttention),
    {.name = "hipblaslt",
     .source = "hipBLASLt's client, near check: a limit for the output's dtype times the number of "
               "accumulations (the original takes the limit of the operands' dtype)",
     .publication = {"ROCm/hipBLASLt", "567b226e9281", "clients/include/near.hpp", "2024-09-24"},
     .round_expected = true,
     .rows = kHipblaslt,
     .growth = Growth::kLinear},
    rounded_limits(
        "hipblaslt_norm",
        "hipBLASLt's client, norm check: the Frobenius norm of the error over that of the expected "
        "result",
        Publication{"ROCm/hipBLASLt", "567b226e9281", "clients/include/norm.hpp", "2024-09-24"},
        kHipblasltNorm),
    rounded_limits(
        "ggml_nmse",
        "test-backend-ops of ggml: a limit on the sum of squared errors over the sum of squared "
        "outputs (in the original, a pair of equal infinities lets everything pass)",
        kGgmlNmsePublished, kGgml),
    rounded_limits("ggml_nmse_matmul",
                   "test-backend-ops of ggml for matrix products, convolutions and attention: the "
                   "rule of ggml_nmse with another limit",
                   kGgmlNmsePublished, kGgmlMatmul),
    {.name = "iree@2026-04",
     .source = "iree-run-module --expected_output: absolute errors by dtype, and equal bits for "
               "all other dtypes (in the original, NaN passes)",
     .publication = {"iree-org/iree", "f895d3535d50",
                     "runtime/src/iree/tooling/buffer_view_matchers.c", "2026-04-07"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kIreeAbsolute},
    {.name = "iree@2026-05",
     .source =
         "iree-run-module --expected_output: the rule of iree@2026-04 with a relative part as well",
     .publication = {"iree-org/iree", "f6e18720842e",
                     "runtime/src/iree/tooling/buffer_view_matchers.c", "2026-05-08"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kIree},
    {.name = "onnx",
     .source =
         "ONNX backend tests: numpy.testing.assert_allclose(rtol 1e-3, atol 1e-7), integers too",
     .publication = {"onnx/onnx", "a8f77b5b90fd", "onnx/backend/test/runner/__init__.py",
                     "2026-08-04"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kOnnx},
    {.name = "xla",
     .source = "XLA run_hlo_module: absolute or relative error of at most 1e-3",
     .publication = {"tensorflow/tensorflow", "06a37fb3a52a",
                     "third_party/xla/xla/literal_comparison.cc", "read 2026-11-22"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kXla},
    {.name = "jax",
     .source = "JAX's test utilities, assertAllClose: rtol = atol by dtype (its gradient checks "
               "have other numbers, times the number of elements)",
     .publication = {"jax-ml/jax", "a192b4348b25", "jax/_src/public_test_util.py", "2026-03-02"},
     .round_expected = true,
     .nan_equal = true,
     .rows = kJax},
    {.name = "tensorrt",
     .source = "Polygraphy's CompareFunc.simple, elementwise: absolute or relative error of at "
               "most 1e-5, integers too (in the original, equal infinities fail)",
     .publication = kTensorrtPublished,
     .round_expected = true,
     .rows = kTensorrt},
    rounded_limits("tensorrt_max",
                   "Polygraphy's CompareFunc.simple: limits on the largest absolute or the largest "
                   "relative error",
                   kTensorrtPublished, kTensorrtMax),
    rounded_limits(
        "tensorrt_mean",
        "Polygraphy's CompareFunc.simple: limits on the mean absolute or the mean relative error",
        kTensorrtPublished, kTensorrtMean),
    rounded_limits("tensorrt_median",
                   "Polygraphy's CompareFunc.simple: limits on the medians of the absolute or of "
                   "the relative errors",
                   kTensorrtPublished, kTensorrtMedian),
    rounded_limits("tensorrt_quantile",
                   "Polygraphy's CompareFunc.simple: limits on the 0.99 quantiles of the absolute "
                   "or of the relative errors",
                   kTensorrtPublished, kTensorrtQuantile),
};

}  // namespace

std::span<const Standard> other_standards() { return kOtherStandards; }

}  // namespace assay
