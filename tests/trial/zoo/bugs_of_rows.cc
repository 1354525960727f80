#include <cmath>
#include <stdexcept>

#include "trial/zoo/bugs.h"
#include "trial/zoo/mistakes.h"

namespace assay::zoo {

using enum TrialFinding;

void plant_in_reductions(std::vector<Bug>& all) {
  const auto add = [&](Bug bug) { all.push_back(std::move(bug)); };
  using Kind = Reduce::Kind;
  add({"sum_after_1024", "reduce_sum", "dropped tail after 1024", kWrong,
       right(Reduce{.most = 1024})});
  add({"sum_odd_last", "reduce_sum", "last odd element dropped", kWrong,
       right(Reduce{.multiple = 2})});
  add({"sum_middle", "reduce_sum", "off by one: the middle of a line of odd length is lost", kWrong,
       right(Reduce{.in_two_halves = true})});
  add({"sum_float16",
       "reduce_sum",
       "float16 accumulator",
       kWrong,
       right(Reduce{.accumulator = f16()}),
       {"float16"}});
  add({"sum_bfloat16",
       "reduce_sum",
       "bfloat16 accumulator",
       kWrong,
       right(Reduce{.accumulator = bf16()}),
       {"bfloat16"}});
  add({"sum_axis", "reduce_sum", "wrong axis: always the last", kWrong,
       right(Reduce{.always_last = true})});
  add({"sum_negative_axis", "reduce_sum", "axis -1 is taken for axis 0", kWrong,
       right(Reduce{.negative_is_zero = true})});
  add({"sum_infinities",
       "reduce_sum",
       "infinities are skipped",
       {kSpecialValues, kWrongResult},
       right(Reduce{.skips_infinite = true})});
  add({"sum_race",
       "reduce_sum",
       "a simulated race",
       {kNotRepeatable, kStale, kWrongResult},
       races("reduce_sum", 0.1)});
  add({"mean_unbiased", "reduce_mean", "division by n - 1", kWrong,
       right(Reduce{.kind = Kind::kMean, .divisor_change = -1})});
  add({"mean_padded", "reduce_mean", "division by a padded size", kWrong,
       right(Reduce{.kind = Kind::kMean, .divisor_multiple = 8})});
  add({"mean_float16",
       "reduce_mean",
       "float16 accumulator overflows",
       kWrong,
       right(Reduce{.kind = Kind::kMean, .accumulator = f16()}),
       {"float16"}});
  add({"mean_axis", "reduce_mean", "wrong axis: always the last", kWrong,
       right(Reduce{.kind = Kind::kMean, .always_last = true})});
  add({"mean_input",
       "reduce_mean",
       "input mutation",
       {kChangedInput},
       then("reduce_mean", clears("x"))});
  add({"max_zero", "reduce_max", "the maximum starts from 0", kWrong,
       right(Reduce{.kind = Kind::kMax, .start = 0})});
  add({"max_nan",
       "reduce_max",
       "NaN swallowed by fmax",
       {kSpecialValues, kWrongResult, kNotFinite},
       right(Reduce{.kind = Kind::kMax, .swallows_nan = true})});
  add({"max_lowest",
       "reduce_max",
       "the maximum starts from the lowest finite number",
       {kSpecialValues, kWrongResult},
       right(Reduce{.kind = Kind::kMax, .start = -3.4028234663852886e38}),
       {},
       false,
       false,
       "",
       false,
       "the gate takes the largest finite number for infinity, as saturating units give it"});
  add({"max_size", "reduce_max", "the maximum of magnitudes", kWrong,
       right(Reduce{.kind = Kind::kMax, .is_by_size = true})});
  add({"max_tail", "reduce_max", "dropped tail beyond a multiple of 64", kWrong,
       right(Reduce{.kind = Kind::kMax, .multiple = 64})});
  add({"max_throws",
       "reduce_max",
       "an error for long lines",
       {kThrew},
       first("reduce_max", [](const KernelCall& call) {
         if (call.input("x").size() > 4096) throw std::runtime_error("too long");
       })});
}

void plant_in_rows(std::vector<Bug>& all) {
  const auto add = [&](Bug bug) { all.push_back(std::move(bug)); };
  const std::string op = "softmax";
  add({"softmax_no_max", op, "missing max subtraction", kWrong, right(Softmax{.no_max = true})});
  add({"softmax_max_of_1024", op, "the maximum sees 1024 elements", kWrong,
       right(Softmax{.max_of_first = 1024})});
  add({"softmax_after_1024", op, "dropped tail after 1024", kWrong, right(Softmax{.most = 1024})});
  add({"softmax_after_4096", op, "dropped tail after 4096", kWrong, right(Softmax{.most = 4096})});
  add({"softmax_tail", op, "dropped tail beyond a multiple of 4", kWrong,
       right(Softmax{.multiple = 4})});
  add({"softmax_float16_sum",
       op,
       "float16 accumulator",
       kWrong,
       right(Softmax{.accumulator = f16()}),
       {"float16"}});
  add({"softmax_bfloat16_sum",
       op,
       "bfloat16 accumulator",
       kWrong,
       right(Softmax{.accumulator = bf16()}),
       {"bfloat16"}});
  add({"softmax_exponentials", op, "exponentials in float16", kWrong,
       right(Softmax{.exponentials = f16()})});
  add({"softmax_axis", op, "wrong axis: always the last", kWrong,
       right(Softmax{.always_last = true})});
  add({"softmax_nan",
       op,
       "NaN swallowed by fmax",
       {kSpecialValues, kWrongResult, kNotFinite},
       right(Softmax{.swallows_nan = true})});
  add({"softmax_masked",
       op,
       "a masked row gives 0",
       {kSpecialValues, kWrongResult},
       right(Softmax{.zero_for_masked = true})});
  add({"softmax_first_row", op, "stale row: the maximum of the first row is used for all", kWrong,
       right(Softmax{.first_row_max = true})});
  add({"softmax_eps", op, "1e-6 is added to the denominator", kWrong,
       right(Softmax{.added = 1e-6})});
  add({"softmax_cached",
       op,
       "cached output by shape",
       {kStale, kWrongResult},
       cached(op, key_of_shapes)});
  add({"softmax_strides", op, "ignored strides of x", kWrong, ignores_strides_of(op, "x")});
  add({"softmax_out_strides",
       op,
       "ignored strides of the output",
       {kWroteOutside, kUnwritten, kWrongResult, kNotFinite},
       ignores_output_strides(op)});
  add({"softmax_after",
       op,
       "out-of-bounds write after the output",
       {kWroteOutside},
       then(op, write_after)});
  add({"softmax_shape",
       op,
       "wrong shape of the output",
       {kWrongShape},
       returns_shape(op,
                     [](Shape shape) {
                       shape.insert(shape.begin(), 1);
                       return shape;
                     }),
       {},
       false,
       false,
       "",
       true});
  add({"softmax_border",
       op,
       "uninitialised border: the last row is not written",
       {kUnwritten, kStale},
       [compute = right_compute("softmax")](const KernelCall& call) {
         const std::int64_t n = call.output.shape.empty() ? 1 : call.output.shape.back();
         leaves(compute, [n](std::int64_t i, std::int64_t size) {
           return size / n > 16 && i >= size - n;
         })(call);
       }});
  add({"softmax_index", op, "index overflow at 2^15", kWrong, index_overflows(op)});
  add({"softmax_one_element", op, "one wrong element in a big output", kWrong,
       returns(op, [](Values& values, const Inputs&) {
         if (values.size() > 16384) values[values.size() / 2] *= 1.001;
       })});
  add({"softmax_race",
       op,
       "a simulated race",
       {kNotRepeatable, kStale, kWrongResult, kRowAlone},
       races(op, 0.05)});

  const std::string layer = "layernorm";
  add({"layernorm_unbiased", layer, "unbiased variance", kWrong, right(Norm{.unbiased = true})});
  add({"layernorm_eps_outside", layer, "eps in the wrong place", kWrong,
       right(Norm{.eps_outside = true})});
  add({"layernorm_eps", layer, "ignored attribute eps", kWrong, right(Norm{.eps = 1e-5})});
  add({"layernorm_one_pass", layer, "variance in one pass in float32", kWrong,
       right(Norm{.one_pass_float32 = true})});
  add({"layernorm_float16",
       layer,
       "float16 accumulator",
       kWrong,
       right(Norm{.accumulator = f16()}),
       {"float16"}});
  add({"layernorm_after_1024", layer, "statistics see 1024 elements", kWrong,
       right(Norm{.most = 1024})});
  add({"layernorm_axis", layer, "wrong axis: always the last", kWrong, right([](const Inputs& in) {
         Inputs other = in;
         const auto n = static_cast<std::size_t>(in["x"].shape.empty() ? 1 : in["x"].shape.back());
         for (const char* name : {"weight", "bias"}) {
           if (other.has(name)) other.arrays.at(name).values.resize(n, 1);
         }
         return Norm{.always_last = true}(other);
       })});
  add({"layernorm_weight", layer, "ignored input weight", kWrong, right(Norm{.no_weight = true})});
  add({"layernorm_bias_first", layer, "bias added before the weight", kWrong,
       right(Norm{.bias_first = true})});
  add({"layernorm_no_mean", layer, "the mean is not subtracted from the result", kWrong,
       right(Norm{.no_centre_in_result = true})});
  add({"layernorm_first_row", layer, "stale row: the statistics of the first row are used for all",
       kWrong, right(Norm{.first_row = true})});
  add({"layernorm_padded", layer, "division by a padded size", kWrong,
       right(Norm{.divisor_multiple = 4})});
  const std::string rms = "rmsnorm";
  add({"rmsnorm_eps_outside", rms, "eps in the wrong place", kWrong,
       right(Norm{.centre = false, .eps_outside = true})});
  add({"rmsnorm_eps", rms, "ignored attribute eps", kWrong,
       right(Norm{.centre = false, .eps = 1e-6})});
  add({"rmsnorm_float16_squares",
       rms,
       "squares overflow in float16",
       kWrong,
       right(Norm{.centre = false, .squares = f16()}),
       {"float16"}});
  add({"rmsnorm_tail", rms, "dropped tail beyond a multiple of 8", kWrong,
       right(Norm{.centre = false, .multiple = 8})});
  add({"rmsnorm_weight_next", rms, "off by one: the weight of the next element", kWrong,
       right(Norm{.centre = false, .weight_off_by_one = true})});
  add({"rmsnorm_weight_plus_one", rms, "1 is added to the weight", kWrong,
       right(Norm{.centre = false, .weight_plus_one = true})});
  add({"rmsnorm_centres", rms, "the mean is subtracted", kWrong, right(Norm{.eps = 1e-6})});
  add({"rmsnorm_bfloat16", rms, "the normalised x is rounded to bfloat16", kWrong,
       right(Norm{.centre = false, .rounds_normalised = true})});

  const std::string attend = "attention";
  add({"attention_scale", attend, "ignored attribute scale", kWrong,
       right(Attention{.ignores_scale = true})});
  add({"attention_scale_d", attend, "scale 1 / D instead of 1 / sqrt(D)", kWrong,
       right(Attention{.scale_is_one_over_d = true})});
  add({"attention_causal", attend, "ignored attribute causal", kWrong,
       right(Attention{.ignores_causal = true})});
  add({"attention_mask_next", attend, "mask off by one: the next key is seen", kWrong,
       right(Attention{.causal_shift = 1})});
  add({"attention_mask_self", attend, "mask off by one: the own key is not seen", kWrong,
       right(Attention{.causal_shift = -1})});
  add({"attention_no_max", attend, "missing max subtraction", kWrong,
       right(Attention{.no_max = true})});
  add({"attention_float16_scores", attend, "scores rounded to float16", kWrong,
       right(Attention{.scores = f16()})});
  add({"attention_s_tail", attend, "dropped tail of keys beyond a multiple of 16", kWrong,
       right(Attention{.s_multiple = 16})});
  add({"attention_rescale", attend, "the running sum is not rescaled for a new maximum", kWrong,
       right(Attention{.never_rescales = true})});
  add({"attention_positions", attend, "ignored input positions", kWrong,
       right(Attention{.ignores_positions = true})});
  add({"attention_first_v", attend, "all batches use v of the first", kWrong,
       right(Attention{.first_batch_of_v = true})});
  add({"attention_mask_zero", attend, "masked scores are 0", kWrong,
       right(Attention{.masks_with_zero = true})});
  add({"attention_mask_sum", attend, "masked keys count in the denominator", kWrong,
       right(Attention{.sums_masked = true})});
  add({"attention_d_tail", attend, "dropped tail of D beyond a multiple of 4", kWrong,
       right(Attention{.d_multiple = 4})});
}

}  // namespace assay::zoo
