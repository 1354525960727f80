// The kernel under test, and how assay calls it.
#pragma once

#include <assay/cases/case.h>

#include <cstddef>
#include <cstdint>

namespace team {

// out[i] = silu(x[i]) * gate[i] of n bfloat16 values, in float32, rounded once.
void swiglu(const std::uint16_t* x, const std::uint16_t* gate, std::uint16_t* out, std::size_t n);

// The same for a case with inputs x and gate. On a device it copies, launches and copies back.
assay::Tensor swiglu_kernel(const assay::Case& c);

}  // namespace team
