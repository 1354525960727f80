// The arrays that a kernel can give beside its output.
#pragma once

#include <string>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// The arrays that the epilogue of a kernel can give beside its output, if the output is a product
// whose accumulator is cast to the output's dtype (docs/abft.md, residual_compensated). A part that
// was not given is empty.
template <typename Array>
struct BasicEpilogue {
  // The output before its cast to the output's dtype. It has the output's shape, in float32 or
  // float64.
  Array accumulator = {};
  // The residual R of each check: the sum, over the columns of the check, of the accumulator minus
  // the element that it is cast to. Its shape is (..., M, checks of a row).
  Array residual = {};

  bool empty() const { return accumulator.empty() && residual.empty(); }
};
// The arrays of an epilogue as tensors.
using Epilogue = BasicEpilogue<Tensor>;

// Returns why outputs of this dtype have no epilogue. Returns an empty text if they are narrower
// than the accumulator of their products, so that the kernel casts it.
std::string why_not_cast(const Format& output);
// Return why an epilogue, or one part of it with this dtype and shape, cannot belong to an output
// of this dtype and shape. Return an empty text if it can.
std::string why_no_epilogue(const Epilogue& epilogue, const Format& output, const Shape& shape);
std::string why_no_accumulator(const Format& format, const Shape& accumulator, const Format& output,
                               const Shape& shape);
std::string why_no_residual(const Format& format, const Shape& residual, const Format& output,
                            const Shape& shape);

}  // namespace assay
