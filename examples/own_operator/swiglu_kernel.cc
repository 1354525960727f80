#include "swiglu_kernel.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace team {
namespace {

float widened(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds a float to bfloat16: to nearest, ties to even. A NaN stays a NaN.
std::uint16_t rounded(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

const std::uint16_t* bfloat16_of(const assay::Tensor& tensor) {
  if (tensor.format().name != "bfloat16") throw std::runtime_error("the kernel takes bfloat16");
  return reinterpret_cast<const std::uint16_t*>(tensor.bytes());
}

}  // namespace

void swiglu(const std::uint16_t* x, const std::uint16_t* gate, std::uint16_t* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float v = widened(x[i]);
    out[i] = rounded(v / (1.0f + std::exp(-v)) * widened(gate[i]));
  }
}

assay::Tensor swiglu_kernel(const assay::Case& c) {
  const assay::Tensor &x = c.input("x"), &gate = c.input("gate");
  assay::Tensor out(x.format(), x.shape());
  swiglu(bfloat16_of(x), bfloat16_of(gate), reinterpret_cast<std::uint16_t*>(out.bytes()),
         static_cast<std::size_t>(x.size()));
  return out;
}

}  // namespace team
