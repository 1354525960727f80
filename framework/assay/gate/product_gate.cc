#include "assay/gate/product_gate.h"

#include <string>

#include "assay/abft/product_check.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Returns the case of a product without its data. Its operands have the product's formats and no
// elements.
Case header_of(const ProductOperands& product, const Format& output) {
  Case c;
  c.name = product.name;
  c.op = product.op;
  c.attributes["output_dtype"] = std::string(output.name);
  c.inputs.emplace("a", Tensor(*product.a.format, {0, 0}));
  c.inputs.emplace("b", Tensor(*product.b.format, {0, 0}));
  return c;
}

}  // namespace

AbftVerdict gate_product(const ProductOperands& product, const TensorView& output,
                         const GateRequest& request, const Residual& residual) {
  const FloatEnvironment environment;
  const ChecksumOptions checksums =
      checksum_options(header_of(product, *output.format), *output.format, request);
  const Threshold& threshold = *checksums.options.spec.threshold;
  if (residual.kind != Residual::Kind::kNone && !threshold.takes_residuals) {
    refuse("the threshold {} does not use an accumulator or a residual; use residual_compensated",
           threshold.name);
  }
  if (!checksums.why_not.empty()) {
    return abft::not_checkable(output, checksums.options, checksums.why_not);
  }
  return abft::check_product(product, output, checksums.options, residual);
}

}  // namespace assay
