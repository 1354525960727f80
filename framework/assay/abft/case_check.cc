#include "assay/abft/case_check.h"

#include "assay/abft/attention_check.h"
#include "assay/abft/checker.h"
#include "assay/abft/product_check.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::abft {

namespace {

// Returns a float32 operand of a case with a compute_dtype as the matrix unit reads it: rounded to
// the compute_dtype, as it was in the checked product.
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
    return refuse(formatted("the output is {}, but checksums can be computed only for real numbers",
                            output.format->name));
  }
  if (is_attention(c)) return check_attention(c, output, options);
  const bool product = is_product(c);
  if (!product && !c.output().golden) {
    return refuse(formatted(
        "checksums need a product's operands a and b, or a golden result; case {} has neither",
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

}  // namespace assay::abft
