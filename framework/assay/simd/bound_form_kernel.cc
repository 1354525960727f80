#include "assay/simd/bound_form_kernel.h"

#include "assay/simd/bound_form-inl.h"

namespace assay::inline v0_2::simd {

bool BoundForm::uses_sums() const { return kappa > 0 || deviations > 0; }

bool BoundForm::uses_tail() const { return inlined::uses_tail(*this); }

double BoundForm::tail_bound(const OutputStats& s) const { return inlined::tail_bound(*this, s); }

double BoundForm::threshold(const OutputStats& s) const { return inlined::threshold(*this, s); }

double BoundForm::variance(const OutputStats& s) const { return inlined::variance(*this, s); }

}  // namespace assay::simd
