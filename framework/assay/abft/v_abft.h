// The code of the thresholds v_abft and aclnn (V-ABFT design specification 1.2; arXiv 2602.08043).
#pragma once

#include <cstdint>
#include <string>

#include "assay/abft/checked_product.h"

namespace assay::inline v0_2::abft {

// Returns e_max and c of v_abft for an output format, a depth K and a format of the operands.
// Throws Refusal if neither the variant nor the spec has an e_max for the format.
struct VAbftConstants {
  double e_max, c;
};
VAbftConstants v_abft_constants(const ThresholdSpec& spec, const Format& output, std::int64_t k,
                                const Format* input = nullptr);

void prepare_v_abft(const CheckedProduct& product, const Format& output, Prepared& to);
std::string why_not_v_abft(const CheckedProduct& product, const Format& output);

}  // namespace assay::abft
