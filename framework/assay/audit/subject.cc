#include "assay/audit/subject.h"

namespace assay::inline v0_2::audit {

std::string Subject::title() const {
  const std::string output = test_case.output_name();
  return output.empty() ? test_case.name : test_case.name + ":" + output;
}

Tensor fitted(const Tensor& from, const Shape& shape) {
  if (from.empty() || (from.size() == 0 && element_count(shape) > 0)) return {};
  Tensor to(from.format(), shape);
  for (std::int64_t i = 0, n = to.size(); i < n; ++i) to.set_bits(i, from.bits_at(i % from.size()));
  return to;
}

std::optional<Subject> resized(const Subject& subject, std::int64_t size) {
  if (subject.clean.size() == 0 || !subject.test_case.output().golden) return std::nullopt;
  Subject out;
  out.test_case.name = subject.test_case.name;
  out.test_case.op = "external";
  out.test_case.attributes["output_dtype"] = std::string(subject.clean.format().name);
  out.test_case.outputs[subject.test_case.output_name()].golden =
      fitted(*subject.test_case.output().golden, {size});
  out.clean = fitted(subject.clean, {size});
  return out;
}

}  // namespace assay::audit
