#include "assay/format/tapered.h"

#include <algorithm>
#include <cmath>

namespace assay::inline v0_2 {
namespace {

struct TaperedFields {
  int exponent_bits, mantissa_bits;
};

TaperedFields tapered_fields(unsigned code) {
  const int prefix = static_cast<int>(code >> 5);
  if (prefix > 0) return {prefix + 1, 4 - prefix};
  return {static_cast<int>(code >> 4), 3};
}

}  // namespace

double tapered_value(unsigned code) {
  const auto [exponent_bits, mantissa_bits] = tapered_fields(code);
  if (exponent_bits == 0) {
    const unsigned low = code & 7;
    if ((code >> 3) == 1) return 1 + low / 8.0;
    return low == 0 ? 0.0 : std::ldexp(1.0, static_cast<int>(low) - 23);
  }
  // The exponent is stored as a sign and a magnitude, whose leading one is implicit.
  const auto rest = static_cast<int>(code & ((1U << (exponent_bits + mantissa_bits)) - 1));
  const int mantissa = rest & ((1 << mantissa_bits) - 1);
  const int field = rest >> mantissa_bits;  // exponent field: sign, then exponent_bits - 1 bits
  const int low_bits = exponent_bits - 1;
  const int size = (1 << low_bits) | (field & ((1 << low_bits) - 1));
  const int exponent = (field >> low_bits) != 0 ? -size : size;
  return std::ldexp(1 + std::ldexp(mantissa, -mantissa_bits), exponent);
}

const std::vector<TaperedEntry>& tapered_table() {
  static const std::vector<TaperedEntry> table = [] {
    std::vector<TaperedEntry> entries;
    for (unsigned code = 0; code < 0x80; ++code) {
      if (code != 0x6f) entries.push_back({tapered_value(code), static_cast<std::uint8_t>(code)});
    }
    std::ranges::sort(entries, {}, &TaperedEntry::value);
    return entries;
  }();
  return table;
}

std::uint64_t exponent_bits(const Format& f, std::uint64_t bits) {
  if (!f.is_float()) return 0;
  const bool tapered = f.specials == Specials::kTapered;
  const TaperedFields fields =
      tapered ? tapered_fields(bits & 0x7f) : TaperedFields{f.exponent_bits, f.mantissa_bits()};
  return ((std::uint64_t{1} << fields.exponent_bits) - 1) << (f.padding + fields.mantissa_bits);
}

}  // namespace assay
