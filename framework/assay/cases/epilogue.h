// The arrays that a kernel can give beside its output.
#pragma once

#include <string>

#include "assay/tensor/tensor.h"

namespace assay {

// The arrays that the epilogue of a kernel can give beside its output, if the output is a product
// whose accumulator is cast to the output's dtype (docs/abft.md, residual_compensated). A part that
// was not given is empty.
template <typename Array>
struct BasicEpilogue {
  Array accumulator = {};  // the output before its cast: its shape, float32 or float64
  // R = sum (before - after the cast) over the columns of each check: (..., M, checks of a row).
  Array residual = {};

  bool empty() const { return accumulator.empty() && residual.empty(); }
};
using Epilogue = BasicEpilogue<Tensor>;

// Returns why an epilogue, or one part of it by its dtype and shape, cannot belong to an output of
// this dtype and shape. Empty if it can.
std::string why_no_epilogue(const Epilogue& epilogue, const Format& output, const Shape& shape);
std::string why_no_accumulator(const Format& format, const Shape& accumulator, const Format& output,
                               const Shape& shape);
std::string why_no_residual(const Format& format, const Shape& residual, const Format& output,
                            const Shape& shape);

}  // namespace assay
