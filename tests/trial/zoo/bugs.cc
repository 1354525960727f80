#include "trial/zoo/bugs.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "assay/machine/machine.h"
#include "assay/trial/adapters.h"
#include "trial/zoo/mistakes.h"

namespace assay::zoo {
namespace {

using enum TrialFinding;

double swapped_for_large(const double* x) { return std::abs(x[1]) > 8 ? x[1] - x[0] : x[0] - x[1]; }

// Returns v with only the bits of float32 before the function is applied.
float single(double v) { return static_cast<float>(v); }

void products(std::vector<Bug>& all) {
  const auto add = [&](Bug bug) { all.push_back(std::move(bug)); };
  const std::string op = "matmul";
  add({"matmul_k_tail", op, "dropped tail of K beyond a multiple of 16", kWrong,
       right(Matmul{.k_multiple = 16})});
  add({"matmul_k_after_1024", op, "dropped tail of K after 1024", kWrong,
       right(Matmul{.k_most = 1024})});
  add({"matmul_k_after_4096", op, "dropped tail of K after 4096", kWrong,
       right(Matmul{.k_most = 4096})});
  add({"matmul_split_lost", op, "the last part of a split K is lost", kWrong,
       right(Matmul{.k_split = 512})});
  add({"matmul_last_column",
       op,
       "off-by-one tile: the column after whole tiles is not written",
       {kUnwritten, kWrongResult},
       [compute = right_compute("matmul")](const KernelCall& call) {
         const std::int64_t n = call.output.shape.back();
         leaves(compute, [n](std::int64_t i, std::int64_t) {
           return n % 16 == 1 && n > 1 && i % n == n - 1;
         })(call);
       }});
  add({"matmul_float16_sum",
       op,
       "float16 accumulator",
       kWrong,
       right(Matmul{.accumulator = f16()}),
       {"float16"}});
  add({"matmul_bfloat16_sum",
       op,
       "bfloat16 accumulator",
       kWrong,
       right(Matmul{.accumulator = bf16()}),
       {"bfloat16"}});
  add({"matmul_tfloat32", op, "operands rounded to tfloat32", kWrong,
       right(Matmul{.operands = &format_named("tfloat32")})});
  add({"matmul_bfloat16_operands", op, "operands rounded to bfloat16", kWrong,
       right(Matmul{.operands = bf16()})});
  add({"matmul_transpose_a", op, "ignored attribute transpose_a", kWrong,
       right(Matmul{.ignores_transpose_a = true})});
  add({"matmul_transpose_b", op, "ignored attribute transpose_b", kWrong,
       right(Matmul{.ignores_transpose_b = true})});
  add({"matmul_no_bias", op, "ignored input bias", kWrong, right(Matmul{.no_bias = true})});
  add({"matmul_bias_by_row", op, "wrong axis of the bias", kWrong,
       right(Matmul{.bias_by_row = true})});
  add({"matmul_bias_per_tile", op, "bias added once for each tile of K", kWrong,
       right(Matmul{.bias_per_tile = true})});
  add({"matmul_first_batch", op, "all batches use b of the first", kWrong,
       right(Matmul{.first_batch_of_b = true})});
  add({"matmul_skips_zeros",
       op,
       "zeros of a are skipped, so 0 x infinity is 0",
       {kSpecialValues, kWrongResult},
       right(Matmul{.skips_zeros = true})});
  add({"matmul_row_order",
       op,
       "another order of summation for one row",
       {kBatchVariant},
       right(Matmul{.order_by_rows = true}),
       {},
       false,
       true});
  add({"matmul_int16_sum",
       op,
       "int8 sums saturate at int16",
       kWrong,
       right(Matmul{.saturates_int16 = true}),
       {"int8"}});
  add({"matmul_reads_next_row", op, "a pair of terms reads past an odd K", kWrong,
       right(Matmul{.reads_past_k = 1})});
  add({"matmul_accumulates", op, "the output is not cleared first", kHeld, accumulates(op)});
  add({"matmul_empty_k",
       op,
       "nothing is written if K is 0",
       {kUnwritten, kStale, kWrongResult},
       [kernel = right(Matmul())](const KernelCall& call) {
         if (call.input("a").size() > 0) kernel(call);
       }});
  add({"matmul_toward_zero",
       op,
       "truncation instead of rounding",
       kWrong,
       encodes(op, {.rounding = Rounding::kTowardZero}),
       {"bfloat16"}});
  add({"matmul_tile_outside",
       op,
       "whole tiles of 16 rows are written",
       {kWroteOutside},
       [kernel = right(Matmul())](const KernelCall& call) {
         kernel(call);
         if (call.output.shape[call.output.shape.size() - 2] % 16 == 1) write_after(call);
       }});
  add({"matmul_square", op, "M and N exchanged in the output", kWrong,
       right(Matmul{.transposed_output = true})});
  add({"matmul_strides_of_b", op, "ignored strides of b", kWrong, ignores_strides_of(op, "b")});
  add({"matmul_one_element", op, "one wrong element in a big output", kWrong,
       returns(op, [](Values& values, const Inputs&) {
         if (values.size() > 4096) values[4000] *= 1.01;
       })});

  const std::string dot = "dot";
  add({"dot_no_c", dot, "ignored input c", kWrong, right(Dot{.no_c = true})});
  add({"dot_first_c", dot, "all sums start from the first c", kWrong, right(Dot{.first_c = true})});
  add({"dot_float16_sum",
       dot,
       "float16 accumulator",
       kWrong,
       right(Dot{.accumulator = f16()}),
       {"float16"},
       false,
       false,
       "",
       false,
       "no machine is named, and the bound allows for a float16 accumulator"});
  add({"dot_odd_k", dot, "last odd element dropped", kWrong, right(Dot{.k_multiple = 2})});
  add({"dot_k_after_1024", dot, "dropped tail of K after 1024", kWrong,
       right(Dot{.k_most = 1024})});
  add({"dot_c_twice", dot, "c is added for each block of 64", kWrong,
       right(Dot{.c_twice_after_64 = true})});
  add({"dot_row_of_b", dot, "stale row: the first row of b is used for all", kWrong,
       right(Dot{.row_of_b_is_first = true})});

  const std::string scaled = "scaled_matmul";
  add({"scaled_no_scale_b", scaled, "ignored input scale_b", kWrong,
       right(ScaledMatmul{.no_scale_b = true})});
  add({"scaled_a_twice", scaled, "scale_a applied twice", kWrong,
       right(ScaledMatmul{.scale_a_twice = true})});
  add({"scaled_first_block", scaled, "the scale of the first block of K is used for all", kWrong,
       right(ScaledMatmul{.first_block_of_k = true})});
  add({"scaled_last_block", scaled, "a partial block takes the scale before it", kWrong,
       right(ScaledMatmul{.last_block_is_previous = true})});
  add({"scaled_first_row", scaled, "stale row: the scale of the first row is used for all", kWrong,
       right(ScaledMatmul{.scale_of_first_row = true})});
  add({"scaled_across", scaled, "wrong axis of the scales of b", kWrong,
       right(ScaledMatmul{.across_is_wrong = true})});
  add({"scaled_k_tail", scaled, "dropped tail of K beyond a multiple of 32", kWrong,
       right(ScaledMatmul{.k_multiple = 32})});
  add({"scaled_bfloat16_scales", scaled, "scales rounded to bfloat16", kWrong,
       right(ScaledMatmul{.scales = bf16()})});
  add({"scaled_float16_sum", scaled, "float16 accumulator", kWrong,
       right(ScaledMatmul{.accumulator = f16()})});
}

void codes(std::vector<Bug>& all) {
  const auto add = [&](Bug bug) { all.push_back(std::move(bug)); };
  const std::string op = "quantize";
  using Round = Quantize::Round;
  add({"quantize_truncates", op, "truncation instead of rounding", kWrong,
       right(Quantize{.round = Round::kTruncate})});
  add({"quantize_largest",
       op,
       "the range of int8 is taken as 128",
       kWrong,
       right(Quantize{.largest = 128}),
       {},
       false,
       false,
       "",
       false});
  add({"quantize_signed_max", op, "the maximum of x instead of its size", kWrong,
       right(Quantize{.signed_max = true})});
  add({"quantize_no_least", op, "a missing smallest amax", kWrong, right(Quantize{.smallest = 0})});
  add({"quantize_ignores_power", op, "ignored attribute scales", kWrong,
       right(Quantize{.ignores_power = true})});
  add({"quantize_power_down", op, "a power of two is rounded down", kWrong,
       right(Quantize{.power_down = true})});
  add({"quantize_ignores_scaling", op, "ignored attribute scaling", kWrong,
       right(Quantize{.ignores_scaling = true})});
  add({"quantize_block_tail", op, "the maximum sees 64 elements of a block", kWrong,
       right(Quantize{.block_most = 64})});
  add({"quantize_all_batches", op, "all batches share the scales of the first", kWrong,
       right(Quantize{.ignores_batch = true})});
  const std::string back = "dequantize";
  add({"dequantize_first_scale", back, "the first scale is used for all", kWrong,
       right(Dequantize{.first_scale = true})});
  add({"dequantize_last_block", back, "a partial block takes the scale before it", kWrong,
       right(Dequantize{.last_block_is_previous = true})});
  add({"dequantize_unsigned",
       back,
       "int8 codes read as uint8",
       kWrong,
       right(Dequantize{.unsigned_codes = true}),
       {"int8"}});
  add({"dequantize_flushes",
       back,
       "subnormal codes flushed",
       kWrong,
       right(Dequantize{.flushes = true}),
       {"float8_e4m3fn"}});
  add({"dequantize_divides", back, "division by the scale", kWrong,
       right(Dequantize{.divides = true})});
  add({"dequantize_row_scale", back, "wrong axis of the scales of rows", kWrong,
       right(Dequantize{.scale_by_column = true})});

  const std::string pool = "deform_roi_pool";
  add({"roi_gamma", pool, "ignored attribute gamma", kWrong,
       right(RoiPool{.ignores_gamma = true})});
  add({"roi_scale", pool, "ignored attribute spatial_scale", kWrong,
       right(RoiPool{.ignores_scale = true})});
  add({"roi_ratio", pool, "ignored attribute sampling_ratio", kWrong,
       right(RoiPool{.ignores_ratio = true})});
  add({"roi_offset_axes", pool, "wrong axis: offsets of w and h exchanged", kWrong,
       right(RoiPool{.swaps_offset = true})});
  add({"roi_half", pool, "a missing shift by half a pixel", kWrong,
       right(RoiPool{.no_half = true})});
  add({"roi_first_image", pool, "all regions use the first image", kWrong,
       right(RoiPool{.first_image = true})});
  add({"roi_truncates", pool, "coordinates are truncated", kWrong,
       right(RoiPool{.truncates = true})});
  add({"roi_first_offset", pool, "all bins use the first offset", kWrong,
       right(RoiPool{.offset_of_first = true})});
  add({"roi_first_channel", pool, "all channels use the first", kWrong,
       right(RoiPool{.first_channel = true})});

  const std::string cast = "cast";
  add({"cast_truncates", cast, "truncation instead of rounding", kWrong,
       encodes(cast, {.rounding = Rounding::kTowardZero})});
  add({"cast_ties_away", cast, "wrong tie rule: away from zero", kWrong,
       encodes(cast, {.rounding = Rounding::kNearestAway})});
  add({"cast_saturates", cast, "a saturating conversion: NaN gives 0", kWrong,
       encodes(cast, {.overflow = Overflow::kSaturate})});
  add({"cast_flushes",
       cast,
       "subnormals flushed although the machine keeps them",
       kWrong,
       encodes(cast, {.subnormals = Subnormals::kFlush}),
       {},
       false,
       false,
       "hopper"});
  add({"cast_twice", cast, "double rounding through bfloat16", kWrong,
       rounds_first(cast, "bfloat16")});
  add({"cast_rounding",
       cast,
       "ignored attribute rounding",
       kWrong,
       encodes(cast, {}),
       {},
       false,
       false,
       ""});
}

void elements(std::vector<Bug>& all) {
  const auto add = [&](Bug bug) { all.push_back(std::move(bug)); };
  add({"add_odd_last",
       "add",
       "last odd element not written",
       {kUnwritten, kStale},
       leaves("add", is_odd_last)});
  add({"add_after_4096",
       "add",
       "dropped tail after 4096",
       {kUnwritten, kStale},
       leaves("add", from(4096))});
  add({"add_clears_a", "add", "input mutation", {kChangedInput}, then("add", clears("a"))});
  add({"add_flushes",
       "add",
       "subnormals flushed although the machine keeps them",
       kWrong,
       encodes("add", {.subnormals = Subnormals::kFlush}),
       {},
       false,
       false,
       "hopper"});
  add({"add_cached_pointer",
       "add",
       "cached output by pointer",
       {kStale, kWrongResult},
       cached("add", key_of_pointers)});
  add({"add_before",
       "add",
       "out-of-bounds write before the output",
       {kWroteOutside},
       then("add", write_before)});
  add({"add_float16", "add", "missing promotion: computed in float16", kWrong,
       rounds_first("add", "float16")});
  add({"sub_swapped", "sub", "operands exchanged for large b", kWrong,
       right(Elementwise{{"a", "b"}, swapped_for_large})});
  add({"sub_aliasing", "sub",
       "aliasing: b is copied to the output and read again after a is written", kWrong,
       right([](const Inputs& in) {
         Values out = in["b"].values;
         const Values& a = in["a"].values;
         for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] - out[i / 2 * 2];
         return out;
       })});
  add({"sub_cached_shape",
       "sub",
       "cached output by shape",
       {kStale, kWrongResult},
       cached("sub", key_of_shapes)});
  add({"sub_infinities",
       "sub",
       "infinity minus infinity is 0",
       {kSpecialValues, kWrongResult},
       right(binary([](double a, double b) { return a == b ? 0 : a - b; }))});
  add({"mul_zeros", "mul", "constant output of zeros", kWrong,
       returns_each("mul", [](double) { return 0; })});
  add({"mul_nan",
       "mul",
       "NaN swallowed: NaN gives 0",
       {kSpecialValues, kWrongResult},
       returns_each("mul", [](double v) { return std::isnan(v) ? 0 : v; })});
  add({"mul_after_1024",
       "mul",
       "dropped tail after 1024",
       {kUnwritten, kStale},
       leaves("mul", from(1024))});
  add({"mul_gaps",
       "mul",
       "gaps between rows of the output are written",
       {kWroteOutside},
       then("mul", write_gaps)});
  add({"mul_overflow", "mul", "a saturating conversion: NaN gives 0", kWrong,
       encodes("mul", {.overflow = Overflow::kSaturate})});
  add({"div_reciprocal", "div", "multiplied by a float16 reciprocal", kWrong,
       right(binary(
           [](double a, double b) { return a * round_to(format_named("float16"), 1 / b); }))});
  add({"div_by_zero", "div", "division by 0 gives 0", kWrong,
       right(binary([](double a, double b) { return b == 0 ? 0 : a / b; }))});
  add({"div_eps", "div", "a small number is added to the divisor", kWrong,
       right(binary([](double a, double b) { return a / (b + 1e-6); }))});
  add({"div_negative_zero", "div", "the sign of a zero divisor is lost", kWrong,
       right(binary([](double a, double b) { return a / (b == 0 ? 0 : b); }))});
  add({"fma_no_c", "fma", "ignored input c after 64 elements", kWrong, right([](const Inputs& in) {
         Values out = right_compute("fma")(in);
         for (std::size_t i = 64; i < out.size(); ++i) out[i] -= in["c"].values[i];
         return out;
       })});
  add({"fma_rounds_product",
       "fma",
       "the product is rounded first",
       kWrong,
       right(Elementwise{{"a", "b", "c"},
                         [](const double* x) { return double{single(x[0] * x[1])} + x[2]; }}),
       {},
       false,
       false,
       "hopper",
       false,
       "the bound allows a product that is rounded first, even if the named machine fuses"});
  add({"fma_strides", "fma", "ignored strides of c", kWrong, ignores_strides_of("fma", "c")});
  add({"fma_index", "fma", "index overflow at 2^15", kWrong, index_overflows("fma")});
  add({"axpy_minus", "axpy", "the sign of y is lost", kWrong,
       right(Elementwise{{"a", "x", "y"},
                         [](const double* x) { return x[0] * x[1] + std::abs(x[2]); }})});
  add({"axpy_in_place",
       "axpy",
       "y is changed in place",
       {kChangedInput},
       then("axpy", clears("y"))});
  add({"axpy_bfloat16_a", "axpy", "a rounded to bfloat16", kWrong, reads("axpy", [](Inputs& in) {
         double& a = in.arrays.at("a").values.front();
         a = round_to(format_named("bfloat16"), a);
       })});
  add({"exp_clamped", "exp", "arguments limited to 80", kWrong,
       right(unary([](double x) { return std::exp(std::min(x, 80.0)); }))});
  add({"exp_series", "exp", "a series without the last term", kWrong, right(unary([](double x) {
         const double n = std::nearbyint(x / std::log(2.0)), r = x - n * std::log(2.0);
         return std::isfinite(n) ? std::ldexp(1 + r * (1 + r * (0.5 + r * (1 / 6.0 + r / 24))),
                                              static_cast<int>(n))
                                 : std::exp(x);
       }))});
  add({"exp_flushes",
       "exp",
       "subnormals flushed although the machine keeps them",
       kWrong,
       encodes("exp", {.subnormals = Subnormals::kFlush}),
       {},
       false,
       false,
       "hopper"});
  add({"exp_infinity",
       "exp",
       "exp(-infinity) is NaN",
       {kSpecialValues, kNotFinite, kWrongResult},
       right(unary([](double x) { return std::isinf(x) && x < 0 ? NAN : std::exp(x); }))});
  add({"log_eps", "log", "log(x + 1e-6)", kWrong,
       right(unary([](double x) { return std::log(x + 1e-6); }))});
  add({"log_negative", "log", "log of a negative number is 0", kWrong,
       right(unary([](double x) { return x < 0 ? 0 : std::log(x); }))});
  add({"log_near_one", "log", "cancellation: log(x) + 8 in float32, less 8", kWrong,
       right(unary([](double x) { return double{single(std::log(x) + 8)} - 8; }))});
  add({"log_zero",
       "log",
       "log(0) is the lowest finite number",
       kWrong,
       right(unary([](double x) { return x == 0 ? -3.4028234663852886e38 : std::log(x); })),
       {},
       false,
       false,
       "",
       false,
       "the gate takes the largest finite number for infinity, as saturating units give it"});
  add({"sqrt_negative", "sqrt", "the square root of the size of x", kWrong,
       right(unary([](double x) { return std::sqrt(std::abs(x)); }))});
  add({"sqrt_newton", "sqrt", "x rsqrt(x): 0 gives NaN", kWrong,
       right(unary([](double x) { return x * (1 / std::sqrt(x)); }))});
  add({"sqrt_float16", "sqrt", "missing promotion: rounded to float16", kWrong,
       rounds_first("sqrt", "float16")});
  add({"rsqrt_eps", "rsqrt", "rsqrt(x + 1e-5)", kWrong,
       right(unary([](double x) { return 1 / std::sqrt(x + 1e-5); }))});
  add({"rsqrt_magic", "rsqrt", "a bit trick and one step of Newton's method", kWrong,
       right(unary([](double x) {
         const double y = 1 / std::sqrt(x);
         const double rough = y * 1.0008;
         return std::isfinite(y) ? rough * (1.5 - 0.5 * x * rough * rough) : y;
       }))});
  add({"rsqrt_empty",
       "rsqrt",
       "a crash for an empty tensor",
       {kCrashed},
       first("rsqrt",
             [](const KernelCall& call) {
               if (call.output.size() == 0) std::raise(SIGSEGV);
             }),
       {},
       true});
  add({"tanh_by_exp",
       "tanh",
       "infinity / infinity for large x",
       {kNotFinite, kWrongResult, kSpecialValues},
       right(unary([](double x) {
         const float e = single(std::exp(2 * x));
         return double{(e - 1) / (e + 1)};
       }))});
  add({"tanh_clamped", "tanh", "arguments limited to 3", kWrong,
       right(unary([](double x) { return std::tanh(std::fmax(-3, std::fmin(x, 3))); }))});
  add({"tanh_dtype",
       "tanh",
       "another dtype of the output",
       {kWrongShape},
       returns_dtype("tanh", "float64"),
       {},
       false,
       false,
       "",
       true});
  add({"sigmoid_symmetric", "sigmoid", "the result for the size of x", kWrong,
       right(unary([](double x) { return right_sigmoid(std::abs(x)); }))});
  add({"sigmoid_small", "sigmoid", "1 - sigmoid(-x) in float32 for negative x", kWrong,
       right(unary([](double x) {
         return x < 0 ? double{1.0f - single(right_sigmoid(-x))} : right_sigmoid(x);
       }))});
  add({"sigmoid_hang",
       "sigmoid",
       "a hang for sizes next to a multiple of 16",
       {kHung},
       first("sigmoid",
             [](const KernelCall& call) {
               if (call.output.size() % 16 == 15)
                 std::this_thread::sleep_for(std::chrono::hours(1));
             }),
       {},
       true});
  add({"silu_sigmoid", "silu", "the factor x is missing for negative x", kWrong,
       right(unary([](double x) { return (x < 0 ? -1 : x) * right_sigmoid(x); }))});
  add({"silu_nan",
       "silu",
       "NaN for large negative x",
       {kNotFinite, kWrongResult, kSpecialValues},
       right(unary([](double x) {
         const float e = single(std::exp(x));
         return x * double{e == 0 ? 0.0f / e : e / (1 + e)};
       }))});
  add({"silu_last", "silu", "stale buffer: elements after 512 are of an earlier call", kHeld,
       [state = std::make_shared<Values>(),
        compute = right_compute("silu")](const KernelCall& call) {
         const Values values = compute(inputs_of(call));
         Values out = values;
         for (std::size_t i = 512; i < std::min(out.size(), state->size()); ++i)
           out[i] = (*state)[i];
         *state = values;
         write(call.output, out);
       }});
  add({"gelu_tanh", "gelu", "the approximation by tanh", kWrong, right(unary([](double x) {
         return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
       }))});
  add({"gelu_quick", "gelu", "x sigmoid(1.702 x)", kWrong,
       right(unary([](double x) { return x * right_sigmoid(1.702 * x); }))});
  add({"gelu_tail", "gelu", "cancellation: 1 + erf in float32 for negative x", kWrong,
       right(unary([](double x) {
         return x * 0.5 * double{1.0f + single(std::erf(x / std::sqrt(2.0)))};
       }))});
  add({"gelu_ignores_approximate",
       "gelu",
       "ignored attribute approximate",
       kWrong,
       right(unary(right_gelu)),
       {},
       false,
       false,
       ""});
}

}  // namespace

std::vector<Bug> bugs() {
  std::vector<Bug> all;
  products(all);
  codes(all);
  elements(all);
  plant_in_reductions(all);
  plant_in_rows(all);
  return all;
}

TrialKernel trial_kernel(const Bug& bug) {
  const Operator& op = *find_operator(bug.op);
  TrialKernel kernel = trial::kernel_of_all(op);
  kernel.name = bug.name;
  kernel.call = bug.kernel;
  if (bug.returns_output) {
    kernel.returns_output = true;
    kernel.takes_out_strides = false;
  }
  return kernel;
}

TrialOptions trial_options(const Bug& bug) {
  constexpr double kSeconds = 10;
  TrialOptions options{.dtypes = bug.dtypes, .seconds = kSeconds, .threads = 1};
  options.contract.isolated = bug.isolated;
  options.contract.call_seconds = 1;
  options.contract.batch_invariant = bug.batch_invariant;
  if (!bug.machine.empty()) options.request.machine = &machine_named(bug.machine);
  return options;
}

}  // namespace assay::zoo
