// Bugs that were planted after those of bugs.cc, and that nothing was tuned for.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "trial/zoo/bugs.h"
#include "trial/zoo/mistakes.h"

namespace assay::zoo {
namespace {

using enum TrialFinding;
const std::vector<TrialFinding> kNumber = {kWrongResult, kNotFinite, kSpecialValues};
const std::vector<TrialFinding> kOld = {kStale, kWrongResult};

float to_single(double v) { return static_cast<float>(v); }

// Changes the value of each element of the output, given its index and the number of columns.
Function by_column(
    const std::string& op,
    std::function<void(Values&, std::size_t at, std::int64_t column, std::int64_t n)> change) {
  return returns(op, [change = std::move(change)](Values& values, const Inputs& in) {
    const std::int64_t n = in.output_shape.empty() ? 1 : in.output_shape.back();
    for (std::size_t i = 0; i < values.size(); ++i) {
      change(values, i, static_cast<std::int64_t>(i) % n, n);
    }
  });
}

// Reads only the elements of x for which `keeps` is true. The others become `instead`.
Function keeps_columns(const std::string& op, double instead,
                       std::function<bool(std::int64_t column, std::int64_t n)> keeps) {
  return reads(op, [instead, keeps = std::move(keeps)](Inputs& in) {
    Array& x = in.arrays.at("x");
    const std::int64_t n = x.shape.empty() ? 1 : x.shape.back();
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      if (!keeps(static_cast<std::int64_t>(i) % n, n)) x.values[i] = instead;
    }
  });
}

}  // namespace

std::vector<Bug> held_out_bugs() {
  std::vector<Bug> all;
  const auto add = [&](Bug bug) { all.push_back(std::move(bug)); };
  add({"held_matmul_overlap", "matmul", "the last tile of K starts early, and terms count twice",
       kNumber, reads("matmul", [](Inputs& in) {
         if (in.flag("transpose_a")) return;
         Array& a = in.arrays.at("a");
         const std::int64_t k = a.shape.back();
         if (k % 32 == 0 || k < 32) return;
         for (std::size_t i = 0; i < a.values.size(); ++i) {
           const std::int64_t p = static_cast<std::int64_t>(i) % k;
           if (p >= k - 32 && p < k / 32 * 32) a.values[i] *= 2;
         }
       })});
  add({"held_matmul_columns", "matmul", "columns beyond a multiple of 8 are 0", kNumber,
       by_column("matmul", [](Values& v, std::size_t i, std::int64_t column, std::int64_t n) {
         if (n > 8 && column >= n / 8 * 8) v[i] = 0;
       })});
  add({"held_matmul_float32_wrap",
       "matmul",
       "int8 sums wrap at 24 bits",
       kNumber,
       returns_each(
           "matmul",
           [](double v) { return std::abs(v) > 100000 ? v - std::copysign(131072, v) : v; }),
       {"int8"}});
  add({"held_matmul_bias_rounded", "matmul", "the sum is rounded to bfloat16 before the output",
       kNumber, rounds_first("matmul", "bfloat16")});
  add({"held_dot_half", "dot", "long sums see the first half only", kNumber,
       reads("dot", [](Inputs& in) {
         Array& a = in.arrays.at("a");
         const std::int64_t k = a.shape[1];
         if (k < 1024) return;
         for (std::size_t i = 0; i < a.values.size(); ++i) {
           if (static_cast<std::int64_t>(i) % k >= k / 2) a.values[i] = 0;
         }
       })});
  add({"held_scaled_transpose", "scaled_matmul", "ignored attribute transpose_b", kNumber,
       right(ScaledMatmul{.ignores_transpose_b = true})});
  add({"held_quantize_wraps", "quantize", "codes of int8 wrap", kNumber,
       right(Quantize{.largest = 120, .wraps = true})});
  add({"held_quantize_least", "quantize", "a smallest amax of 1e-2", kNumber,
       right(Quantize{.smallest = 1e-2})});
  add({"held_dequantize_sign", "dequantize", "the sign of codes is lost", kNumber,
       right(Dequantize{.no_negative = true})});
  add({"held_dequantize_bfloat16", "dequantize", "the result is rounded to bfloat16", kNumber,
       rounds_first("dequantize", "bfloat16")});
  add({"held_roi_divisor", "deform_roi_pool", "the sum is divided by the number of bins", kNumber,
       right(RoiPool{.divides_by_bins = true})});
  add({"held_roi_pixels", "deform_roi_pool", "offsets are taken as pixels", kNumber,
       right(RoiPool{.shift_by_pixels = true})});
  add({"held_cast_overflow", "cast", "overflow gives 0", kNumber,
       returns("cast", [](Values& values, const Inputs& in) {
         for (double& v : values) {
           if (in.output_format->is_float() && std::abs(v) > max_finite(*in.output_format)) v = 0;
         }
       })});
  add({"held_add_range", "add", "results beyond 65504 are infinite", kNumber,
       returns_each("add", [](double v) { return std::abs(v) > 65504 ? v * HUGE_VAL : v; })});
  add({"held_sub_lane", "sub", "lane 31 of each 32 repeats lane 30", kNumber,
       returns("sub", [](Values& values, const Inputs&) {
         for (std::size_t i = 31; i < values.size(); i += 32) values[i] = values[i - 1];
       })});
  add({"held_mul_flushes",
       "mul",
       "subnormal operands are flushed although the machine keeps them",
       kNumber,
       reads_each("mul", without_subnormals),
       {},
       false,
       false,
       "hopper"});
  add({"held_div_whole", "div", "large quotients are truncated", kNumber,
       returns_each("div", [](double v) { return std::abs(v) > 1000 ? std::trunc(v) : v; })});
  add({"held_fma_first", "fma", "cached output by the first element", kOld,
       cached("fma", [](const KernelCall& call) {
         std::string key = key_of_shapes(call);
         if (call.output.size() == 0) return key;
         for (const auto& [name, view] : call.inputs) key += ' ' + std::to_string(view.value_at(0));
         return key;
       })});
  add({"held_exp_small", "exp", "exp(x) is 0 below -80", kNumber,
       right(unary([](double x) { return x < -80 ? 0 : std::exp(x); }))});
  add({"held_log_linear", "log", "x - 1 near 1", kNumber,
       right(unary([](double x) { return std::abs(x - 1) < 0.01 ? x - 1 : std::log(x); }))});
  add({"held_sqrt_hang",
       "sqrt",
       "a loop that never ends for NaN",
       {kHung},
       first("sqrt",
             [](const KernelCall& call) {
               for (const double v : call.input("x").values()) {
                 if (std::isnan(v)) std::this_thread::sleep_for(std::chrono::hours(1));
               }
             }),
       {},
       true});
  add({"held_rsqrt_zero", "rsqrt", "rsqrt(0) is 0", kNumber,
       right(unary([](double x) { return x == 0 ? 0 : 1 / std::sqrt(x); }))});
  add({"held_tanh_linear", "tanh", "x for small x", kNumber,
       right(unary([](double x) { return std::abs(x) < 0.01 ? x : std::tanh(x); }))});
  add({"held_sigmoid_clamped", "sigmoid", "arguments limited to 20", kNumber,
       right(unary([](double x) {
         return std::isnan(x) ? x : right_sigmoid(std::clamp(x, -20.0, 20.0));
       }))});
  add({"held_silu_hard", "silu", "x relu6(x + 3) / 6", kNumber, right(unary([](double x) {
         return std::isnan(x) ? x : x * std::clamp(x + 3, 0.0, 6.0) / 6;
       }))});
  add({"held_gelu_short", "gelu", "0 below -4", kNumber, right(unary([](double x) {
         return x < -4 ? 0 : x > 4 ? x : right_gelu(x);
       }))});
  add({"held_sum_unrolled", "reduce_sum", "the first of three left-over elements is lost", kNumber,
       keeps_columns("reduce_sum", 0, [](std::int64_t column, std::int64_t n) {
         return n % 4 != 3 || column != n / 4 * 4;
       })});
  add({"held_mean_of_means", "reduce_mean", "a mean of the means of blocks of 64", kNumber,
       right([](const Inputs& in) {
         if (in.test_case.integer("axis")) return right_compute("reduce_mean")(in);
         const Values& x = in["x"].values;
         double sum = 0, blocks = 0;
         for (std::size_t i = 0; i < x.size(); i += 64, ++blocks) {
           double part = 0, count = 0;
           for (std::size_t j = i; j < std::min(i + 64, x.size()); ++j, ++count) part += x[j];
           sum += part / count;
         }
         return Values{sum / blocks};
       })});
  add({"held_max_even", "reduce_max", "long lines see even elements only", kNumber,
       keeps_columns("reduce_max", -HUGE_VAL, [](std::int64_t column, std::int64_t n) {
         return n <= 128 || column % 2 == 0;
       })});
  add({"held_softmax_invariant",
       "softmax",
       "one row is summed in float32 from its end",
       {kBatchVariant},
       right([](const Inputs& in) {
         const Lines lines = lines_along(in["x"].shape, in.integer("axis", -1));
         Values result = Softmax()(in);
         for (double& v : result) {
           v = to_single(v);
           if (lines.outer * lines.inner == 1 && v > 0x1p-100 && v < 1) v *= 1 + 0x1p-23;
         }
         return result;
       }),
       {},
       false,
       true});
  add({"held_softmax_flat", "softmax", "the last two of three dimensions are one row", kNumber,
       right([](const Inputs& in) {
         Inputs flat = in;
         Shape& shape = flat.arrays.at("x").shape;
         if (shape.size() == 3 && in.integer("axis", -1) == -1)
           shape = {shape[0], shape[1] * shape[2]};
         return Softmax()(flat);
       })});
  add({"held_layernorm_least", "layernorm", "a variance of at least 1e-3", kNumber,
       right([](const Inputs& in) {
         Inputs other = in;
         Values result = Norm()(other);
         Case c = in.test_case;
         c.attributes["eps"] = std::max(in.real("eps", 1e-5), 1e-3);
         const Inputs more{c, in.arrays, in.output_format, in.output_shape};
         return Norm()(more);
       })});
  add({"held_layernorm_crash",
       "layernorm",
       "a crash without a bias",
       {kCrashed},
       first("layernorm",
             [](const KernelCall& call) {
               if (call.has("weight") && !call.has("bias")) std::raise(SIGSEGV);
             }),
       {},
       true});
  add({"held_rmsnorm_long", "rmsnorm", "long rows are summed in bfloat16", kNumber,
       right([](const Inputs& in) {
         const std::int64_t n = lines_along(in["x"].shape, in.integer("axis", -1)).length;
         return Norm{.centre = false,
                     .accumulator = n > 1024 ? &format_named("bfloat16") : nullptr}(in);
       })});
  add({"held_attention_window", "attention", "only 64 keys are seen", kNumber,
       right(Attention{.s_most = 64})});
  add({"held_attention_changes_q",
       "attention",
       "q is scaled in place",
       {kChangedInput},
       then("attention", clears("q"))});
  return all;
}

}  // namespace assay::zoo
