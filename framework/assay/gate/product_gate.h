// The gate's verdict on a product whose operands lie outside of a case, by checksums only.
#pragma once

#include "assay/abft/checker.h"
#include "assay/cases/product_operands.h"
#include "assay/gate/gate.h"

namespace assay::inline v0_2 {

// Returns the verdict that gate_case() would reach by checksums on a case of this product. The
// operands need not be copied into a case. `residual` is the one of abft::check_product(). Throws
// Refusal if there is a residual and the threshold does not use one.
AbftVerdict gate_product(const ProductOperands& product, const TensorView& output,
                         const GateRequest& request, const Residual& residual = {});

}  // namespace assay
