// deform_roi_pool: the mean of bilinear samples in the bins of regions of interest. Each bin is
// shifted by its own offset.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns the operator deform_roi_pool. Its inputs are input (N, C, H, W) in float32 or float16;
// rois (n, 5) = batch index, x1, y1, x2, y2; and offset (n, 2, PH, PW), with its w plane first.
// There is no shift if offset is left out. Parameters: pooled_height and pooled_width, which are
// required, spatial_scale (1), sampling_ratio (0), gamma (0.1) and fused. The result is (n, C, PH,
// PW).
//
//   sw = x1 scale - 0.5, and sh, ew, eh likewise; rw = ew - sw, rh = eh - sh; bw = rw / PW, ...
//   gh = sampling_ratio > 0 ? sampling_ratio : ceil(rh / PH), and gw
//   sw += gamma rw offset_w, sh += gamma rh offset_h             a multiply-add
//   y = (sh + ph bh) + (iy + 0.5) bh / gh, and x                 a multiply-add
//   out = sum over iy < gh, ix < gw of bilinear(y, x) / max(gh gw, 1)
//
// bilinear is 0 where y < -1, y > H, x < -1 or x > W. A coordinate outside [0, H - 1] is moved to
// the nearer end. (mmcv, deform_roi_pool; Dai et al., Deformable Convolutional Networks, ICCV 2017,
// equation 5.) All arithmetic is float32, for float16 operands too, whose result is rounded once
// more. `fused` selects one rounding for each of the two multiply-adds.
//
// The golden result is computed in float64: hat functions over the pixels, summed bin by bin.
// Throws Refusal, which names the case and the problem, for:
// - an input without elements (batch 0), or no rois
// - shapes that do not fit
// - a batch index that does not exist
// - rois or offsets that are not finite
// - more than 2^20 samples in a bin.
//
// Tolerance: rtol is half an ulp of the output. atol is twice the error of a coordinate in float32,
// times the largest step between two neighbouring pixels, plus float32's roundings of the largest
// pixel. Throws if float32 may place a sample on the other side of an edge at which bilinear jumps
// to 0, or rh / PH on the other side of a whole number.
std::vector<Operator> deform_roi_pool_operators();

// Returns the float32 coordinates of all samples: first every sample's y, in the order n x PH x PW
// x gh, then every sample's x, in the order n x PH x PW x gw.
std::vector<float> deform_roi_coordinates(const Case& test_case, bool fused);

}  // namespace assay
