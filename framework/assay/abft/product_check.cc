#include "assay/abft/product_check.h"

#include <algorithm>
#include <utility>

#include "assay/abft/check_tally.h"
#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::abft {
namespace {

// Returns the residual of one matrix of a batch of products.
Residual residual_of(const Residual& all, std::int64_t batch) {
  if (all.kind == Residual::Kind::kNone) return {};
  const TensorView& v = all.values;
  const Shape one(v.shape.end() - 2, v.shape.end());
  return {all.kind, view_bytes(v.data + batch * element_count(one) * v.format->storage_bytes,
                               *v.format, one)};
}

std::string why_not(const Residual& residual, const Format& output, const Shape& shape) {
  const TensorView& v = residual.values;
  switch (residual.kind) {
    case Residual::Kind::kNone:
      return "";
    case Residual::Kind::kAccumulator:
      return why_no_accumulator(*v.format, v.shape, output, shape);
    case Residual::Kind::kSums:
      return why_no_residual(*v.format, v.shape, output, shape);
  }
  return "";
}

}  // namespace

AbftVerdict not_checkable(const TensorView& output, const AbftOptions& options,
                          std::string because) {
  AbftVerdict verdict;
  verdict.outcome = Outcome::kNotComparable;
  verdict.because = std::move(because);
  verdict.spec = options.spec.text();
  verdict.format = output.format;
  return verdict;
}

AbftVerdict check_batch(const TensorView& output, const AbftOptions& options,
                        const CheckMatrix& check) {
  const Tensor packed = output.is_contiguous() ? Tensor() : copy_of(output);
  const std::byte* bytes = packed.empty() ? output.data : packed.bytes();
  const Shape& shape = output.shape;
  const Shape matrix(shape.end() - 2, shape.end());
  const std::int64_t batches = element_count(std::span(shape).first(shape.size() - 2));
  AbftOptions each = options;
  each.spec.delta /= static_cast<double>(std::max<std::int64_t>(batches, 1));
  AbftVerdict all;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t offset = batch * element_count(matrix) * output.format->storage_bytes;
    AbftVerdict v = check(batch, view_bytes(bytes + offset, *output.format, matrix), each);
    if (v.outcome == Outcome::kNotComparable) {
      v.spec = options.spec.text();
      return v;
    }
    for (AbftFlag& flag : v.flags) flag.batch = batch;
    add_counts(all, v);
  }
  summarize(all, *options.spec.threshold, checks_text(options.spec, matrix[1]));
  const bool one_matrix = std::ranges::all_of(
      all.flags, [&](const AbftFlag& flag) { return flag.batch == all.flags.front().batch; });
  if (batches > 1 && all.outcome == Outcome::kFail && one_matrix) {
    all.because = formatted("matrix {} of the batch: {}", all.flags.front().batch, all.because);
  }
  all.spec = options.spec.text();
  all.format = output.format;
  return all;
}

AbftVerdict check_product(const ProductOperands& product, const TensorView& output,
                          const AbftOptions& options, const Residual& residual,
                          const std::function<Tensor(const TensorView&)>& as_read) {
  const FloatEnvironment environment;
  const auto refuse = [&](std::string because) {
    return not_checkable(output, options, std::move(because));
  };
  if (output.format->is_complex()) {
    return refuse(formatted("the output is {}, but checksums can be computed only for real numbers",
                            output.format->name));
  }
  Shape shape;
  try {
    shape = product.shape().output;
  } catch (const Refusal& e) {
    return refuse(e.reason());
  }
  if (shape != output.shape) {
    return refuse(formatted("the output's shape is {}, the product's is {}",
                            shape_text(output.shape), shape_text(shape)));
  }
  const bool takes_residuals = options.spec.threshold->takes_residuals;
  const Residual taken = takes_residuals ? residual : Residual{};
  if (std::string why = why_not(taken, *output.format, shape); !why.empty()) {
    return refuse(std::move(why));
  }
  const std::vector<double> bias = product.bias_values();
  return check_batch(
      output, options, [&](std::int64_t batch, const TensorView& c, const AbftOptions& each) {
        const TensorView a = product.matrix_a(batch), b = product.matrix_b(batch);
        const Tensor read_a = as_read ? as_read(a) : Tensor(),
                     read_b = as_read ? as_read(b) : Tensor();
        return AbftChecker::of_product(read_a.empty() ? a : read_a.view(),
                                       read_b.empty() ? b : read_b.view(), each, bias)
            .check(c, residual_of(taken, batch));
      });
}

}  // namespace assay::abft
