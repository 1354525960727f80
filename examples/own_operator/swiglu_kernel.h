// The kernel under test, and the function through which assay calls it.
#pragma once

#include <assay/case.h>

#include <cstddef>
#include <cstdint>

namespace team {

// Computes out[i] = silu(x[i]) * gate[i] for n bfloat16 values, in float32 and rounded once.
void swiglu(const std::uint16_t* x, const std::uint16_t* gate, std::uint16_t* out, std::size_t n);

// Computes the result of a case with inputs x and gate. On a device it would copy, launch and copy
// back.
assay::Tensor swiglu_kernel(const assay::Case& c);

}  // namespace team
