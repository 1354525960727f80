#include "assay/abft/case_check.h"

#include <algorithm>
#include <stdexcept>

#include "assay/abft/attention_check.h"
#include "assay/abft/checker.h"
#include "assay/abft/tally.h"
#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/tensor/product.h"

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

// The residual of one matrix of a batch of products of this shape.
Residual residual_of(const Epilogue* epilogue, const Shape& shape, std::int64_t batch) {
  if (epilogue == nullptr || epilogue->empty()) return {};
  Residual residual = Residual::of(*epilogue);
  const TensorView all = residual.values;
  const Shape one{shape[shape.size() - 2], all.shape.back()};
  residual.values = view_bytes(all.data + batch * element_count(one) * all.format->storage_bytes,
                               *all.format, one);
  return residual;
}

}  // namespace

AbftVerdict abft_check(const Case& c, const TensorView& output, const AbftOptions& options,
                       const Epilogue* epilogue) {
  const FloatEnvironment environment;
  const auto refuse = [&](std::string because) {
    AbftVerdict verdict;
    verdict.outcome = Outcome::kNotComparable;
    verdict.because = std::move(because);
    verdict.spec = options.spec.text();
    verdict.format = output.format;
    return verdict;
  };
  if (output.format->is_complex()) {
    return refuse(
        format("the output is {}, and checksums are sums of real numbers", output.format->name));
  }
  if (c.is_attention()) return check_attention(c, output, options);
  const bool product = c.is_product();
  if (!product && !c.golden) {
    return refuse(
        format("checksums need a product's operands a and b, or a golden result; case {} has "
               "neither",
               c.name));
  }
  if (std::string why_not = c.why_not_output(*output.format); !why_not.empty()) {
    return refuse(std::move(why_not));
  }
  Shape shape;
  std::int64_t batches = 1;
  try {
    shape = product ? matmul_shape(c).output : c.golden->shape();
  } catch (const std::invalid_argument& e) {
    return refuse(reason_of(e));
  }
  if (shape.size() < 2) {
    return refuse(format("checksums need a matrix; the {} has shape {}",
                         product ? "product" : "golden result", shape_text(shape)));
  }
  if (shape != output.shape) {
    return refuse(format("the output's shape is {}, the {}'s is {}", shape_text(output.shape),
                         product ? "product" : "golden result", shape_text(shape)));
  }
  if (!options.spec.threshold->takes_residuals) epilogue = nullptr;
  if (epilogue != nullptr && !epilogue->empty()) {
    if (std::string why = epilogue->why_not(*output.format, shape); !why.empty()) {
      return refuse(std::move(why));
    }
  }
  const Tensor packed = output.is_contiguous() ? Tensor() : copy_of(output);
  const std::byte* bytes = packed.empty() ? output.data : packed.bytes();
  const Shape matrix(shape.end() - 2, shape.end());
  for (std::size_t d = 0; d + 2 < shape.size(); ++d) batches *= shape[d];
  AbftOptions each = options;
  each.spec.delta /= static_cast<double>(std::max<std::int64_t>(batches, 1));
  AbftVerdict all;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t offset = batch * element_count(matrix) * output.format->storage_bytes;
    const TensorView c_matrix = view_bytes(bytes + offset, *output.format, matrix);
    AbftVerdict v;
    if (product) {
      const TensorView given_a = matmul_matrix(c, "a", batch),
                       given_b = matmul_matrix(c, "b", batch);
      const Tensor a = as_computed(c, given_a), b = as_computed(c, given_b);
      v = AbftChecker::of_product(a.empty() ? given_a : a.view(), b.empty() ? given_b : b.view(),
                                  each, matmul_bias(c))
              .check(c_matrix, residual_of(epilogue, shape, batch));
    } else {
      const Format& f = c.golden->format();
      v = AbftChecker::of_golden(
              view_bytes(c.golden->bytes() + batch * element_count(matrix) * f.storage_bytes, f,
                         matrix),
              each)
              .check(c_matrix);
    }
    if (v.outcome == Outcome::kNotComparable) {
      v.spec = options.spec.text();
      return v;
    }
    for (AbftFlag& flag : v.flags) flag.batch = batch;
    add_counts(all, v);
  }
  summarize(all, *options.spec.threshold, checks_text(options.spec, matrix[1]));
  const bool one_matrix =
      std::all_of(all.flags.begin(), all.flags.end(),
                  [&](const AbftFlag& flag) { return flag.batch == all.flags.front().batch; });
  if (batches > 1 && all.outcome == Outcome::kFail && one_matrix) {
    all.because = format("matrix {} of the batch: {}", all.flags.front().batch, all.because);
  }
  all.spec = options.spec.text();
  all.format = output.format;
  return all;
}

AbftVerdict abft_check_partials(const TensorView& a, const TensorView& b,
                                const TensorView& partials, std::int64_t k_block,
                                const AbftOptions& options) {
  const FloatEnvironment environment;
  if (a.rank() != 2 || b.rank() != 2 || a.shape[1] != b.shape[0]) {
    throw std::invalid_argument(
        format("a {} and b {} do not multiply", shape_text(a.shape), shape_text(b.shape)));
  }
  const std::int64_t k = a.shape[1];
  if (k_block < 1) throw std::invalid_argument(format("blocks of K of {} columns", k_block));
  const std::int64_t blocks = (k + k_block - 1) / k_block;
  if (partials.shape != Shape{blocks, a.shape[0], b.shape[1]}) {
    throw std::invalid_argument(
        format("partial products of shape {}: {} blocks of K {} are [{}, {}, {}]",
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
  summarize(all, *options.spec.threshold, format("checks of {} blocks of K", blocks));
  return all;
}

}  // namespace assay::abft
