#include "assay/matchers/print.h"

#include <algorithm>
#include <ostream>

#include "assay/base/text.h"
#include "assay/judge/complex.h"

namespace assay::inline v0_2 {

void PrintTo(const TensorView& v, std::ostream* os) {
  *os << v.format->name << " " << shape_text(v.shape);
  const std::int64_t shown = std::min<std::int64_t>(v.size(), 8);
  if (shown == 0) return;
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < shown; ++i) {
    values.push_back(v.format->is_float() || v.format->is_complex()
                         ? value_text(v, i, 6)
                         : element_text(*v.format, v.bits_at(i)));
  }
  *os << " {" << joined(values) << (v.size() > shown ? ", ...}" : "}");
}

void PrintTo(const Tensor& tensor, std::ostream* os) { PrintTo(tensor.view(), os); }

void PrintTo(const DeviceView& v, std::ostream* os) {
  *os << v.layout.format->name << " " << shape_text(v.layout.shape) << " on " << v.place();
}

}  // namespace assay
