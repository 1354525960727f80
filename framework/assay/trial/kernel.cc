#include "assay/trial/kernel.h"

#include <cstring>

#include "assay/base/text.h"
#include "assay/cases/case.h"

namespace assay::inline v0_2 {

void copy_elements(const TensorView& from, const MutableTensorView& to) {
  if (from.format != to.format || from.shape != to.shape) {
    throw WrongOutput(formatted("the output must be {} {}, and not {} {}", to.format->name,
                                shape_text(to.shape), from.format->name, shape_text(from.shape)));
  }
  const auto width = static_cast<std::size_t>(to.format->storage_bytes);
  const std::int64_t count = from.size();
  const Tensor dense = from.is_contiguous() ? Tensor() : copy_of(from);
  const std::byte* source = from.is_contiguous() ? from.data : dense.bytes();
  const TensorView target = to.view();
  if (count == 0) return;
  if (target.is_contiguous()) {
    std::memcpy(to.data, source, static_cast<std::size_t>(count) * width);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0, rest = i;
    for (std::size_t d = to.shape.size(); d-- > 0;) {
      offset += rest % to.shape[d] * to.strides[d];
      rest /= to.shape[d];
    }
    std::memcpy(to.data + offset * static_cast<std::int64_t>(width),
                source + static_cast<std::size_t>(i) * width, width);
  }
}

const TensorView& KernelCall::input(const std::string& name) const {
  const auto found = inputs.find(name);
  if (found == inputs.end()) {
    refuse("the call of {} has no input '{}'", test_case.op, name);
  }
  return found->second;
}

std::optional<std::string> KernelCall::text(std::string_view name) const {
  return test_case.text(name);
}
std::optional<std::int64_t> KernelCall::integer(std::string_view name) const {
  return test_case.integer(name);
}
std::optional<double> KernelCall::real(std::string_view name) const { return test_case.real(name); }
std::optional<bool> KernelCall::flag(std::string_view name) const { return test_case.flag(name); }

}  // namespace assay
