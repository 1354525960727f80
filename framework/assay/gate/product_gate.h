// The gate's answer for a product whose operands lie anywhere, by checksums alone.
#pragma once

#include "assay/abft/checker.h"
#include "assay/cases/product_operands.h"
#include "assay/gate/gate.h"

namespace assay {

// What gate_case() says by checksums of the case of this product, whose operands need not be copied
// for it. `residual`: as abft::check_product() has it. Throws std::invalid_argument where the
// threshold has no use for one.
AbftVerdict gate_product(const ProductOperands& product, const TensorView& output,
                         const GateRequest& request, const Residual& residual = {});

}  // namespace assay
