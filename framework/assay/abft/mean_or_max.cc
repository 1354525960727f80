#include "assay/abft/mean_or_max.h"

#include <cmath>

namespace assay::inline v0_2::abft {

BoundForm mean_or_max(const RowForms& rows, double times) {
  const auto columns = static_cast<double>(rows.product().n);
  BoundForm form;
  form.constant = times * 1e-20;
  form.per_largest = times * 0x1p-8 * std::sqrt(columns);
  form.per_absolute = times * 0x1p-8;  // the form has sum |c|, which is N mean|c|
  form.branch = 5;
  form.columns = columns;
  return form;
}

}  // namespace assay::abft
