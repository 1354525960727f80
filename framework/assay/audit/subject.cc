#include "assay/audit/subject.h"

#include <utility>

namespace assay::audit {

std::string Subject::title() const {
  return test_case.output_name.empty() ? test_case.name
                                       : test_case.name + ":" + test_case.output_name;
}

Tensor fitted(const Tensor& from, const Shape& shape) {
  if (from.empty() || (from.size() == 0 && element_count(shape) > 0)) return {};
  Tensor to(from.format(), shape);
  for (std::int64_t i = 0, n = to.size(); i < n; ++i) to.set_bits(i, from.bits_at(i % from.size()));
  return to;
}

std::optional<Subject> resized(const Subject& subject, std::int64_t size) {
  if (subject.clean.size() == 0 || !subject.test_case.golden) return std::nullopt;
  Subject out;
  out.test_case.name = subject.test_case.name;
  out.test_case.op = "external";
  out.test_case.output_name = subject.test_case.output_name;
  out.test_case.attributes["output_dtype"] = std::string(subject.clean.format().name);
  out.test_case.golden = fitted(*subject.test_case.golden, {size});
  out.clean = fitted(subject.clean, {size});
  return out;
}

}  // namespace assay::audit
