#include "assay/abft/case_check.h"

#include <algorithm>
#include <stdexcept>

#include "assay/abft/attention_check.h"
#include "assay/abft/check_tally.h"
#include "assay/abft/checker.h"
#include "assay/abft/product_check.h"
#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/op/operator.h"

namespace assay::abft {

namespace {

// An operand as the matrix unit reads it: of float32 operands with a compute_dtype, rounded to
// that, as the product that is checked was.
Tensor as_computed(const Case& c, const TensorView& operand) {
  const auto compute = c.text("compute_dtype");
  if (!compute) return {};
  const Format& f = format_named(*compute);
  if (&f == operand.format) return {};
  const auto asked = find_rounding(c.text("compute_rounding").value_or("nearest_even"));
  const Rounding rounding =
      asked && *asked != Rounding::kStochastic ? *asked : Rounding::kNearestEven;
  std::vector<double> values = operand.values();
  for (double& v : values) v = round_to(f, v, rounding);
  return Tensor::from_values(f, operand.shape, values);
}

}  // namespace

AbftVerdict abft_check(const Case& c, const TensorView& output, const AbftOptions& options,
                       const Epilogue* epilogue) {
  const FloatEnvironment environment;
  const auto refuse = [&](std::string because) {
    return not_checkable(output, options, std::move(because));
  };
  if (output.format->is_complex()) {
    return refuse(
        formatted("the output is {}, and checksums are sums of real numbers", output.format->name));
  }
  if (is_attention(c)) return check_attention(c, output, options);
  const bool product = is_product(c);
  if (!product && !c.output().golden) {
    return refuse(
        formatted("checksums need a product's operands a and b, or a golden result; case {} has "
                  "neither",
                  c.name));
  }
  if (std::string why_not = why_not_output(c, *output.format); !why_not.empty()) {
    return refuse(std::move(why_not));
  }
  if (product) {
    const Residual beside = epilogue != nullptr ? Residual::of(*epilogue) : Residual{};
    return check_product(product_operands(c), output, options, beside,
                         [&](const TensorView& operand) { return as_computed(c, operand); });
  }
  const TensorView golden = c.output().golden->view();
  if (golden.rank() < 2) {
    return refuse(formatted("checksums need a matrix; the golden result has shape {}",
                            shape_text(golden.shape)));
  }
  if (golden.shape != output.shape) {
    return refuse(formatted("the output's shape is {}, the golden result's is {}",
                            shape_text(output.shape), shape_text(golden.shape)));
  }
  const Shape matrix(golden.shape.end() - 2, golden.shape.end());
  const std::int64_t bytes = element_count(matrix) * golden.format->storage_bytes;
  return check_batch(output, options,
                     [&](std::int64_t batch, const TensorView& c_matrix, const AbftOptions& each) {
                       return AbftChecker::of_golden(
                                  view_bytes(golden.data + batch * bytes, *golden.format, matrix),
                                  each)
                           .check(c_matrix);
                     });
}

AbftVerdict abft_check_partials(const TensorView& a, const TensorView& b,
                                const TensorView& partials, std::int64_t k_block,
                                const AbftOptions& options) {
  const FloatEnvironment environment;
  if (a.rank() != 2 || b.rank() != 2 || a.shape[1] != b.shape[0]) {
    throw std::invalid_argument(
        formatted("a {} and b {} do not multiply", shape_text(a.shape), shape_text(b.shape)));
  }
  const std::int64_t k = a.shape[1];
  if (k_block < 1) throw std::invalid_argument(formatted("blocks of K of {} columns", k_block));
  const std::int64_t blocks = (k + k_block - 1) / k_block;
  if (partials.shape != Shape{blocks, a.shape[0], b.shape[1]}) {
    throw std::invalid_argument(
        formatted("partial products of shape {}: {} blocks of K {} are [{}, {}, {}]",
                  shape_text(partials.shape), blocks, k_block, blocks, a.shape[0], b.shape[1]));
  }
  const Tensor packed = partials.is_contiguous() ? Tensor() : copy_of(partials);
  const TensorView all_partials = packed.empty() ? partials : packed.view();
  AbftOptions each = options;
  each.spec.delta /= static_cast<double>(std::max<std::int64_t>(blocks, 1));
  AbftVerdict all;
  const Format& f = *partials.format;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * k_block, count = std::min(k_block, k - first);
    TensorView left = a, right = b;
    left.data += first * a.strides[1] * a.format->storage_bytes;
    left.shape[1] = count;
    right.data += first * b.strides[0] * b.format->storage_bytes;
    right.shape[0] = count;
    const TensorView c =
        view_bytes(all_partials.data + block * a.shape[0] * b.shape[1] * f.storage_bytes, f,
                   {a.shape[0], b.shape[1]});
    AbftVerdict v = AbftChecker::of_product(left, right, each).check(c);
    if (v.outcome == Outcome::kNotComparable) return v;
    for (AbftFlag& flag : v.flags) flag.batch = block;
    add_counts(all, v);
  }
  all.spec = options.spec.text();
  all.format = &f;
  summarize(all, *options.spec.threshold, formatted("checks of {} blocks of K", blocks));
  return all;
}

}  // namespace assay::abft
