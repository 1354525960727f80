#include "assay/device/kernel_format.h"

#include <cmath>
#include <cstdint>

#include "assay/base/text.h"

namespace assay::inline v0_2::device {

bool kernel_reads(const Format& f) {
  if (!f.is_float() || f.padding > 0 || f.specials == Specials::kScale ||
      f.specials == Specials::kTapered) {
    return false;
  }
  return f.is_float64() || (f.exponent_bits <= 8 && f.mantissa_bits() <= 23 && f.bias >= 1 &&
                            f.bias <= 127 && f.storage_bytes <= 4);
}

bool kernel_reads_integers(const Format& f) {
  return !f.is_float() && !f.is_complex() && f.bits == 8 * f.storage_bytes && f.bits <= 32;
}

ElementFormat element_format(const Format& f) {
  ElementFormat e{};
  e.bytes = f.storage_bytes;
  e.bits = f.bits;
  if (!f.is_float()) {
    e.kind = f.is_signed() ? ElementFormat::Kind::kSigned : ElementFormat::Kind::kUnsigned;
    return e;
  }
  e.mantissa = f.mantissa_bits();
  e.fnuz = f.specials == Specials::kFnuz;
  e.as_float = f.specials == Specials::kInfNan && f.exponent_bits == 8 && f.bias == 127;
  const std::uint64_t all = std::uint64_t{1} << (f.bits - 1);
  e.special = f.specials == Specials::kInfNan
                  ? ((std::uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits()
              : f.specials == Specials::kNanOnly ? all - 1
                                                 : all;
  e.scale = std::ldexp(1.0, 1023 - f.bias);
  e.float_scale = f.is_float64() ? 1 : std::ldexp(1.0F, 127 - f.bias);
  e.least = min_subnormal(f);
  e.min_normal = min_normal(f);
  e.most = max_finite(f);
  return e;
}

std::string text_of(const ElementFormat& f) {
  return formatted(
      "{{static_cast<assay::device::ElementFormat::Kind>({}), {}, {}, {}, {}, {}, {:#x}ull, {:a}, "
      "{:a}f, {:a}, {:a}, {:a}}}",
      static_cast<int>(f.kind), f.bytes, f.bits, f.mantissa, f.fnuz, f.as_float, f.special, f.scale,
      static_cast<double>(f.float_scale), f.least, f.min_normal, f.most);
}

}  // namespace assay::device
