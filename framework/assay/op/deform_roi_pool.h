// deform_roi_pool: the mean of bilinear samples in the bins of regions of interest, each bin
// shifted by an offset of its own.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// The row of deform_roi_pool: input (N, C, H, W) in float32 or float16; rois (n, 5) = batch index,
// x1, y1, x2, y2; offset (n, 2, PH, PW), its w plane first (left out: no shift). Parameters:
// pooled_height, pooled_width (needed), spatial_scale (1), sampling_ratio (0), gamma (0.1), fused.
// The result is (n, C, PH, PW).
//
//   sw = x1 scale - 0.5, and sh, ew, eh likewise; rw = ew - sw, rh = eh - sh; bw = rw / PW, ...
//   gh = sampling_ratio > 0 ? sampling_ratio : ceil(rh / PH), and gw
//   sw += gamma rw offset_w, sh += gamma rh offset_h             a multiply-add
//   y = (sh + ph bh) + (iy + 0.5) bh / gh, and x                 a multiply-add
//   out = sum over iy < gh, ix < gw of bilinear(y, x) / max(gh gw, 1)
//
// bilinear is 0 where y < -1, y > H, x < -1 or x > W; what is outside [0, H - 1] counts as its end.
// (mmcv, deform_roi_pool; Dai et al., Deformable Convolutional Networks, ICCV 2017, equation 5.)
// All arithmetic is float32, also of float16 operands, the result is rounded once more. `fused`
// says whether the two multiply-adds round once.
//
// The golden result is in float64: hat functions over the pixels, summed bin by bin.
// Throws std::invalid_argument that names the case and what does not fit: an input without elements
// (batch 0), no rois, other shapes, a batch index that is none, rois and offsets that are not
// finite, more than 2^20 samples a bin.
//
// Tolerance: rtol is half an ulp of the output. atol is twice the error that float32 makes in a
// coordinate, times the largest step between two neighbouring pixels, and float32's roundings of
// the largest pixel. Throws where a sample lies so near to an edge at which bilinear jumps to 0, or
// rh / PH so near to a whole number, that float32 may find it on the other side.
std::vector<Operator> deform_roi_pool_operators();

// Every sample's y, then every sample's x, in float32: n x PH x PW x gh (gw) of them, in that
// order.
std::vector<float> deform_roi_coordinates(const Case& test_case, bool fused);

}  // namespace assay
